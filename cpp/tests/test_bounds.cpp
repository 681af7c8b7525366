// Each inequality of bounds.hpp against enumeration on small row sets: it holds under the conditions it states, and
// where a condition is stated there is a case that shows why.
#include <sstream>

#include "bounds.hpp"
#include "tests/test.hpp"
#include "tests/test_tables.hpp"

namespace certree::test {

namespace {

// Whole costs, so that doubles are exact and amounts mean the same.
struct Case {
    Table table;
    Minima minima;
    double penalty = 0.0;
    int depth = 0;
    int leaves = 0;  // the most a tree may have, 0: any
    std::string text;
};

Case draw_case(Random& random, bool has_minimum) {
    Recipe recipe;
    recipe.n_rows = pick(random, 4, 10);
    recipe.n_labels = pick(random, 2, 4);
    recipe.weights = chance(random, 0.5) ? Weights::unit : Weights::whole;
    recipe.is_classification = chance(random, 0.5);
    recipe.n_arms = has_minimum && chance(random, 0.3) ? 2 : 0;
    draw_axes(random, recipe, 3, 4);
    Case drawn;
    drawn.table = make_table(random, recipe);
    drawn.penalty = pick(random, 0, 3);
    drawn.depth = pick(random, 0, 3);
    drawn.leaves = chance(random, 0.3) ? pick(random, 1, 4) : 0;
    if (has_minimum) {
        drawn.minima.samples = pick(random, 1, 3);
        drawn.minima.weight = chance(random, 0.3) ? pick(random, 1, 6) : 0.0;
        drawn.minima.samples_arm = recipe.n_arms > 0 ? 1 : 0;
    }
    std::ostringstream text;
    text << recipe.n_rows << " rows, " << recipe.n_labels << " labels, penalty " << drawn.penalty << ", depth "
         << drawn.depth << ", leaves " << drawn.leaves;
    drawn.text = text.str();
    return drawn;
}

Rows draw_rows(Random& random, const Rows& from, double share) {
    Rows rows;
    for (const int row : from) {
        if (chance(random, share)) {
            rows.push_back(row);
        }
    }
    return rows;
}

Rows minus(const Rows& a, const Rows& b) {
    Rows rest;
    std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
    return rest;
}

Rows rows_that_pass(const Table& table, int axis, int test, const Rows& rows) {
    Rows passing;
    std::copy_if(rows.begin(), rows.end(), std::back_inserter(passing),
                 [&](int row) { return table.holds(axis, test, row); });
    return passing;
}

// Calls with the two sides of every test that parts the rows.
template <class Call>
void for_each_split(const Table& table, const Rows& rows, const Call& call) {
    for (int axis = 0; axis < table.n_axes(); ++axis) {
        for (int test = 0; test < table.n_tests(axis); ++test) {
            const Rows left = rows_that_pass(table, axis, test, rows);
            const Rows right = minus(rows, left);
            if (!left.empty() && !right.empty()) {
                call(left, right);
            }
        }
    }
}

Amount whole(double value) {
    return value == std::numeric_limits<double>::infinity() ? unreachable : static_cast<Amount>(value);
}

// What holds of one case, counted rather than checked: with a leaf minimum some of it must fail somewhere.
struct Broken {
    int monotone = 0;
    int difference = 0;
    int similarity = 0;
    int interval = 0;
    int group = 0;
    int gain = 0;
    int side = 0;
    int guess = 0;
};

// Every cap around what the best tree under a test costs, and every bound of a side that is true.
template <class SidesAt>
void look_at_sides(const SidesAt& sides, int n_tests, Broken& broken) {
    for (int test = 0; test < n_tests; ++test) {
        const bounds::Sides here = sides(test);
        if (std::max(here.left, here.right) >= unreachable) {
            continue;
        }
        for (Amount cap = 0; cap <= here.left + here.right + 1; ++cap) {
            for (Amount lower = 0; lower <= here.right; ++lower) {
                const bool is_cheaper = here.left + here.right < cap;
                broken.side += is_cheaper && here.left >= bounds::side_budget(cap, lower) ? 1 : 0;
            }
        }
    }
}

// Groups of the codes from + 1 to `to`: tests inside one have the left side of `from` and the right side of `to`.
template <class SidesAt>
void look_at_groups(const SidesAt& sides, int n_tests, Broken& broken) {
    for (int from = 0; from < n_tests; ++from) {
        for (int to = from + 1; to < n_tests; ++to) {
            const Amount before = sides(from).left;
            const Amount after = sides(to).right;
            for (int inside = from + 1; inside < to && std::max(before, after) < unreachable; ++inside) {
                const bounds::Sides here = sides(inside);
                broken.group += here.left + here.right < bounds::inside_group(before, after) ? 1 : 0;
            }
        }
    }
}

Broken look(Random& random, const Case& drawn) {
    Broken broken;
    const Table& table = drawn.table;
    Enumerator enumerator(table, drawn.minima);
    const auto opt = [&](const Rows& rows) {
        return whole(enumerator.optimum(rows, drawn.depth, drawn.penalty, drawn.leaves));
    };
    const auto worst = [&](const Rows& rows) { return whole(table.worst(rows)); };
    const Rows all = table.all_rows();
    for (int repeat = 0; repeat < 8; ++repeat) {
        const Rows set = draw_rows(random, all, 0.8);
        const Rows part = draw_rows(random, set, 0.7);
        const Rows other = draw_rows(random, all, 0.7);
        const Amount errors = whole(enumerator.optimum(set, drawn.depth, 0.0, drawn.leaves));
        broken.guess +=
            errors < unreachable && opt(set) < bounds::guess(errors, static_cast<Amount>(drawn.penalty)) ? 1 : 0;
        broken.monotone += opt(set) < bounds::superset(opt(part)) ? 1 : 0;
        // `unreachable` less something is no bound that anyone could use; an infinite optimum stays infinite.
        if (opt(set) < unreachable) {
            broken.difference += opt(part) < bounds::subset(opt(set), worst(minus(set, part))) ? 1 : 0;
        }
        if (opt(other) < unreachable) {
            broken.similarity += opt(set) < bounds::similar(opt(other), worst(minus(other, set))) ? 1 : 0;
        }
    }
    for (int axis = 0; axis < table.n_axes(); ++axis) {
        if (table.categorical[static_cast<std::size_t>(axis)] != 0) {
            continue;
        }
        const auto sides = [&](int test) {
            const Rows left = rows_that_pass(table, axis, test, all);
            return bounds::Sides{opt(left), opt(minus(all, left))};
        };
        const int last = table.sizes[static_cast<std::size_t>(axis)] - 1;
        const auto between = [&](int low, int high) {
            Rows rows;
            for (const int row : all) {
                if (table.code(axis, row) > low && table.code(axis, row) <= high) {
                    rows.push_back(row);
                }
            }
            return worst(rows);
        };
        look_at_sides(sides, table.n_tests(axis), broken);
        look_at_groups(sides, table.n_tests(axis), broken);
        for (int t1 = 0; t1 < table.n_tests(axis); ++t1) {
            for (int t = t1 + 1; t < table.n_tests(axis); ++t) {
                for (int t2 = t + 1; t2 < table.n_tests(axis); ++t2) {
                    const bounds::Sides below = sides(t1);
                    const bounds::Sides above = sides(t2);
                    const bounds::Sides here = sides(t);
                    if (std::max({below.left, below.right, above.left, above.right}) >= unreachable) {
                        continue;
                    }
                    const bounds::Sides bound = bounds::interval(below, above, between(t1, t), between(t, t2));
                    broken.interval += here.left < bound.left || here.right < bound.right ? 1 : 0;
                    // Gains: all that rows may cost, less twice what they do.
                    const auto gain_left = [&](const bounds::Sides& at, int test) {
                        return between(-1, test) - 2 * at.left;
                    };
                    const auto gain_right = [&](const bounds::Sides& at, int test) {
                        return between(test, last) - 2 * at.right;
                    };
                    const auto gain = [&](const bounds::Sides& at, int test) {
                        return gain_left(at, test) + gain_right(at, test);
                    };
                    const Amount most =
                        std::min({bounds::gain_between(gain_left(below, t1), gain_right(above, t2), between(t1, t2)),
                                  bounds::gain_near(gain(below, t1), between(t1, t)),
                                  bounds::gain_near(gain(above, t2), between(t, t2))});
                    broken.gain += here.left < unreachable && here.right < unreachable && gain(here, t) > most ? 1 : 0;
                }
            }
        }
    }
    return broken;
}

// Codes on one ordered axis, labels, unit weights.
Table one_axis(const std::vector<std::int32_t>& codes, const std::vector<std::int32_t>& labels) {
    Table table;
    table.n_rows = static_cast<int>(codes.size());
    table.sizes = {1 + *std::max_element(codes.begin(), codes.end())};
    table.categorical = {0};
    table.codes = codes;
    table.labels = labels;
    table.weights.assign(codes.size(), 1.0);
    for (const std::int32_t label : labels) {
        table.costs.push_back(label == 0 ? 0.0 : 1.0);
        table.costs.push_back(label == 1 ? 0.0 : 1.0);
    }
    return table;
}

}  // namespace

TEST(bounds_hold_where_only_depth_and_leaves_are_limited) {
    Random random(1);
    for (int n = 0; n < 250; ++n) {
        const Case drawn = draw_case(random, false);
        describe(drawn.text);
        const Broken broken = look(random, drawn);
        CHECK(broken.monotone == 0);
        CHECK(broken.difference == 0);
        CHECK(broken.similarity == 0);
        CHECK(broken.interval == 0);
        CHECK(broken.group == 0);
        CHECK(broken.gain == 0);
        CHECK(broken.side == 0);
        CHECK(broken.guess == 0);
    }
}

// Difference survives: a leaf that keeps the minimum on a subset keeps it on the whole. What rests on Monotone does
// not.
TEST(bounds_need_their_condition_on_leaf_minima) {
    Random random(2);
    Broken total;
    for (int n = 0; n < 250; ++n) {
        const Case drawn = draw_case(random, true);
        describe(drawn.text);
        const Broken broken = look(random, drawn);
        CHECK(broken.difference == 0);
        CHECK(broken.side == 0);
        CHECK(broken.guess == 0);
        total.group += broken.group;
        total.gain += broken.gain;
        total.monotone += broken.monotone;
        total.similarity += broken.similarity;
        total.interval += broken.interval;
    }
    CHECK(total.monotone > 0);
    CHECK(total.similarity > 0);
    CHECK(total.interval > 0);
    CHECK(total.group > 0);
    CHECK(total.gain > 0);
}

TEST(bounds_monotone_is_broken_by_a_leaf_minimum) {
    // Two rows of each label, parted by one test. With at least two rows per leaf the four rows are told apart for 2λ;
    // take one row away and the split is forbidden, so fewer rows cost more.
    const Table table = one_axis({0, 0, 1, 1}, {0, 0, 1, 1});
    const double penalty = 0.25;
    Minima minima;
    Enumerator free(table, minima);
    CHECK(free.optimum({0, 1, 2, 3}, 1, penalty) == 0.5);
    CHECK(free.optimum({0, 1, 2}, 1, penalty) == 0.5);
    minima.samples = 2;
    Enumerator bound(table, minima);
    CHECK(bound.optimum({0, 1, 2, 3}, 1, penalty) == 0.5);
    CHECK(bound.optimum({0, 1, 2}, 1, penalty) == 1.25);
}

TEST(bounds_need_costs_that_are_not_negative) {
    Table table = one_axis({0, 1}, {0, 1});
    table.costs = {0.0, 0.0, -5.0, -4.0};
    Enumerator enumerator(table);
    CHECK(enumerator.optimum({0, 1}, 0, 1.0) < enumerator.optimum({0}, 0, 1.0));
}

namespace {

// Least cost of a tree deeper than `depth` and no deeper than `limit`, empty sides left out.
double cheapest_deeper(Enumerator& enumerator, const Table& table, const Rows& rows, int depth, int limit,
                       double penalty) {
    if (depth < 0) {
        return enumerator.optimum(rows, limit, penalty);
    }
    double best = std::numeric_limits<double>::infinity();
    if (limit <= depth) {
        return best;
    }
    const auto deeper = [&](const Rows& side) {
        return cheapest_deeper(enumerator, table, side, depth - 1, limit - 1, penalty);
    };
    const auto any = [&](const Rows& side) { return enumerator.optimum(side, limit - 1, penalty); };
    for_each_split(table, rows, [&](const Rows& left, const Rows& right) {
        best = std::min({best, deeper(left) + any(right), any(left) + deeper(right)});
    });
    return best;
}

}  // namespace

namespace {

// Trees of depth d exactly whose root test leaves sides that cost x and y, of which one has depth d − 1.
void check_deep_sides(Amount x, Amount y, Amount deep, int& n_sharp) {
    if (std::max(x, y) >= unreachable) {
        return;
    }
    for (Amount l = 0; l <= x; ++l) {
        for (Amount r = 0; r <= y; ++r) {
            const Amount bound = bounds::deep_sum({l, r}, deep);
            CHECK(x + y >= bound);
            CHECK(bound >= l + r);
            n_sharp += x + y == bound && bound > l + r ? 1 : 0;
        }
        for (Amount cap = x + y + 1; cap < x + y + 4; ++cap) {
            CHECK(y < bounds::deep_side_budget(cap, l, deep));
            CHECK(bounds::deep_side_budget(cap, l, deep) <= bounds::side_budget(cap, l));
            CHECK(bounds::deep_side_budget(cap, l, 0) == bounds::side_budget(cap, l));
        }
    }
}

}  // namespace

TEST(bounds_of_a_deep_side_hold_and_are_reached) {
    Random random(11);
    int n_sharp = 0;
    for (int n = 0; n < 60; ++n) {
        const Case drawn = draw_case(random, chance(random, 0.5));
        describe(drawn.text);
        const Table& table = drawn.table;
        Enumerator enumerator(table, drawn.minima);
        for (int depth = 1; depth <= 3; ++depth) {
            const auto deep = bounds::deeper_than(depth - 2, static_cast<Amount>(drawn.penalty));
            CHECK(deep == depth * static_cast<Amount>(drawn.penalty));
            const auto any = [&](const Rows& side) {
                return whole(enumerator.optimum(side, depth - 1, drawn.penalty));
            };
            const auto just = [&](const Rows& side) {
                return whole(cheapest_deeper(enumerator, table, side, depth - 2, depth - 1, drawn.penalty));
            };
            for_each_split(table, table.all_rows(), [&](const Rows& left, const Rows& right) {
                check_deep_sides(just(left), any(right), deep, n_sharp);
                check_deep_sides(any(left), just(right), deep, n_sharp);
            });
        }
    }
    CHECK(n_sharp > 0);
}

TEST(bounds_of_gains_inside_a_group_hold_and_are_reached) {
    // Rows of either label, in any order: what a stump gains that cuts them anywhere inside a group. Amounts of zero
    // and groups of one code are among them.
    Random random(47);
    int n_reached = 0;
    for (int n = 0; n < 2000; ++n) {
        std::vector<Amount> balances(static_cast<std::size_t>(pick(random, 2, 9)));
        std::generate(balances.begin(), balances.end(), [&] { return pick(random, -4, 4); });
        const int n_rows = static_cast<int>(balances.size());
        const auto sum = [&](int from, int to, int sign) {
            Amount total = 0;
            for (int row = from; row < to; ++row) {
                const Amount balance = balances[static_cast<std::size_t>(row)];
                total += sign * balance > 0 || sign == 0 ? balance : 0;
            }
            return total;
        };
        const int begin = pick(random, 0, n_rows - 1);
        const int end = pick(random, begin + 1, n_rows);
        const Amount all = sum(0, n_rows, 0);
        const Amount bound =
            bounds::gain_inside_group(sum(0, begin, 1) + sum(0, end, -1), sum(0, end, 1) + sum(0, begin, -1), all);
        Amount most = 0;
        for (int cut = begin; cut <= end; ++cut) {
            const Amount left = sum(0, cut, 0);
            most = std::max(most, std::abs(left) + std::abs(all - left));
        }
        CHECK(most <= bound);
        n_reached += most == bound ? 1 : 0;
    }
    CHECK(n_reached > 200);
}

TEST(bounds_on_leaves_hold_and_are_reached) {
    Random random(3);
    int n_reached = 0;
    for (int n = 0; n < 60; ++n) {
        const Case drawn = draw_case(random, chance(random, 0.5));
        describe(drawn.text);
        Enumerator enumerator(drawn.table, drawn.minima);
        const auto penalty = static_cast<Amount>(drawn.penalty);
        for (int depth = 0; depth < 3; ++depth) {
            const Rows all = drawn.table.all_rows();
            const Amount least = whole(cheapest_deeper(enumerator, drawn.table, all, depth, 3, drawn.penalty));
            CHECK(least >= bounds::deeper_than(depth, penalty));
            CHECK(least >= bounds::split(penalty));
            n_reached += least == bounds::deeper_than(depth, penalty) && penalty > 0 ? 1 : 0;
            for (Amount budget = 0; budget < 30; ++budget) {
                const int deepest = bounds::deepest_below(budget, 3, penalty);
                CHECK(deepest >= 0 && deepest <= 3);
                CHECK(deepest > depth || least >= budget);  // what is deeper than `depth` is cut off
                CHECK(deepest == 3 || bounds::deeper_than(deepest, penalty) >= budget);
            }
        }
    }
    CHECK(n_reached > 0);
    // A chain: labels alternate along one axis, and each further split frees one more run.
    const Table chain = one_axis({0, 1, 2, 3, 4}, {0, 1, 0, 1, 0});
    Enumerator enumerator(chain);
    CHECK(enumerator.front(chain.all_rows(), 4)[4] == 0.0);
    CHECK(enumerator.front(chain.all_rows(), 4)[3] > 0.0);
    CHECK(bounds::deeper_than(3, 7) == 5 * 7);
    CHECK(bounds::split(7) == 2 * 7);
}

namespace {

// Fewest leaves of a tree of exactly this depth, over all shapes.
int fewest_leaves(int depth) {
    if (depth == 0) {
        return 1;
    }
    int fewest = std::numeric_limits<int>::max();
    for (int other = 0; other < depth; ++other) {
        fewest = std::min(fewest, fewest_leaves(depth - 1) + fewest_leaves(other));
    }
    return fewest;
}

}  // namespace

TEST(bounds_of_a_price_hold_and_are_reached) {
    Random random(4);
    int n_reached = 0;
    for (int n = 0; n < 60; ++n) {
        const Case drawn = draw_case(random, chance(random, 0.5));
        describe(drawn.text);
        Enumerator enumerator(drawn.table, drawn.minima);
        const Rows all = drawn.table.all_rows();
        const auto penalty = static_cast<Amount>(drawn.penalty);
        for (Amount above = 0; above < 4; ++above) {
            const double price = drawn.penalty + static_cast<double>(above);
            const Amount at_price = whole(enumerator.optimum(all, 3, price));
            for (int leaves = 1; leaves < 6; ++leaves) {
                const Amount least = whole(enumerator.optimum(all, 3, drawn.penalty, leaves));
                CHECK(bounds::priced(at_price, above, leaves) <= least);
                n_reached += above > 0 && bounds::priced(at_price, above, leaves) == least ? 1 : 0;
            }
        }
        CHECK(bounds::priced(penalty, 0, 5) == penalty);
    }
    CHECK(n_reached > 0);
    // A price of the size of the total, for more leaves than 64 bits have room for.
    constexpr Amount total = Amount{1} << 56;
    for (const Amount leaves : {129, 602, 1486, 1 << 29}) {
        CHECK(bounds::priced(total, total / 3, leaves) == 0);
        CHECK(bounds::deeper_than(static_cast<int>(leaves), total) == unreachable);
        CHECK(times(leaves, total) == unreachable);
    }
    CHECK(times(15, total) == 15 * total);
}

TEST(bounds_depth_counts_the_leaves_of_every_shape) {
    for (int depth = 0; depth < 7; ++depth) {
        for (int deeper = depth + 1; deeper < 8; ++deeper) {
            CHECK(bounds::deeper_than(depth, 3) <= 3 * fewest_leaves(deeper));
        }
        CHECK(bounds::deeper_than(depth, 3) == 3 * fewest_leaves(depth + 1));
    }
}

}  // namespace certree::test
