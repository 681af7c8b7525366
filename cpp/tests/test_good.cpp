// Sets of good trees against plain recursion: how many trees cost how much, whatever closed form, bound or stop.
#include <map>
#include <numeric>

#include "good/build.hpp"
#include "good/counts.hpp"
#include "good/leaf_numbers.hpp"
#include "tests/test_runs.hpp"

namespace certree::test {

namespace {

using namespace certree::good;

// Of the trees of a set of rows: what the leaf costs, and how many trees that split cost how much.
struct Plain {
    Amount leaf = unreachable;
    std::int32_t label = 0;
    std::map<Amount, double> splits;

    std::map<Amount, double> all() const {
        std::map<Amount, double> trees = splits;
        if (leaf < unreachable) {
            trees[leaf] += 1;
        }
        return trees;
    }
};

class PlainTrees {
public:
    PlainTrees(const Instance& instance, const Settings& settings, bool has_idle)
        : instance_(instance), settings_(settings), has_idle_(has_idle) {}

    Plain find(const RowSet& set, int depth, bool is_root = true) {
        Plain found;
        std::vector<Amount> saved(static_cast<std::size_t>(instance_.n_labels), 0);
        for (const std::int32_t row : set.rows) {
            const auto r = static_cast<std::size_t>(row);
            for (auto g = instance_.gain_start[r]; g < instance_.gain_start[r + 1]; ++g) {
                const Gain& gain = instance_.gains[static_cast<std::size_t>(g)];
                saved[static_cast<std::size_t>(gain.label)] += gain.amount;
            }
        }
        found.label = static_cast<std::int32_t>(std::max_element(saved.begin(), saved.end()) - saved.begin());
        // keeps_limits lets any lone leaf pass: the leaf of a part is asked for as a side of a split.
        if (is_root || is_enough(set)) {
            found.leaf = set.worst - saved[static_cast<std::size_t>(found.label)] + settings_.penalty;
        }
        if (depth == 0) {
            return found;
        }
        std::map<SetKey, bool> seen;
        for (std::size_t a = 0; a < instance_.axes.size(); ++a) {
            for (std::int32_t code = 0; code < instance_.axes[a].n_tests; ++code) {
                const Split split = split_rows(instance_, set, static_cast<std::int32_t>(a), code);
                if (split.left.rows.empty() || split.right.rows.empty() ||
                    !seen.emplace(std::min(split.left.key, split.right.key), true).second) {
                    continue;
                }
                const Plain left = find(split.left, depth - 1, false);
                const Plain right = find(split.right, depth - 1, false);
                for (const auto& [x, n] : left.all()) {
                    for (const auto& [y, m] : right.all()) {
                        found.splits[x + y] += n * m;
                    }
                }
                if (!has_idle_ && left.label == right.label && left.leaf < unreachable && right.leaf < unreachable) {
                    found.splits[left.leaf + right.leaf] -= 1;
                }
            }
        }
        return found;
    }

private:
    bool is_enough(const RowSet& set) const {
        if (!settings_.has_leaf_minimum()) {
            return true;
        }
        Amount weight = 0;
        for (const std::int32_t row : set.rows) {
            weight += instance_.weight[static_cast<std::size_t>(row)];
        }
        return set.count >= settings_.min_samples_leaf && weight >= settings_.min_weight_leaf;
    }

