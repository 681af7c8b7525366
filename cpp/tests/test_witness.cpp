// A search that is handed an optimal tree never claims anything that would rule it out, whatever is switched off; and
// where a claim is made false on purpose, the search stops and names it.
#include <map>

#include "tests/test_runs.hpp"

namespace certree::test {

namespace {

// A problem that enumeration can afford, under any of the constraints.
struct Drawn {
    Table table;
    Options options;
};

Drawn draw(Random& random, int n) {
    Drawn drawn;
    if (n % 3 == 0) {
        drawn.table =
            draw_mixed(random, pick(random, 14, 30), pick(random, 4, 7), n % 2 == 0 ? 2 : 3, all_weights[n % 5]);
    } else {
        drawn.table = draw_small(random, 16, n % 4 == 0 ? 2 : 0);
    }
    Constraints& constraints = drawn.options.constraints;
    constraints.max_depth = pick(random, 1, 4);
    constraints.max_leaves = chance(random, 0.3) ? pick(random, 2, 6) : 0;
    constraints.min_samples_leaf = chance(random, 0.3) ? pick(random, 2, 3) : 1;
    constraints.min_weight_leaf = chance(random, 0.2) ? uniform(random, 0.0, 0.2) * drawn.table.normaliser() : 0.0;
    constraints.min_samples_arm = drawn.table.n_arms > 0 ? pick(random, 0, 1) : 0;
    drawn.options.regularization = some_penalties[pick(random, 0, 3)];
    drawn.options.n_threads = pick(random, 1, 2);
    return drawn;
}

// An optimal tree: found by the search and confirmed by enumeration.
struct Confirmed : Finished {
    bool is_optimal;

    explicit Confirmed(const Drawn& drawn) : Finished(drawn.table, drawn.options) {
        Enumerator enumerator(drawn.table, minima_of(drawn.options.constraints));
        const double optimum = optimum_of(drawn.table, enumerator, drawn.options);
        is_optimal = std::abs(upper() - optimum) <= tolerance(drawn.table, *this);
    }
};

constexpr std::uint32_t some_switches[] = {
    0U,
    0U + no_cost_model,
    no_triples | no_greedy,
    no_triples | no_coarse | no_greedy,
    no_triples | no_coarse | no_relaxation | no_greedy,
    no_triples | no_deepening | no_greedy,
    no_leaf_bound | no_greedy,
    no_cost_model | no_fine_grid,
};

}  // namespace

TEST(witness_is_never_ruled_out) {
    Random random(60);
    int n_split = 0;
    for (int n = 0; n < 150; ++n) {
        Drawn drawn = draw(random, n);
        const Confirmed known(drawn);
        const Witness witness(known.instance, known.settings.penalty, known.result.tree);
        n_split += known.result.leaves > 1 ? 1 : 0;
        drawn.options.witness = &witness;
        for (const std::uint32_t off : some_switches) {
            drawn.options.switches = off | (chance(random, 0.3) ? (1U << pick(random, 0, 3)) : 0U);
            describe(text_of(drawn.table, drawn.options));
            CHECK(known.is_optimal);
            const Finished run(drawn.table, drawn.options);  // a complaint is an exception
            CHECK(run.result.cost + run.result.leaves * run.settings.penalty ==
                  known.result.cost + known.result.leaves * known.settings.penalty);
        }
    }
    CHECK(n_split > 90);
}

TEST(witness_names_what_rules_it_out) {
    // Each claim in turn is made false by a little wherever it speaks of the witness's rows. What comes out is its
    // name, and without the witness's complaint some of these searches would have ended with a worse tree or a false
    // bound.
    Random random(61);
    std::map<Claim, int> n_named;
    int n_wrong = 0;
    // Which claims a search makes depends on the processor, too: a rare one may take more problems.
    const auto are_all_named = [&] {
        int n_claims = 0;
        for (int c = 0; c <= static_cast<int>(Claim::result); ++c) {
            n_claims += n_named[static_cast<Claim>(c)] > 0 ? 1 : 0;
        }
        return n_claims == static_cast<int>(Claim::result) + 1;
    };
    for (int n = 0; n < 300 || (n < 3000 && !are_all_named()); ++n) {
        Drawn drawn = draw(random, n);
        const Confirmed known(drawn);
        if (known.result.leaves == 1 || !known.is_optimal) {
            continue;
        }
        Witness witness(known.instance, known.settings.penalty, known.result.tree);
        drawn.options.witness = &witness;
        drawn.options.switches = some_switches[n % 8];
        const Amount optimum = known.result.cost + known.result.leaves * known.settings.penalty;
        for (int c = 0; c <= static_cast<int>(Claim::result); ++c) {
            witness.lie = {static_cast<Claim>(c), optimum + 1, false};
            describe(text_of(drawn.table, drawn.options) + ", false: " + name_of(witness.lie.about));
            try {
                const Finished run(drawn.table, drawn.options);
                CHECK(run.result.cost + run.result.leaves * run.settings.penalty == optimum);
            } catch (const WitnessPruned& pruned) {
                // Of two threads one may meet what follows from the false claim before the other has named it.
                CHECK(pruned.claim == witness.lie.about || drawn.options.n_threads > 1);
                n_named[pruned.claim] += pruned.claim == witness.lie.about ? 1 : 0;
                witness.lie.is_silent = true;
                const Finished run(drawn.table, drawn.options);
                n_wrong += run.result.cost + run.result.leaves * run.settings.penalty > optimum ? 1 : 0;
            }
        }
    }
    CHECK(n_wrong > 100);
    for (int c = 0; c <= static_cast<int>(Claim::result); ++c) {
        describe(name_of(static_cast<Claim>(c)));
        CHECK(n_named[static_cast<Claim>(c)] > 0);
    }
}

}  // namespace certree::test
