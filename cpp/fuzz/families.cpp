#include "fuzz/families.hpp"

namespace certree::fuzz {

namespace {

using test::chance;
using test::pick;
using test::uniform;

constexpr int n_switches = static_cast<int>(std::size(all_switches));

// How amounts are drawn. Small whole ones make ties, and ties are where a bound that is off by a little goes wrong.
enum class Amounts { zero_or_one, small, large, spread, scales, close };

double draw_amount(Random& random, Amounts kind) {
    switch (kind) {
    case Amounts::zero_or_one: return pick(random, 0, 1);
    case Amounts::small: return pick(random, 0, 4);
    case Amounts::large: return pick(random, 1, 1000000);
    case Amounts::spread: return std::lognormal_distribution<double>(0.0, 1.0)(random);
    case Amounts::scales: return std::pow(10.0, uniform(random, -9.0, 15.0));
    case Amounts::close: return 0x1p40 + pick(random, 0, 3);
    }
    return 1.0;
}

struct Shape {
    int n_rows = 8;
    int n_labels = 2;
    bool is_classification = true;
    Amounts amounts = Amounts::small;
    int n_arms = 0;
    double signal = 0.5;  // how much of the labels the columns explain
};

void add_axis(Random& random, Table& table, int n_rows, int size, bool is_categorical) {
    table.sizes.push_back(size);
    table.categorical.push_back(is_categorical ? 1 : 0);
    for (int i = 0; i < n_rows; ++i) {
        table.codes.push_back(pick(random, 0, size - 1));
    }
}

// Some weight there must be.
void give_weight(Table& table) {
    if (table.normaliser() > 0.0) {
        return;
    }
    table.weights[0] = 1.0;
    for (int k = 0; k < table.n_labels && table.is_classification; ++k) {
        table.costs[static_cast<std::size_t>(k)] = k == table.labels[0] ? 0.0 : 1.0;
    }
}

// Labels, weights, costs and arms, once there are axes.
void fill_rows(Random& random, const Shape& shape, Table& table) {
    table.n_rows = shape.n_rows;
    table.n_labels = shape.n_labels;
    table.is_classification = shape.is_classification;
    table.n_arms = shape.n_arms;
    const bool has_weights = shape.is_classification || chance(random, 0.3);
    for (int i = 0; i < shape.n_rows; ++i) {
        int hint = 0;
        for (int a = 0; a < std::min(table.n_axes(), 3); ++a) {
            hint += 2 * table.code(a, i) >= table.sizes[static_cast<std::size_t>(a)] ? a + 1 : 0;
        }
        const bool is_explained = chance(random, shape.signal);
        table.labels.push_back(is_explained ? hint % shape.n_labels : pick(random, 0, shape.n_labels - 1));
        const bool is_unit = shape.amounts == Amounts::zero_or_one || !has_weights;
        table.weights.push_back(is_unit ? 1.0 : draw_amount(random, shape.amounts));
        if (shape.n_arms > 0) {
            table.arms.push_back(pick(random, 0, shape.n_arms - 1));
        }
    }
    for (int i = 0; i < shape.n_rows; ++i) {
        const auto row = static_cast<std::size_t>(i);
        for (int k = 0; k < shape.n_labels; ++k) {
            const bool is_own = k == table.labels[row];
            table.costs.push_back(shape.is_classification ? (is_own ? 0.0 : table.weights[row])
                                                          : draw_amount(random, shape.amounts));
        }
    }
    give_weight(table);
}

// λ as a multiple of an eighth of a unit, so that it ties with whole amounts; or any share of the whole.
void draw_penalty(Random& random, Problem& problem) {
    Options& options = problem.options;
    const Table& table = problem.table;
    options.normaliser = table.is_classification ? 0.0 : chance(random, 0.5) ? 1.0 : table.n_rows;
    const double normaliser = options.normaliser > 0.0 ? options.normaliser : table.normaliser();
    if (chance(random, 0.6)) {
        options.regularization = pick(random, 0, 8) / 8.0 / normaliser;
    } else {
        constexpr double shares[] = {0.0, 1e-12, 1e-6, 0.003, 0.02, 0.1, 0.3, 5.0};
        options.regularization = shares[pick(random, 0, 7)] * table.worst(table.all_rows()) / normaliser;
    }
}

std::uint32_t draw_switches(Random& random) {
    if (chance(random, 0.5)) {
        return 0;
    }
    std::uint32_t off = 0;
    for (int n = pick(random, 1, 4); n > 0; --n) {
        off |= 1U << pick(random, 0, n_switches - 1);
    }
    return off;
}

Shape draw_shape(Random& random) {
    Shape shape;
    shape.n_rows = pick(random, 2, 10);
    shape.n_labels = chance(random, 0.4) ? 2 : pick(random, 3, 5);
    shape.is_classification = chance(random, 0.4);
    constexpr Amounts kinds[] = {Amounts::zero_or_one, Amounts::zero_or_one, Amounts::small,
                                 Amounts::small,       Amounts::large,       Amounts::spread};
    shape.amounts = kinds[pick(random, 0, 5)];
    shape.signal = uniform(random, 0.0, 1.0);
    return shape;
}

void draw_small_axes(Random& random, int n_rows, Table& table, double share_categorical = 0.2) {
    for (int n = pick(random, 1, 4); n > 0; --n) {
        const int size = pick(random, 2, 5);
        add_axis(random, table, n_rows, size, size > 2 && chance(random, share_categorical));
    }
}

Problem draw_of(Random& random, const Shape& shape) {
    Problem problem;
    draw_small_axes(random, shape.n_rows, problem.table);
    fill_rows(random, shape, problem.table);
    draw_penalty(random, problem);
    problem.options.constraints.max_depth = std::min(pick(random, 0, 6), 5);
    problem.options.switches = draw_switches(random);
    return problem;
}

Problem draw_plain(Random& random) {
    return draw_of(random, draw_shape(random));
}

Problem draw_labels(Random& random) {
    Shape shape = draw_shape(random);
    shape.is_classification = true;
    return draw_of(random, shape);
}

Problem draw_costs(Random& random) {
    Shape shape = draw_shape(random);
    shape.is_classification = false;
    return draw_of(random, shape);
}

void limit_leaves(Random& random, Problem& problem) {
    problem.options.constraints.max_leaves = pick(random, 1, 8);
}

void limit_samples(Random& random, Problem& problem) {
    problem.options.constraints.min_samples_leaf = pick(random, 2, 4);
}

// Often what some rows weigh exactly: one unit more, and they are no leaf.
void limit_weight(Random& random, Problem& problem) {
    double least = 0.0;
    for (const double weight : problem.table.weights) {
        least += chance(random, 0.3) ? weight : 0.0;
    }
    if (least == 0.0 || chance(random, 0.4)) {
        least = chance(random, 0.7) ? pick(random, 1, 4) : uniform(random, 0.0, 0.6) * problem.table.normaliser();
    }
    problem.options.constraints.min_weight_leaf = least;
}

void limit_arms(Random& random, Problem& problem) {
    Table& table = problem.table;
    table.n_arms = pick(random, 1, 3);
    for (int i = 0; i < table.n_rows; ++i) {
        table.arms.push_back(pick(random, 0, table.n_arms - 1));
    }
    problem.options.constraints.min_samples_arm = pick(random, 1, 2);
}

template <void (*limit)(Random&, Problem&)>
Problem draw_limited(Random& random) {
    Problem problem = draw_plain(random);
    limit(random, problem);
    return problem;
}

Problem draw_all_limits(Random& random) {
    Problem problem = draw_plain(random);
    constexpr void (*limits[])(Random&, Problem&) = {limit_leaves, limit_samples, limit_weight, limit_arms};
    for (const auto& limit : limits) {
        if (chance(random, 0.6)) {
            limit(random, problem);
        }
    }
    return problem;
}

// Some limits, as other families have them by the way.
void limit_some(Random& random, Problem& problem) {
    if (chance(random, 0.2)) {
        limit_leaves(random, problem);
    }
    if (chance(random, 0.2)) {
        limit_samples(random, problem);
    }
    if (chance(random, 0.1)) {
        limit_weight(random, problem);
    }
}

// Rows that repeat others, columns that repeat others, and costs that are alike.
Problem draw_ties(Random& random) {
    Shape shape = draw_shape(random);
    shape.amounts = Amounts::zero_or_one;
    Problem problem = draw_of(random, shape);
    Table& table = problem.table;
    for (int n = pick(random, 0, 3); n > 0; --n) {
        const int from = pick(random, 0, table.n_rows - 1);
        const int to = pick(random, 0, table.n_rows - 1);
        for (int a = 0; a < table.n_axes(); ++a) {
            const auto first = static_cast<std::size_t>(a * table.n_rows);
            table.codes[first + static_cast<std::size_t>(to)] = table.codes[first + static_cast<std::size_t>(from)];
        }
    }
    if (chance(random, 0.3)) {
        const auto axis = static_cast<std::size_t>(pick(random, 0, table.n_axes() - 1));
        const auto n_rows = static_cast<std::size_t>(table.n_rows);
        const std::vector<std::int32_t> codes(table.codes.begin() + static_cast<std::ptrdiff_t>(axis * n_rows),
                                              table.codes.begin() + static_cast<std::ptrdiff_t>((axis + 1) * n_rows));
        const int size = table.sizes[axis];
        for (const std::int32_t code : codes) {
            table.codes.push_back(chance(random, 0.9) ? size - 1 - code : code);
        }
        table.sizes.push_back(size);
        table.categorical.push_back(0);
    }
    limit_some(random, problem);
    return problem;
}

Problem draw_zeros(Random& random) {
    Problem problem = draw_plain(random);
    Table& table = problem.table;
    const double share = uniform(random, 0.1, 1.0);
    for (int i = 0; i < table.n_rows; ++i) {
        if (!chance(random, share)) {
            continue;
        }
        const auto row = static_cast<std::size_t>(i);
        const auto n_labels = static_cast<std::size_t>(table.n_labels);
        const double value = chance(random, 0.5) ? 0.0 : table.costs[row * n_labels];
        const auto first = table.costs.begin() + static_cast<std::ptrdiff_t>(row * n_labels);
        if (!table.is_classification) {
            std::fill_n(first, table.n_labels, value);
        } else {
            table.weights[row] = 0.0;
            std::fill_n(first, table.n_labels, 0.0);
        }
    }
    give_weight(table);
    limit_some(random, problem);
    return problem;
}

Problem draw_scales(Random& random) {
    Shape shape = draw_shape(random);
    shape.amounts = chance(random, 0.5) ? Amounts::scales : chance(random, 0.5) ? Amounts::close : Amounts::spread;
    Problem problem = draw_of(random, shape);
    Table& table = problem.table;
    const int kind = pick(random, 0, 3);
    // One heavy row, or a range of 2^40 of powers of two, or all of it far from one.
    for (int i = 0; i < table.n_rows && kind > 0; ++i) {
        const double factor = kind == 1   ? (i == 0 ? 1e13 : 1.0)
                              : kind == 2 ? std::ldexp(1.0, pick(random, 0, 40))
                                          : std::pow(10.0, table.n_rows % 2 == 0 ? 200.0 : -200.0);
        const auto row = static_cast<std::size_t>(i);
        table.weights[row] *= factor;
        for (int k = 0; k < table.n_labels; ++k) {
            table.costs[row * static_cast<std::size_t>(table.n_labels) + static_cast<std::size_t>(k)] *= factor;
        }
    }
    draw_penalty(random, problem);
    limit_some(random, problem);
    return problem;
}

Problem draw_any_depth(Random& random) {
    Problem problem = draw_plain(random);
    problem.options.constraints.max_depth = -1;
    limit_some(random, problem);
    return problem;
}

Problem draw_categories(Random& random) {
    const Shape shape = draw_shape(random);
    Problem problem;
    draw_small_axes(random, shape.n_rows, problem.table, 0.8);
    add_axis(random, problem.table, shape.n_rows, pick(random, 3, 6), true);
    fill_rows(random, shape, problem.table);
    draw_penalty(random, problem);
    problem.options.constraints.max_depth = pick(random, 1, 5);
    problem.options.switches = draw_switches(random);
    limit_some(random, problem);
    return problem;
}

// Two-valued axes: every order of the same tests meets the same rows, so what was remembered is asked for.
Problem draw_two_valued(Random& random) {
    Shape shape = draw_shape(random);
    shape.n_rows = pick(random, 6, 12);
    Problem problem;
    for (int n = pick(random, 3, 6); n > 0; --n) {
        add_axis(random, problem.table, shape.n_rows, 2, false);
    }
    fill_rows(random, shape, problem.table);
    draw_penalty(random, problem);
    problem.options.constraints.max_depth = pick(random, 3, 5);
    problem.options.switches = draw_switches(random);
    // A search without aids leaves more to what it remembers: a good first tree hides most of what goes wrong.
    if (chance(random, 0.3)) {
        problem.options.switches |= no_deepening | no_greedy | (chance(random, 0.5) ? no_leaf_bound : 0U);
    }
    limit_some(random, problem);
    return problem;
}

// Costs of a reference's predictions, right or wrong.
Problem draw_guesses(Random& random) {
    Problem problem = draw_plain(random);
    limit_some(random, problem);
    Table& table = problem.table;
    const double share_wrong = uniform(random, 0.0, 0.7);
    for (int i = 0; i < table.n_rows; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const int label = chance(random, share_wrong) ? pick(random, 0, table.n_labels - 1) : table.labels[row];
        table.reference.push_back(table.cost(i, label));
    }
    problem.options.has_reference = true;
    if (chance(random, 0.2)) {
        problem.options.n_asked = pick(random, 0, 60);
    }
    return problem;
}

Problem draw_one_switch(Random& random) {
    Problem problem = draw_plain(random);
    limit_some(random, problem);
    problem.options.switches = 1U << pick(random, 0, n_switches - 1);
    return problem;
}

Problem draw_many_switches(Random& random) {
    Problem problem = draw_plain(random);
    limit_some(random, problem);
    problem.options.switches = std::uniform_int_distribution<std::uint32_t>(0, (1U << n_switches) - 1)(random);
    return problem;
}

Problem draw_short_of_memory(Random& random) {
    Problem problem = chance(random, 0.5) ? draw_two_valued(random) : draw_plain(random);
    limit_some(random, problem);
    problem.options.memory_bytes = static_cast<std::int64_t>(std::pow(10.0, uniform(random, 0.0, 5.5)));
    return problem;
}

Problem draw_two_threads(Random& random) {
    Problem problem = chance(random, 0.5) ? draw_two_valued(random) : draw_plain(random);
    limit_some(random, problem);
    problem.options.n_threads = pick(random, 2, 3);
    return problem;
}

// Root tests are looked at by another search, which knows only what it is asked.
Problem draw_elsewhere(Random& random) {
    Problem problem = draw_plain(random);
    limit_some(random, problem);
    problem.options.switches |= no_cost_model | (chance(random, 0.5) ? no_triples | no_coarse : 0U);
    problem.options.n_elsewhere = chance(random, 0.8) ? 1 : 2;
    problem.options.n_asked = chance(random, 0.2) ? pick(random, 0, 60) : -1;
    return problem;
}

// One long ordered axis, on which any number of leaves can be enumerated; the search may not get to the end of it.
Problem draw_many_leaves(Random& random) {
    Shape shape = draw_shape(random);
    shape.n_rows = pick(random, 20, 260);
    shape.n_labels = chance(random, 0.7) ? 2 : 3;
    shape.signal = 0.0;
    shape.amounts = chance(random, 0.5) ? Amounts::scales : shape.amounts;
    Problem problem;
    add_axis(random, problem.table, shape.n_rows, pick(random, 10, shape.n_rows), false);
    fill_rows(random, shape, problem.table);
    draw_penalty(random, problem);
    Options& options = problem.options;
    if (chance(random, 0.7)) {
        options.regularization *= pick(random, 0, 1) * 1e-3;
    }
    options.constraints.max_depth = chance(random, 0.3) ? -1 : pick(random, 4, 8);
    options.constraints.max_leaves = chance(random, 0.8) ? pick(random, 8, shape.n_rows) : 0;
    options.constraints.min_samples_leaf = chance(random, 0.2) ? pick(random, 2, 4) : 1;
    options.switches = draw_switches(random);
    options.n_asked = pick(random, 0, 3000);
    return problem;
}

// Axes of hundreds of values, at depth two: segment trees, coarse tables and groups of codes.
Problem draw_long_axes(Random& random) {
    Shape shape = draw_shape(random);
    shape.n_rows = pick(random, 30, 120);
    shape.amounts = chance(random, 0.2) ? Amounts::close : shape.amounts;
    Problem problem;
    for (int n = pick(random, 1, 3); n > 0; --n) {
        add_axis(random, problem.table, shape.n_rows, pick(random, 8, 70), false);
    }
    if (chance(random, 0.4)) {
        add_axis(random, problem.table, shape.n_rows, pick(random, 2, 6), chance(random, 0.5));
    }
    fill_rows(random, shape, problem.table);
    draw_penalty(random, problem);
    problem.options.constraints.max_depth = pick(random, 1, 2);
    problem.options.switches =
        draw_switches(random) | (chance(random, 0.4) ? no_cost_model : 0U) | (chance(random, 0.2) ? no_tables : 0U);
    limit_some(random, problem);
    return problem;
}

// Depth three on some tens of rows: triples, intervals and side stumps.
Problem draw_depth_three(Random& random) {
    Shape shape = draw_shape(random);
    shape.n_rows = pick(random, 13, 60);
    shape.amounts = chance(random, 0.2) ? Amounts::close : shape.amounts;
    Problem problem;
    for (int n = pick(random, 2, 4); n > 0; --n) {
        const int size = chance(random, 0.3) ? 2 : pick(random, 3, 9);
        add_axis(random, problem.table, shape.n_rows, size, size > 2 && chance(random, 0.2));
    }
    fill_rows(random, shape, problem.table);
    draw_penalty(random, problem);
    problem.options.constraints.max_depth = 3;
    problem.options.switches = draw_switches(random) | (chance(random, 0.4) ? no_cost_model : 0U);
    limit_some(random, problem);
    return problem;
}

// Depth two and three by sums over cells, under every minimum; they are used where the number of merged rows is even at
// depth three, and a multiple of three at depth two.
Problem draw_cells(Random& random) {
    Problem problem = chance(random, 0.5) ? draw_two_valued(random) : draw_plain(random);
    constexpr void (*minima[])(Random&, Problem&) = {limit_samples, limit_weight, limit_arms};
    for (const auto limit : minima) {
        if (chance(random, 0.3)) {
            limit(random, problem);
        }
    }
    problem.options.constraints.max_depth = chance(random, 0.7) ? 3 : 2;
    problem.options.constraints.max_leaves = 0;
    problem.options.switches = no_cost_model | (chance(random, 0.5) ? no_relaxation | no_greedy : 0U);
    problem.options.n_threads = chance(random, 0.1) ? 2 : 1;
    problem.options.n_asked = chance(random, 0.1) ? pick(random, 0, 60) : -1;
    return problem;
}

// Stopped anywhere; at depth three often between two slices of a closed form.
Problem draw_stopped(Random& random) {
    const bool is_sliced = chance(random, 0.1);
    Problem problem = is_sliced             ? draw_depth_three(random)
                      : chance(random, 0.5) ? draw_two_valued(random)
                                            : draw_plain(random);
    if (is_sliced) {
        problem.options.switches |= chance(random, 0.7) ? no_cost_model : 0U;
    } else {
        limit_some(random, problem);
    }
    problem.options.n_asked = chance(random, 0.5) ? pick(random, 0, 12) : pick(random, 0, 200);
    problem.options.n_threads = chance(random, 0.1) ? 2 : 1;
    return problem;
}

// Deeper than enumeration reaches: the engine against itself, with other switches off.
Problem draw_deep(Random& random) {
    Problem problem = draw_depth_three(random);
    problem.options.constraints.max_depth = pick(random, 4, 6);
    problem.options.n_asked = pick(random, 0, 5000);
    return problem;
}

// Columns that repeat others more coarsely, tests not merged: the sides of a root test are met again under another
// axis, and what was remembered of them bounds the neighbours that only the finer column has.
Problem draw_echoes(Random& random) {
    Shape shape = draw_shape(random);
    shape.n_rows = pick(random, 9, 12);
    Problem problem;
    Table& table = problem.table;
    for (int n = pick(random, 1, 2); n > 0; --n) {
        const int size = pick(random, 3, 6);
        add_axis(random, table, shape.n_rows, size, false);
        const auto first = table.codes.size() - static_cast<std::size_t>(shape.n_rows);
        const int cut = pick(random, 0, size - 2);
        for (std::size_t i = 0; i < static_cast<std::size_t>(shape.n_rows); ++i) {
            table.codes.push_back(table.codes[first + i] > cut ? 1 : 0);
        }
        table.sizes.push_back(2);
        table.categorical.push_back(0);
    }
    add_axis(random, table, shape.n_rows, pick(random, 2, 4), false);
    fill_rows(random, shape, table);
    draw_penalty(random, problem);
    problem.options.constraints.max_depth = pick(random, 4, 5);
    problem.options.switches = draw_switches(random) | no_test_merging;
    constexpr void (*minima[])(Random&, Problem&) = {limit_samples, limit_weight, limit_arms};
    minima[pick(random, 0, 2)](random, problem);
    return problem;
}

// Amounts just above and just below half a unit of the grid that 32-bit kernels round to, and a heavy row that makes
// the grid so coarse; two columns that are right about opposite rows. Rounded, the worse one looks better.
Problem draw_rounded(Random& random) {
    Shape shape;
    shape.n_rows = pick(random, 6, 12);
    shape.signal = 1.0;
    Problem problem;
    Table& table = problem.table;
    for (int a = 0; a < 2; ++a) {
        add_axis(random, table, shape.n_rows, 16, false);
    }
    fill_rows(random, shape, table);
    const double is_like_b = uniform(random, 0.0, 0.6);
    for (int i = 0; i < shape.n_rows; ++i) {
        const auto row = static_cast<std::size_t>(i);
        const int label = i < 2 ? i : pick(random, 0, 1);
        const bool is_heavy = i < 2;
        const bool is_b = chance(random, is_like_b);
        const bool is_right[] = {is_heavy || !is_b, is_heavy || is_b};
        for (std::size_t a = 0; a < 2; ++a) {
            const int side = is_right[a] ? label : 1 - label;
            table.codes[a * static_cast<std::size_t>(shape.n_rows) + row] = 8 * side + pick(random, 0, 7);
        }
        const int halves = is_right[0] ? 1 : pick(random, 1, 8);
        const double weight = is_heavy ? 2016.0 : (halves + pick(random, -1, 1) / 64.0) / 2.0;
        table.labels[row] = label;
        table.weights[row] = weight;
        table.costs[2 * row] = label == 0 ? 0.0 : weight;
        table.costs[2 * row + 1] = label == 1 ? 0.0 : weight;
    }
    problem.options.regularization = pick(random, 0, 16) / table.normaliser();
    problem.options.constraints.max_depth = pick(random, 2, 3);
    problem.options.switches = no_fine_grid | no_cost_model;
    return problem;
}

constexpr Family all_families[] = {
    {"labels", 100, draw_labels},
    {"costs", 100, draw_costs},
    {"max_leaves", 80, draw_limited<limit_leaves>},
    {"min_samples_leaf", 80, draw_limited<limit_samples>},
    {"min_weight_leaf", 80, draw_limited<limit_weight>},
    {"min_samples_arm", 60, draw_limited<limit_arms>},
    {"all limits", 100, draw_all_limits},
    {"ties", 100, draw_ties},
    {"zero amounts", 60, draw_zeros},
    {"scales", 80, draw_scales},
    {"any depth", 60, draw_any_depth},
    {"categories", 80, draw_categories},
    {"two-valued", 160, draw_two_valued},
    {"echoes", 40, draw_echoes},
    {"rounded", 80, draw_rounded},
    {"guesses", 80, draw_guesses},
    {"one switch off", 80, draw_one_switch},
    {"many switches off", 80, draw_many_switches},
    {"stopped", 80, draw_stopped},
    {"short of memory", 60, draw_short_of_memory},
    {"two threads", 30, draw_two_threads},
    {"elsewhere", 60, draw_elsewhere},
    {"many leaves", 4, draw_many_leaves},
    {"long axes", 6, draw_long_axes},
    {"depth three", 8, draw_depth_three},
    {"cells", 60, draw_cells},
    {"deep", 3, draw_deep},
};

}  // namespace

std::span<const Family> families() {
    return all_families;
}

}  // namespace certree::fuzz