    const Instance& instance_;
    const Settings& settings_;
    bool has_idle_;
};

double sum(const std::vector<Count>& counts) {
    return std::accumulate(counts.begin(), counts.end(), 0.0,
                           [](double total, Count n) { return total + static_cast<double>(n); });
}

double count_upto(const std::map<Amount, double>& trees, Amount most) {
    double n = 0;
    for (const auto& [value, count] : trees) {
        n += value <= most ? count : 0;
    }
    return n;
}

constexpr std::uint32_t some_switches[] = {0, no_triples, no_interval, no_simd, no_fine_grid, no_triples | no_interval};

// The n-th table of a test, with limits, a penalty and a tolerance of its own.
void check_all_trees(Random& random, const Table& table, int n, int least_depth) {
    Constraints constraints;
    constraints.max_depth = pick(random, least_depth, 3);
    constraints.min_samples_leaf = chance(random, 0.3) ? pick(random, 2, 3) : 1;
    const std::uint32_t switches = no_row_dropping | some_switches[n % 6];
    const Input input = table.input(table.normaliser(), false);
    const Instance instance = prepare(input, constraints.has_leaf_minimum(), switches);
    const double regularization = some_penalties[pick(random, 0, 4)];
    const Settings settings = instance.settings(constraints, regularization);
    const std::vector<std::int32_t> columns = [&] {
        std::vector<std::int32_t> numbers(input.sizes.size());
        std::iota(numbers.begin(), numbers.end(), 0);
        return numbers;
    }();
    Wish wish;
    // Nothing, or the price of some leaves: many trees then cost just what they may.
    wish.tolerance = chance(random, 0.5) ? pick(random, 0, 2) * regularization : uniform(random, 0.0, 0.3);
    wish.has_idle = chance(random, 0.3);
    wish.column_of_axis = columns;
    wish.n_columns = static_cast<std::int32_t>(columns.size());
    // In one go, or the graph, but for its root perhaps, in a second one.
    int n_carried_on = 0;
    if (n % 2 == 0) {
        wish.brief = std::chrono::milliseconds{0};
        wish.carry_on = [&](const std::function<void()>& rest) {
            ++n_carried_on;
            rest();
        };
    }
    const Limits limits;
    describe("good trees, table " + std::to_string(n));

    const Control control(1e18, switches);
    const Found found = find_good_trees(instance, settings, limits, control, wish);
    CHECK(found.is_complete);
    CHECK(n_carried_on == (n % 2 == 0 ? 1 : 0));
    PlainTrees plain(instance, settings, wish.has_idle);
    const RowSet all = all_rows(instance);
    const std::map<Amount, double> trees = plain.find(all, settings.max_depth).all();
    const Amount budget = found.graph.budget;
    CHECK(found.optimum == trees.begin()->first || count_upto(trees, found.optimum - 1) == 0);
    const double expected = count_upto(trees, budget);
    const Counts counts(found.graph, 1000000, false, control);
    CHECK(sum(counts.count(budget).least) == expected);
    CHECK(sum(counts.count(found.optimum).least) == count_upto(trees, found.optimum));
    const Counts coarse(found.graph, 1, false, control);
    CHECK(sum(coarse.count(budget).least) <= expected && expected <= sum(coarse.count(budget).most));
    if (expected < 3000) {
        const Trees listed = list_trees(found.graph, 0, 5000, control);
        CHECK(static_cast<double>(listed.size()) == expected);
        CHECK(std::is_sorted(listed.value.begin(), listed.value.end()));
    }
    for (const Counts* drawn_by : {&counts, &coarse}) {
        if (sum(drawn_by->count(budget).most) < 1) {
            continue;  // the counts have failed already, and there is nothing to draw from
        }
        const Trees drawn = drawn_by->draw(20, 5);
        CHECK(drawn.size() == 20);
        CHECK(*std::max_element(drawn.value.begin(), drawn.value.end()) <= budget);
    }
    // Stopped anywhere: nothing is there that is no good tree, and nothing is missing below what is said.
    const Control stopped(Control::Asked{pick(random, 0, 60)}, switches);
    const Found part = find_good_trees(instance, settings, limits, stopped, wish);
    const Counts part_counts(part.graph, 1000000, false, control);
    CHECK(part.lower <= found.optimum && part.graph.budget <= budget);
    CHECK(sum(part_counts.count(part.graph.budget).least) <= count_upto(trees, part.graph.budget));
    const Amount below = std::min(part.missing - 1, part.graph.budget);
    CHECK(sum(part_counts.count(below).least) == count_upto(trees, below));
}

// All trees of a number of rows in a line, which cost nothing: the node of n rows parts them into k and n − k.
Graph make_line(int n_rows) {
    Graph graph;
    graph.has_idle = true;
    for (int n = n_rows; n > 0; --n) {
        graph.add_node(0, 0);
        for (int k = 1; k < n; ++k) {
            graph.add_edge(0, k - 1, n_rows - k, n_rows - (n - k), 0, 1);
        }
        graph.first_edge.push_back(static_cast<std::int64_t>(graph.n_edges()));
    }
    return graph;
}

}  // namespace

// 60 rows in a line have 0.87 · 2^128 trees, and 61 have 4.26 · 2^128, although no test of theirs has so many.
TEST(counts_beyond_128_bits_are_said_to_be) {
    const Control control(1e18, 0);
    const Graph most = make_line(60);
    const CountRange counted = Counts(most, 1000000, false, control).count(0);
    CHECK(!counted.is_overflow);
    CHECK(sum(counted.least) > 0.87 * 0x1p128 && sum(counted.least) < 0.88 * 0x1p128);
    CHECK(Counts(make_line(61), 1000000, false, control).count(0).is_overflow);
    // The same below the root, where the sum is one of the entries of a list.
    Graph below = make_line(61);
    below.leaf.insert(below.leaf.begin(), 0);
    below.label.insert(below.label.begin(), 0);
    below.is_asked.insert(below.is_asked.begin(), 0);
    below.first_edge.insert(below.first_edge.begin(), 0);
    for (std::size_t node = 1; node < below.first_edge.size(); ++node) {
        ++below.first_edge[node];
    }
    for (std::vector<std::int32_t>* sides : {&below.left, &below.right}) {
        for (std::int32_t& node : *sides) {
            ++node;
        }
        sides->insert(sides->begin(), sides == &below.left ? 1 : 61);
    }
    for (std::vector<std::int32_t>* other : {&below.axis, &below.code, &below.columns, &below.ways}) {
        other->insert(other->begin(), 1);
    }
    CHECK(Counts(below, 1000000, false, control).count(0).is_overflow);
}

TEST(nothing_is_drawn_where_there_is_nothing) {
    const Control control(1e18, 0);
    Graph graph = make_line(3);
    CHECK(Counts(graph, 1000, false, control).draw(4, 1).size() == 4);
    graph.budget = -1;
    CHECK(Counts(graph, 1000, false, control).draw(4, 1).size() == 0);
}

TEST(good_trees_are_all_trees) {
    Random random(71);
    for (int n = 0; n < 240; ++n) {
        Table table = draw_small(random, n % 4 == 0 ? 16 : 10);
        if (n % 4 == 0) {
            // Columns with two values, which are looked at in a way of their own.
            for (std::size_t a = 0; a < table.sizes.size(); ++a) {
                table.sizes[a] = 2;
            }
            for (std::int32_t& code : table.codes) {
                code %= 2;
            }
        }
        check_all_trees(random, table, n, 0);
    }
}

// More rows than a word has bits, so that some words are full, one is not, and nodes have fewer rows than words.
TEST(good_trees_of_two_valued_tables) {
    Random random(72);
    for (int n = 0; n < 120; ++n) {
        Recipe recipe;
        recipe.n_rows = pick(random, 60, 260);
        recipe.n_labels = n % 10 == 9 ? 3 : 2;
        recipe.weights = all_weights[n % 5];
        const int n_axes = n % 5 == 0 ? 8 : pick(random, 4, 7);
        for (int a = 0; a < n_axes; ++a) {
            recipe.sizes.push_back(2);
            recipe.categorical.push_back(chance(random, 0.2) ? 1 : 0);
        }
        Table table = make_table(random, recipe);
        // Some columns hold on few rows, others on nearly all.
        for (std::size_t i = 0; i < table.codes.size(); ++i) {
            const std::size_t axis = i / static_cast<std::size_t>(table.n_rows);
            if (axis % 3 != 0 && chance(random, 0.7)) {
                table.codes[i] = axis % 3 == 1 ? 1 : 0;
            }
        }
        check_all_trees(random, table, n, n % 3 == 0 ? 2 : 3);
    }
}

// Few values, so that leaves come again; values that share their low or their high bits; several times as many as the
// table starts with.
TEST(leaves_are_numbered_as_they_appear) {
    Random random(73);
    for (const Amount step : {Amount{1}, Amount{1} << 20, Amount{1} << 44}) {
        LeafNumbers numbers;
        std::map<std::pair<Amount, std::int32_t>, std::int32_t> known;
        for (int n = 0; n < 20000; ++n) {
            const LeafKey leaf{step * pick(random, 0, 4000), pick(random, 0, 2)};
            const auto next = static_cast<std::int32_t>(known.size());
            const auto [place, is_new] = known.try_emplace({leaf.value, leaf.label}, next);
            CHECK(numbers.number(leaf) == place->second);
            CHECK(numbers.leaves()[static_cast<std::size_t>(place->second)] == leaf);
        }
        CHECK(numbers.leaves().size() == known.size());
    }
}

}  // namespace certree::test
