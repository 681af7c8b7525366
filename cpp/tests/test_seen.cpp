// Row sets that were seen: what they say of another one is the best of bounds::similar, no more and no less, and the
// oldest are forgotten.
#include <deque>

#include "bounds.hpp"
#include "search/seen.hpp"
#include "tests/test_runs.hpp"

namespace certree::test {

namespace {

RowSet draw_set(Random& random, const Instance& instance, double share) {
    RowSet set;
    for (std::int32_t row = 0; row < instance.n_rows; ++row) {
        if (chance(random, share)) {
            set.rows.push_back(row);
            set.sum(instance, row);
        }
    }
    return set;
}

Amount worst_of_rest(const Instance& instance, const RowSet& whole, const RowSet& part) {
    Amount sum = 0;
    for (const std::int32_t row : whole.rows) {
        const bool is_in_part = std::binary_search(part.rows.begin(), part.rows.end(), row);
        sum += is_in_part ? 0 : instance.worst[static_cast<std::size_t>(row)];
    }
    return sum;
}

}  // namespace

TEST(seen_sets_say_what_similarity_says) {
    Random random(70);
    int n_raised = 0;
    for (int n = 0; n < 60; ++n) {
        const Table table = draw_mixed(random, pick(random, 2, 200), pick(random, 2, 5), 2, all_weights[n % 5]);
        const Run run(table, {});
        const Instance& instance = run.instance;
        const auto most = static_cast<std::size_t>(pick(random, 1, 12));
        const auto newest = static_cast<std::size_t>(pick(random, 1, 12));
        SeenSets seen(instance, {std::min(newest, most), most});
        struct Other {
            RowSet set;
            Amount lower;
        };
        std::deque<Other> others;
        for (int step = 0; step < 40; ++step) {
            const RowSet set = draw_set(random, instance, uniform(random, 0.0, 1.0));
            const RowBits bits = bits_of(instance, set);
            const Amount known = set.worst / pick(random, 1, 20);
            Amount expected = known;
            for (const Other& other : others) {
                expected = std::max(expected, bounds::similar(other.lower, worst_of_rest(instance, other.set, set)));
            }
            CHECK(seen.lower_of(set, bits, known, unreachable) == expected);
            const Amount enough = set.worst / pick(random, 1, 4);
            const Amount found = seen.lower_of(set, bits, known, enough);
            CHECK(found <= expected && found >= std::min(expected, enough));
            n_raised += expected > known ? 1 : 0;
            const Amount lower = set.worst / pick(random, 1, 3);
            seen.add(set, bits, lower);
            others.push_back({set, lower});
            if (others.size() > most) {
                others.pop_front();
            }
        }
    }
    CHECK(n_raised > 200);
}

}  // namespace certree::test
