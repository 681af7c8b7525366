// Root tests that somebody else looks at: the answer is what it is without, under every limit, wherever it is stopped;
// and numbers that are no question or no answer are refused.
#include <stdexcept>

#include "tests/test_runs.hpp"

namespace certree::test {

namespace {

// A table with limits that make root tests worth a look.
Options draw_options(Random& random, const Table& table) {
    Options options;
    options.regularization = some_penalties[pick(random, 0, 3)];
    options.constraints.max_depth = pick(random, 2, 4);
    options.constraints.max_leaves = chance(random, 0.4) ? pick(random, 2, 7) : 0;
    options.constraints.min_samples_leaf = chance(random, 0.3) ? pick(random, 2, 3) : 1;
    options.constraints.min_weight_leaf = chance(random, 0.2) ? uniform(random, 0.0, 0.2) * table.normaliser() : 0.0;
    options.constraints.min_samples_arm = table.n_arms > 0 ? pick(random, 0, 1) : 0;
    // Where sums over cells are the answer, no root test is looked at.
    options.switches = no_cost_model | (chance(random, 0.8) ? no_cells : 0U) |
                       (chance(random, 0.5) ? no_triples | no_coarse | no_greedy : 0U);
    options.n_elsewhere = pick(random, 1, 3);
    return options;
}

Table draw_table(Random& random, int n) {
    return n % 2 == 0 ? draw_small(random, 16, n % 4 == 0 ? 2 : 0)
                      : draw_mixed(random, pick(random, 14, 30), pick(random, 4, 7), 2 + n % 3, all_weights[n % 5]);
}

template <class Call>
bool is_refused(const Call& call) {
    try {
        call();
    } catch (const std::invalid_argument&) {
        return true;
    }
    return false;
}

}  // namespace

TEST(elsewhere_gives_the_same_optimum) {
    Random random(90);
    std::int64_t n_looks = 0;
    for (int n = 0; n < 120; ++n) {
        const Table table = draw_table(random, n);
        Options options = draw_options(random, table);
        Enumerator enumerator(table, minima_of(options.constraints));
        check_optimal(table, enumerator, options);
        // No claim that either makes rules out what the other has found.
        const Finished known(table, options);
        const Witness witness(known.instance, known.settings.penalty, known.result.tree);
        options.witness = &witness;
        options.n_elsewhere = pick(random, 1, 2);
        const Finished again(table, options);
        CHECK(again.upper() == known.upper());
        n_looks += again.search->statistics().elsewhere;
    }
    CHECK(n_looks > 100);  // by how much depends on which of the threads comes first
}

TEST(elsewhere_stopped_anywhere) {
    Random random(91);
    int n_stopped = 0;
    for (int n = 0; n < 12; ++n) {
        const Table table = draw_table(random, n);
        Options options = draw_options(random, table);
        options.regularization = 0.001;
        Enumerator enumerator(table, minima_of(options.constraints));
        const double optimum = optimum_of(table, enumerator, options);
        bool is_done = false;
        for (int n_asked = 0; !is_done; n_asked += 1 + n_asked / 3) {
            options.n_asked = n_asked;
            describe(text_of(table, options));
            const Finished run(table, options);
            check_between(table, optimum, options, run);
            is_done = run.result.status == Status::optimal;
            n_stopped += is_done ? 0 : 1;
        }
    }
    CHECK(n_stopped > 50);
}

TEST(elsewhere_passes_on_what_is_thrown) {
    Random random(92);
    const Table table = draw_mixed(random, 40, 7, 3, Weights::lognormal);
    Options options;
    options.constraints.max_depth = 3;
    options.n_elsewhere = 3;
    Run run(table, options);
    run.elsewhere = [](const Question&, const Control&) -> std::optional<Answer> { throw std::out_of_range("gone"); };
    bool is_thrown = false;
    try {
        run.go();
    } catch (const std::out_of_range&) {
        is_thrown = true;
    }
    CHECK(is_thrown);
}

TEST(elsewhere_refuses_other_numbers) {
    Random random(93);
    const Table table = draw_mixed(random, 40, 7, 2, Weights::unit);
    Options options;
    const Run run(table, options);
    const Instance& instance = run.instance;
    const Question question{run.settings, {0, 1}, 3, 1000, 10, {5, 7}};
    const std::vector<std::int64_t> asked = write_question(question);
    CHECK(write_question(read_question(asked, instance)) == asked);
    const Answer answer{{5, 8}, 900, make_split(0, 1, make_leaf(0), make_split(1, 0, make_leaf(1), make_leaf(0)))};
    const std::vector<std::int64_t> told = write_answer(answer);
    CHECK(write_answer(read_answer(told, instance)) == told);
    for (std::size_t n = 0; n < told.size(); ++n) {
        std::vector<std::int64_t> cut(told.begin(), told.begin() + static_cast<std::ptrdiff_t>(n));
        CHECK(is_refused([&] { read_answer(cut, instance); }));
    }
    CHECK(is_refused([&] { read_question({}, instance); }));
    for (const auto& [place, value] : {std::pair{6, 99}, {6, -1}, {7, 99}, {7, -1}, {8, 0}}) {
        std::vector<std::int64_t> other = asked;
        other[static_cast<std::size_t>(place)] = value;
        CHECK(is_refused([&] { read_question(other, instance); }));
    }
    for (const auto& [place, value] : {std::pair{3, 99}, {4, 99}, {6, 2}, {6, -1}}) {
        std::vector<std::int64_t> other = told;
        other[static_cast<std::size_t>(place)] = value;
        CHECK(is_refused([&] { read_answer(other, instance); }));
    }
    std::vector<std::int64_t> longer = told;
    longer.push_back(0);
    CHECK(is_refused([&] { read_answer(longer, instance); }));
}

}  // namespace certree::test
