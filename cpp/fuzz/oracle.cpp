#include "fuzz/oracle.hpp"

#include <bit>

namespace certree::fuzz {

namespace {

constexpr Real infinite = std::numeric_limits<Real>::infinity();
constexpr std::size_t most_labels = 8;
constexpr std::size_t most_arms = 4;
constexpr int most_masked_rows = 12;
constexpr int most_listed_depth = 3;

// What the rows of a leaf add up to.
struct Sums {
    std::array<Real, most_labels> cost{};
    std::array<int, most_arms> arms{};
    Real weight = 0;
    int n_rows = 0;

    void add(const Table& table, int row) {
        for (int k = 0; k < table.n_labels; ++k) {
            cost[static_cast<std::size_t>(k)] += table.cost(row, k);
        }
        weight += table.weights[static_cast<std::size_t>(row)];
        ++n_rows;
        if (table.n_arms > 0) {
            ++arms[static_cast<std::size_t>(table.arms[static_cast<std::size_t>(row)])];
        }
    }
    void add(const Table& table, const Sums& other) {
        for (std::size_t k = 0; k < static_cast<std::size_t>(table.n_labels); ++k) {
            cost[k] += other.cost[k];
        }
        for (std::size_t arm = 0; arm < static_cast<std::size_t>(table.n_arms); ++arm) {
            arms[arm] += other.arms[arm];
        }
        weight += other.weight;
        n_rows += other.n_rows;
    }
};

// One problem, with leaves of doubtful weight allowed or not.
class Oracle {
public:
    Oracle(const Table& table, const Constraints& constraints, Real penalty, Real doubt)
        : table_(table), constraints_(constraints), penalty_(penalty), least_weight_(constraints.min_weight_leaf) {
        least_weight_ += doubt;
    }

    std::optional<Real> optimum();

private:
    using Front = std::array<Real, std::size_t{1} << most_listed_depth>;  // least cost of at most m + 1 leaves

    Real cheapest(const Sums& sums) const {
        return *std::min_element(sums.cost.begin(), sums.cost.begin() + table_.n_labels);
    }
    Real leaf(const Sums& sums) const {
        bool keeps = sums.n_rows >= constraints_.min_samples_leaf;
        keeps = keeps && (constraints_.min_weight_leaf <= 0.0 || sums.weight >= least_weight_);
        for (int arm = 0; arm < table_.n_arms; ++arm) {
            keeps = keeps && sums.arms[static_cast<std::size_t>(arm)] >= constraints_.min_samples_arm;
        }
        return keeps ? cheapest(sums) : infinite;
    }
    Sums sum(const test::Rows& rows) const {
        Sums sums;
        for (const int row : rows) {
            sums.add(table_, row);
        }
        return sums;
    }

    Real by_masks();
    Real best(std::uint32_t rows, int depth, int leaves);
    Real by_intervals() const;
    Real by_lists() const;
    Front front(const test::Rows& rows, int depth) const;
    void add_stumps(const test::Rows& rows, int axis, Front& front) const;

    const Table& table_;
    const Constraints& constraints_;
    Real penalty_;
    Real least_weight_;

