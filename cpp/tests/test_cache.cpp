// The cache: what it knows it says, what it takes is counted, and what is too much it forgets.
#include <vector>

#include "search/cache.hpp"
#include "tests/test.hpp"
#include "tests/test_tables.hpp"

namespace certree::test {

namespace {

Cache::Known draw_known(Random& random) {
    Cache::Known known;
    known.lower = pick(random, 0, 1000);
    known.value.assign(static_cast<std::size_t>(pick(random, 1, 9)), known.lower);
    for (std::size_t m = 0; m < known.value.size(); ++m) {
        NodePtr tree = make_leaf(0);
        for (int n = pick(random, 0, 6); n > 0; --n) {
            tree = make_split(0, n, tree, make_leaf(1));
        }
        known.tree.push_back(chance(random, 0.2) ? nullptr : tree);
    }
    return known;
}

}  // namespace

TEST(cache_counts_what_its_entries_take) {
    Random random(50);
    for (const std::size_t most : {std::size_t{1} << 14, std::size_t{1} << 18, std::size_t{1} << 30}) {
        Cache cache(most);
        std::vector<SetKey> keys;
        for (std::uint64_t n = 0; n < 40; ++n) {
            keys.push_back({random(), random()});
        }
        // Few keys and many stores: nearly every one replaces an entry, by a smaller or a larger one.
        for (int n = 0; n < 3000; ++n) {
            const SetKey key = keys[static_cast<std::size_t>(pick(random, 0, 39))];
            cache.store(key, pick(random, 3, 4), draw_known(random));
            CHECK(cache.bytes() <= most);
        }
        std::size_t held = 0;
        for (const SetKey& key : keys) {
            for (const int depth : {3, 4}) {
                const auto known = cache.find(key, depth);
                held += known ? Cache::bytes_of(*known) : 0;
            }
        }
        CHECK(cache.bytes() == held);
        CHECK((cache.n_forgotten() > 0) == (most < std::size_t{1} << 30));
    }
}

}  // namespace certree::test
