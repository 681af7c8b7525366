// How far the forecasts of cost_model.hpp are from what the work takes: engine_forecasts prints, for tables of many
// shapes, cycles per cycle foretold. What is fitted anew is fitted to this.
#include <cstdio>
#include <ctime>
#include <limits>

#include "shallow/cost_model.hpp"
#include "shallow/two_labels/gains.hpp"
#include "tests/test_runs.hpp"

namespace certree::forecast {

namespace {

using test::Options;
using test::Recipe;
using test::Run;
using test::Table;

constexpr double cycles_per_second = 3e9;

// The least of a few times, in cycles of this thread.
template <class Work>
double measure(const Work& work) {
    const auto now = [] {
        std::timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    double least = std::numeric_limits<double>::infinity();
    double spent = 0.0;
    for (int n = 0; n < 3 || (n < 50 && spent < 0.1); ++n) {
        const double start = now();
        work();
        const double taken = now() - start;
        least = std::min(least, taken);
        spent += taken;
    }
    return least * cycles_per_second;
}

// One table: its rows, and the ways of depth two and three over them one by one.
class Measured {
public:
    Measured(const Table& table, const Options& options)
        : run_(table, options), set_(all_rows(run_.instance)), local_(run_.instance, set_) {}

    const Local& local() const { return local_; }

    // With these switches off. A budget that nothing meets: what most looks at the side of a root test come with.
    double pair(std::uint32_t off, double budget_share) {
        const Control control(1e18, off);
        const TwoLabels form(run_.instance, run_.settings, control, std::size_t{1} << 40);
        const auto budget = static_cast<Amount>(budget_share * static_cast<double>(form.leaf_value(set_)));
        return measure([&] { form.solve(set_, Local(run_.instance, set_), 2, budget); });
    }

    double coarse() {
        return measure_prepared([](const Prepared& prepared) { find_promising_roots(prepared, 1.0); });
    }

    double triples() {
        return measure_prepared([](const Prepared& prepared) {
            Gains gains(static_cast<std::size_t>(prepared.local.n_tests), 4);
            PairTable pairs(prepared.local);
            find_all_pair_gains(prepared, gains, pairs);
            find_triple_gains(prepared, pairs, gains, 1);
        });
    }

    // Some rows added to a line, as steps or as sums, per axis.
    double add_rows(std::size_t n, bool has_steps) {
        const RoundedAmounts amounts(run_.instance, set_, true);
        const LineBuilder builder(local_, amounts.small, kernels_, has_steps, false);
        const Layout layout(local_, -1, -1);
        std::vector<std::int32_t> line(LineBuilder::line_size(layout), 0);
        std::vector<std::int32_t> scratch(builder.scratch_size(), 0);
        std::vector<std::int32_t> rows(n);
        for (std::size_t i = 0; i < n; ++i) {
            rows[i] = static_cast<std::int32_t>(i) % local_.n_rows;
        }
        constexpr int repeats = 1000;
        const double cycles = measure([&] {
            for (int k = 0; k < repeats; ++k) {
                builder.add(line.data(), rows.data(), n, layout, scratch.data());
            }
        });
        return cycles / repeats / static_cast<double>(local_.axes.size());
    }

private:
    template <class Work>
    double measure_prepared(const Work& work) {
        const Control control(1e18, 0);
        const Prepared prepared(run_.instance, run_.settings.penalty, set_, local_, kernels_, control);
        return measure([&] { work(prepared); });
    }

    Run run_;
    RowSet set_;
    Local local_;
    const Kernels& kernels_ = choose_kernels(true);
};

struct Shape {
    int n_rows;
    int n_axes;
    int n_codes;
};

Table draw(const Shape& shape) {
    test::Random random(1);
    Recipe recipe;
    recipe.n_rows = shape.n_rows;
    recipe.sizes.assign(static_cast<std::size_t>(shape.n_axes), shape.n_codes);
    recipe.categorical.assign(static_cast<std::size_t>(shape.n_axes), 0);
    return make_table(random, recipe);
}

void print_pairs(Measured& measured) {
    const Local& local = measured.local();
    const auto n_axes = static_cast<double>(local.axes.size());
    double trees = 0.0;
    double lines = 0.0;
    for (const LocalAxis& root : local.axes) {
        for (const LocalAxis& axis : local.axes) {
            trees += tree_cycles(local.n_rows, axis.n_tests);
            lines += line_cycles(root.n_tests, local.n_rows, axis.n_tests);
        }
    }
    const double coarse = coarse_cycles(local);
    const double rounds = n_axes * n_axes * local.n_rows * 8.0;
    const std::uint32_t exact = no_coarse | no_rounds;
    std::printf("  trees %.2f  lines %.2f  exact %.2f  rounds %.2f  pair, little budget %.2f, any %.2f",
                measured.pair(exact | no_tables, 2.0) / trees, measured.pair(exact | no_segment_trees, 2.0) / lines,
                measured.pair(exact, 2.0) / exact_cycles(local),
                measured.pair(no_coarse | (rounds_pay(local) ? 0U : no_rounds), 0.4) / rounds,
                measured.pair(0, 0.4) / pair_cycles(local), measured.pair(0, 2.0) / pair_cycles(local));
    if (coarse_tables_pay(local, 1.0)) {
        std::printf("  coarse %.2f", measured.coarse() / coarse);
    }
    std::printf("  steps %.2f", measured.pair(0, 2.0) / closed_steps(local.n_rows, n_axes, local.n_tests, 2));
}

void print_triples(Measured& measured) {
    const Local& local = measured.local();
    const double taken = measured.triples();
    std::printf("  triples %.2f  steps %.2f", taken / triple_cycles(local),
                taken / closed_steps(local.n_rows, static_cast<double>(local.axes.size()), local.n_tests, 3));
}

}  // namespace

}  // namespace certree::forecast

int main() {
    using namespace certree::forecast;
    std::printf("rows axes codes: cycles per cycle foretold; of steps, cycles per step\n");
    const Shape shapes[] = {{300, 5, 2},      {300, 20, 2},    {3000, 60, 2},    {1000, 5, 20},  {1000, 20, 20},
                            {10000, 10, 20},  {1000, 5, 200},  {5000, 10, 200},  {1000, 2, 200}, {1000, 4, 1000},
                            {1000, 10, 1000}, {5000, 5, 5000}, {20000, 10, 5000}};
    for (const Shape& shape : shapes) {
        const certree::test::Table table = draw(shape);
        certree::test::Options options;
        options.regularization = 0.002;
        Measured measured(table, options);
        std::printf("%6d %3d %6d:", shape.n_rows, shape.n_axes, shape.n_codes);
        print_pairs(measured);
        if (measured.local().n_tests <= 400) {
            print_triples(measured);
        }
        std::printf("\n");
        std::fflush(stdout);
    }
    std::printf("rows added to an axis: cycles as chosen, as sums, and the choice\n");
    for (const int n_codes : {20, 100, 400, 2000}) {
        const certree::test::Table table = draw({4096, 3, n_codes});
        Measured measured(table, {});
        for (const std::size_t n : {4, 8, 32, 128, 1024}) {
            const int n_tests = measured.local().axes[0].n_tests;
            std::printf("%5d tests, %4zu rows: %7.0f %7.0f %s\n", n_tests, n, measured.add_rows(n, true),
                        measured.add_rows(n, false), are_sums_cheaper(n, n_tests) ? "sums" : "steps");
        }
    }
}
