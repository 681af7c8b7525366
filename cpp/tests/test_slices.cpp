// Depth three of two labels in slices: an axis that is called finished has all its gains, wherever the work is stopped
// and whatever is passed over.
#include "shallow/two_labels/gains.hpp"
#include "tests/test_runs.hpp"

namespace certree::test {

namespace {

// The closed form of a whole table, and its gains without a stop.
struct Whole {
    Control control{1e18, no_cost_model};
    Run run;
    RowSet set;
    Local local;
    Prepared prepared;
    PairTable table;
    Gains pairs;
    Gains all;

    explicit Whole(const Table& rows)
        : run(rows, {}),
          set(all_rows(run.instance)),
          local(run.instance, set),
          prepared(run.instance, 0, set, local, choose_kernels(true), control),
          table(local),
          pairs(static_cast<std::size_t>(local.n_tests)),
          all(pairs) {
        find_all_pair_gains(prepared, pairs, table);
        all = pairs;
        find_triple_gains(prepared, table, all, 1);
    }

    bool has_all_gains(const Gains& gains, std::size_t axis) const {
        const auto from = local.axes[axis].first_test;
        for (int m = 0; m < 4; ++m) {
            for (std::int32_t t = from; t < from + local.axes[axis].n_tests; ++t) {
                const auto test = static_cast<std::size_t>(t);
                if (gains.left[m][test] != all.left[m][test] || gains.right[m][test] != all.right[m][test]) {
                    return false;
                }
            }
        }
        return true;
    }
};

Table draw_two_valued(Random& random, int n_axes, Weights weights) {
    Recipe recipe;
    recipe.n_rows = pick(random, 2, 200);
    recipe.weights = weights;
    recipe.signal = 0.5;
    recipe.sizes.assign(static_cast<std::size_t>(n_axes), 2);
    recipe.categorical.assign(static_cast<std::size_t>(n_axes), 0);
    return make_table(random, recipe);
}

}  // namespace

// Threads work on pairs of axes; one thread takes every sum of three two-valued tests once. In 16 and in 32 bits.
TEST(two_valued_triples_are_those_of_pairs) {
    Random random(71);
    int n_short = 0;
    for (int n = 0; n < 60; ++n) {
        const Weights weights = n % 2 == 0 ? Weights::unit : Weights::lognormal;
        const Table table = draw_two_valued(random, pick(random, 1, 70), weights);
        const Whole whole(table);
        CHECK(are_all_two_valued(whole.local));
        Gains by_pairs = whole.pairs;
        find_triple_gains(whole.prepared, whole.table, by_pairs, 2);
        for (std::size_t axis = 0; axis < whole.local.axes.size(); ++axis) {
            CHECK(whole.has_all_gains(by_pairs, axis));
        }
        n_short += whole.prepared.builder.is_short() ? 1 : 0;
    }
    CHECK(n_short > 20);
    CHECK(n_short < 40);
}

TEST(slices_finish_what_they_say) {
    Random random(70);
    int n_finished = 0;
    int n_unfinished = 0;
    for (int n = 0; n < 20; ++n) {
        const Table table = n % 4 == 0 ? draw_two_valued(random, pick(random, 4, 8), Weights::unit)
                                       : draw_mixed(random, 40, pick(random, 4, 8), 2, Weights::unit);
        const Whole whole(table);
        for (int n_asked = 0; n_asked < 90; n_asked += pick(random, 1, 4)) {
            const Control stopped(Control::Asked{n_asked}, no_cost_model);
            const Prepared prepared(whole.run.instance, 0, whole.set, whole.local, choose_kernels(true), stopped);
            Gains gains = whole.pairs;
            std::vector<Amount> axis_lower;
            for (std::size_t a = 0; a < whole.local.axes.size(); ++a) {
                axis_lower.push_back(pick(random, 0, 9));
            }
            const Amount cap = pick(random, 5, 9);
            TripleGains triples(prepared, whole.table, gains, axis_lower, pick(random, 1, 2));
            while (triples.work(cap)) {
            }
            Amount least = unreachable;
            for (std::size_t a = 0; a < axis_lower.size(); ++a) {
                if (triples.is_finished(a)) {
                    CHECK(whole.has_all_gains(gains, a));
                    ++n_finished;
                } else {
                    least = std::min(least, axis_lower[a]);
                    CHECK(axis_lower[a] >= cap || stopped.should_stop());
                    ++n_unfinished;
                }
            }
            CHECK(triples.lower_of_unfinished() == least);
        }
    }
    CHECK(n_finished > 500);
    CHECK(n_unfinished > 500);
}

}  // namespace certree::test
