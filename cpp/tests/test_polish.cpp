// Trees before proofs: whatever is offered keeps every limit, wherever the work is stopped, and becomes better.
#include "search/polish.hpp"
#include "tests/test_runs.hpp"

namespace certree::test {

namespace {

// Polishing beside a search that never runs; closed forms are stumps.
struct Polished {
    const Table& table;
    const Options& options;
    Run run;
    RowSet root;
    Stumps stumps;
    std::vector<Amount> offered;  // since it was last emptied
    std::vector<Amount> heard;    // all of them
    NodePtr best;
    Polish polish;

    Polished(const Table& rows, const Options& asked, std::size_t most_bytes)
        : table(rows),
          options(asked),
          run(rows, asked),
          root(all_rows(run.instance)),
          stumps(run.instance, run.settings, run.control),
          best(make_leaf(run.instance.best_label_of_all)),
          polish(
              run.instance, run.settings, stumps, asked.constraints.max_depth, most_bytes,
              [this](const RowSet& set, int depth, bool is_whole_wanted) { return solve(set, depth, is_whole_wanted); },
              [this](const NodePtr& tree) { hear(tree); }) {}

    Choice solve(const RowSet& set, int depth, bool is_whole_wanted) const {
        CHECK(depth == 1);
        Outcome outcome(run.settings.max_leaves == 0 ? 1 : 2);
        stumps.put_leaf(set, outcome);
        stumps.solve(set, Local(run.instance, set), outcome);
        const NodePtr& tree = outcome.tree.back();
        Choice choice;
        choice.test = tree ? RootTest{tree->axis, tree->code} : RootTest{};
        if (is_whole_wanted) {
            choice.value = outcome.value;
            choice.tree = outcome.tree;
        }
        return choice;
    }

    Amount value_of(const NodePtr& tree) const {
        const Judged judged = judge(run.instance, tree);
        return judged.cost + judged.leaves * run.settings.penalty;
    }

    void hear(const NodePtr& tree) {
        Followed followed;
        follow(table, run.instance, options.constraints, *tree, table.all_rows(), 0, followed);
        CHECK(followed.leaves == 1 || followed.keeps_minima);
        CHECK(followed.depth <= options.constraints.max_depth);
        CHECK(options.constraints.max_leaves == 0 || followed.leaves <= options.constraints.max_leaves);
        offered.push_back(value_of(tree));
        heard.push_back(offered.back());
        if (offered.back() < value_of(best)) {
            best = tree;
        }
    }

    // From the best tree on, each tree is better than the one before.
    bool improve(std::size_t n_tests) {
        Amount last = value_of(best);
        offered.clear();
        const bool is_better = polish.improve(root, best, {1, false, n_tests, run.control});
        CHECK(is_better == !offered.empty());
        for (const Amount value : offered) {
            CHECK(value < last);
            last = value;
        }
        return is_better;
    }

    // All that a polish can do. Returns how many rounds made the best tree better.
    int work(bool is_grown_first) {
        // From a leaf there is more to make better.
        if (is_grown_first) {
            polish.grow_whole(root, {1, false, 0, run.control});
            polish.grow_whole(root, {1, true, 0, run.control});
        }
        int n_better = 0;
        for (const std::size_t n_tests : {1, 2, 4}) {
            for (int round = 0; round < 20 && improve(n_tests); ++round) {
                ++n_better;
            }
        }
        polish.try_roots(root, {1, true, 3, run.control});
        return n_better;
    }
};

Options draw_options(Random& random, const Table& table) {
    Options options;
    options.regularization = some_penalties[pick(random, 0, 3)];
    options.constraints.max_depth = pick(random, 2, 5);
    options.constraints.max_leaves = chance(random, 0.5) ? pick(random, 2, 7) : 0;
    if (chance(random, 0.5)) {
        options.constraints.min_samples_leaf = pick(random, 1, 3);
        options.constraints.min_weight_leaf =
            chance(random, 0.5) ? uniform(random, 0.0, 0.2) * table.normaliser() : 0.0;
        options.constraints.min_samples_arm = table.n_arms > 0 ? pick(random, 0, 1) : 0;
    }
    options.n_asked = chance(random, 0.5) ? pick(random, 0, 400) : -1;
    return options;
}

}  // namespace

TEST(polish_keeps_every_limit_and_makes_trees_better) {
    Random random(71);
    int n_better = 0;
    for (int n = 0; n < 400; ++n) {
        const Table table = draw_small(random, 40, pick(random, 0, 2));
        const Options options = draw_options(random, table);
        describe(text_of(table, options));
        Polished polished(table, options, std::size_t{1} << 20);
        n_better += polished.work(n % 2 == 0);
    }
    CHECK(n_better > 100);
}

TEST(polish_finds_again_what_it_forgot) {
    Random random(73);
    std::size_t most = 0;
    for (int n = 0; n < 100; ++n) {
        const Table table = draw_small(random, 40, pick(random, 0, 2));
        Options options = draw_options(random, table);
        options.n_asked = -1;
        describe(text_of(table, options));
        Polished roomy(table, options, std::size_t{1} << 20);
        roomy.work(n % 2 == 0);
        for (const std::size_t most_bytes : {0, 600, 6000}) {
            Polished narrow(table, options, most_bytes);
            narrow.work(n % 2 == 0);
            CHECK(narrow.polish.bytes() <= most_bytes);
            CHECK(narrow.heard == roomy.heard);
        }
        most = std::max(most, roomy.polish.bytes());
    }
    CHECK(most > 20000);
}

TEST(search_polishes_between_depths) {
    // Without forecasts every search deeper than three polishes; it is stopped anywhere, and what it has is true.
    Random random(72);
    int n_stopped = 0;
    for (int n = 0; n < 80; ++n) {
        const Table table = draw_small(random, 14, pick(random, 0, 2));
        Options options = draw_options(random, table);
        options.constraints.max_depth = pick(random, 4, 5);
        options.switches = no_cost_model | (chance(random, 0.3) ? no_triples : 0U);
        Enumerator enumerator(table, minima_of(options.constraints));
        const double optimum = optimum_of(table, enumerator, options);
        for (const int n_asked : {-1, pick(random, 0, 30), pick(random, 0, 300), pick(random, 0, 3000)}) {
            options.n_asked = n_asked;
            describe(text_of(table, options));
            const Finished run(table, options);
            check_between(table, optimum, options, run);
            CHECK(n_asked >= 0 || run.result.status == Status::optimal);
            n_stopped += run.result.status == Status::optimal ? 0 : 1;
        }
    }
    CHECK(n_stopped > 10);
}

}  // namespace certree::test