    // Of masks: every test as the rows it holds on, and what is known by leaves, depth and rows.
    std::vector<std::uint32_t> tests_;
    int most_depth_ = 0;
    struct Memo {
        std::vector<Real> value;
        std::vector<std::uint32_t> stamp;
        std::uint32_t now = 0;
    };
    static Memo& memo() {
        static thread_local Memo memo;
        return memo;
    }
};

Real Oracle::by_masks() {
    const std::uint32_t all = (std::uint32_t{1} << table_.n_rows) - 1;
    for (int axis = 0; axis < table_.n_axes(); ++axis) {
        for (int test = 0; test < table_.n_tests(axis); ++test) {
            std::uint32_t holds = 0;
            for (int row = 0; row < table_.n_rows; ++row) {
                holds |= static_cast<std::uint32_t>(table_.holds(axis, test, row) ? 1 : 0) << row;
            }
            if (holds != 0 && holds != all) {
                tests_.push_back(holds);
            }
        }
    }
    most_depth_ = table_.n_rows - 1;
    if (constraints_.max_depth >= 0) {
        most_depth_ = std::min(most_depth_, constraints_.max_depth);
    }
    const int leaves = constraints_.max_leaves > 0 ? std::min(constraints_.max_leaves, table_.n_rows) : 0;
    Memo& known = memo();
    const auto size = static_cast<std::size_t>((leaves + 1) * (most_depth_ + 1)) << table_.n_rows;
    if (known.value.size() < size) {
        known.value.resize(size);
        known.stamp.assign(size, 0);
        known.now = 0;
    }
    ++known.now;
    return best(all, most_depth_, leaves);
}

// Least cost of a tree of at most this depth and so many leaves, 0: any.
Real Oracle::best(std::uint32_t rows, int depth, int leaves) {
    const int n_rows = std::popcount(rows);
    depth = std::min(depth, n_rows - 1);
    leaves = std::min(leaves, n_rows);
    Memo& known = memo();
    const auto at = (static_cast<std::size_t>(leaves * (most_depth_ + 1) + depth) << table_.n_rows) |
                    static_cast<std::size_t>(rows);
    if (known.stamp[at] == known.now) {
        return known.value[at];
    }
    Sums sums;
    for (std::uint32_t rest = rows; rest != 0; rest &= rest - 1) {
        sums.add(table_, std::countr_zero(rest));
    }
    Real value = leaf(sums) + penalty_;
    for (std::size_t t = 0; t < tests_.size() && depth > 0 && leaves != 1; ++t) {
        const std::uint32_t left = rows & tests_[t];
        const std::uint32_t right = rows & ~tests_[t];
        if (left == 0 || right == 0) {
            continue;
        }
        if (leaves == 0) {
            value = std::min(value, best(left, depth - 1, 0) + best(right, depth - 1, 0));
        }
        for (int n = 1; n < leaves; ++n) {
            value = std::min(value, best(left, depth - 1, n) + best(right, depth - 1, leaves - n));
        }
    }
    known.stamp[at] = known.now;
    known.value[at] = value;
    return value;
}

// On one ordered axis a tree is a partition into intervals, and every partition into m of them is a tree of any depth
// d with 2^d >= m.
Real Oracle::by_intervals() const {
    const int n_codes = table_.sizes[0];
    std::vector<Sums> by_code(static_cast<std::size_t>(n_codes));
    for (int row = 0; row < table_.n_rows; ++row) {
        by_code[static_cast<std::size_t>(table_.code(0, row))].add(table_, row);
    }
    std::erase_if(by_code, [](const Sums& sums) { return sums.n_rows == 0; });
    const auto n = by_code.size();
    std::size_t most_leaves = n;
    if (constraints_.max_leaves > 0) {
        most_leaves = std::min(most_leaves, static_cast<std::size_t>(constraints_.max_leaves));
    }
    if (constraints_.max_depth >= 0 && constraints_.max_depth < 20) {
        most_leaves = std::min(most_leaves, std::size_t{1} << constraints_.max_depth);
    }
    std::vector<Real> leaf_from_to(n * n, infinite);
    for (std::size_t from = 0; from < n; ++from) {
        Sums sums;
        for (std::size_t to = from; to < n; ++to) {
            sums.add(table_, by_code[to]);
            leaf_from_to[from * n + to] = leaf(sums) + penalty_;
        }
    }
    // Before code j: the least cost of at most m leaves.
    std::vector<Real> before(n + 1, infinite);
    before[0] = 0;
    for (std::size_t m = 0; m < most_leaves; ++m) {
        std::vector<Real> next = before;
        for (std::size_t to = 0; to < n; ++to) {
            for (std::size_t from = 0; from <= to; ++from) {
                next[to + 1] = std::min(next[to + 1], before[from] + leaf_from_to[from * n + to]);
            }
        }
        if (next == before) {
            break;
        }
        before = std::move(next);
    }
    return before[n];
}

Real Oracle::by_lists() const {
    const Front costs = front(table_.all_rows(), constraints_.max_depth);
    Real value = infinite;
    for (std::size_t m = 0; m < costs.size(); ++m) {
        const auto leaves = static_cast<int>(m) + 1;
        if (constraints_.max_leaves == 0 || leaves <= constraints_.max_leaves) {
            value = std::min(value, costs[m] + penalty_ * leaves);
        }
    }
    return value;
}

Oracle::Front Oracle::front(const test::Rows& rows, int depth) const {
    Front costs;
    costs.fill(infinite);
    costs[0] = leaf(sum(rows));
    for (int axis = 0; axis < table_.n_axes() && depth > 0; ++axis) {
        if (depth == 1) {
            add_stumps(rows, axis, costs);
            continue;
        }
        for (int test = 0; test < table_.n_tests(axis); ++test) {
            test::Rows sides[2];
            for (const int row : rows) {
                sides[table_.holds(axis, test, row) ? 0 : 1].push_back(row);
            }
            if (sides[0].empty() || sides[1].empty()) {
                continue;
            }
            const Front left = front(sides[0], depth - 1);
            const Front right = front(sides[1], depth - 1);
            const std::size_t width = std::size_t{1} << (depth - 1);
            for (std::size_t i = 0; i < width; ++i) {
                for (std::size_t j = 0; j < width; ++j) {
                    costs[i + j + 1] = std::min(costs[i + j + 1], left[i] + right[j]);
                }
            }
        }
    }
    return costs;
}

void Oracle::add_stumps(const test::Rows& rows, int axis, Front& front) const {
    const bool is_categorical = table_.categorical[static_cast<std::size_t>(axis)] != 0;
    std::vector<Sums> by_code(static_cast<std::size_t>(table_.sizes[static_cast<std::size_t>(axis)]));
    for (const int row : rows) {
        by_code[static_cast<std::size_t>(table_.code(axis, row))].add(table_, row);
    }
    // Sums of the codes from each one on: the right side of an ordered test, added up rather than taken away.
    std::vector<Sums> after(by_code.size() + 1);
    for (std::size_t c = by_code.size(); c-- > 0;) {
        after[c] = after[c + 1];
        after[c].add(table_, by_code[c]);
    }
    Sums before;
    for (int test = 0; test < table_.n_tests(axis); ++test) {
        const auto c = static_cast<std::size_t>(test);
        Sums left = by_code[c];
        Sums right = after[c + 1];
        (is_categorical ? right : left).add(table_, before);
        before.add(table_, by_code[c]);
        if (left.n_rows > 0 && right.n_rows > 0) {
            front[1] = std::min(front[1], leaf(left) + leaf(right));
        }
    }
}

std::optional<Real> Oracle::optimum() {
    // A lone leaf is always allowed.
    const Real lone = cheapest(sum(table_.all_rows())) + penalty_;
    if (table_.n_rows <= most_masked_rows) {
        return std::min(lone, by_masks());
    }
    if (table_.n_axes() == 1 && table_.categorical[0] == 0) {
        return std::min(lone, by_intervals());
    }
    if (constraints_.max_depth >= 0 && constraints_.max_depth <= most_listed_depth) {
        return std::min(lone, by_lists());
    }
    return std::nullopt;
}

}  // namespace

Real doubt_of_weights(const Table& table, const Constraints& constraints) {
    if (constraints.min_weight_leaf <= 0.0) {
        return 0;
    }
    Real total = 0;
    bool is_on_grid = constraints.min_weight_leaf * 0x1p20 == std::floor(constraints.min_weight_leaf * 0x1p20);
    for (const double weight : table.weights) {
        total += weight;
        is_on_grid = is_on_grid && weight * 0x1p20 == std::floor(weight * 0x1p20);
    }
    // The engine sums weights on a grid of 2^-62 of their total.
    return is_on_grid && total < 0x1p40 ? 0 : total * table.n_rows * 0x1p-60L;
}

std::optional<Optimum> enumerate(const Table& table, const Constraints& constraints, Real penalty) {
    const Real doubt = doubt_of_weights(table, constraints);
    const std::optional<Real> least = Oracle(table, constraints, penalty, -doubt).optimum();
    if (!least) {
        return std::nullopt;
    }
    return Optimum{*least, doubt > 0 ? *Oracle(table, constraints, penalty, doubt).optimum() : *least};
}

}  // namespace certree::fuzz
