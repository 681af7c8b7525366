// Depth two, coarse to fine: which root tests are worth an exact look.
//
// Neighbouring codes of an axis are put into groups of about equal mass of each label (equal total mass would be far
// coarser on the rare label). A table of groups for every pair of axes gives
//   - the exact cost of root and child thresholds that lie between groups: a tree, hence an upper bound U;
//   - for a root threshold anywhere inside group g, a lower bound: rows of g are on neither side, and for a child
//     threshold inside group h rows of h are in neither leaf (bounds::inside_group).
// Root tests whose lower bound exceeds U cannot be optimal. Rounded amounts widen the comparison by their slack.
#include <cmath>
#include <limits>
#include <numeric>

#include "bounds.hpp"
#include "shallow/cost_model.hpp"
#include "shallow/groups.hpp"
#include "shallow/two_labels/gains.hpp"

namespace certree {

namespace {

// Amounts of each label before each group: [h] is the sum over groups 0..h − 1.
struct Sums {
    std::vector<std::int32_t> positive;
    std::vector<std::int32_t> negative;
};

// Equal mass of each label.
Groups group_codes(const LocalAxis& axis, const std::vector<std::int32_t>& amounts, std::int32_t most_groups) {
    Amount all[2] = {0, 0};
    for (const std::int32_t amount : amounts) {
        all[amount > 0 ? 0 : 1] += std::abs(amount);
    }
    float share[2];  // of a label, per unit of its amounts
    for (int label = 0; label < 2; ++label) {
        share[label] = 1.0F / static_cast<float>(std::max<Amount>(1, all[label]));
    }
    return {axis, amounts.size(), most_groups,
            [&](std::size_t i) { return static_cast<float>(std::abs(amounts[i])) * share[amounts[i] > 0 ? 0 : 1]; }};
}

class CoarseTables {
public:
    CoarseTables(const Prepared& prepared, std::int32_t most_groups);

    Runs promising() const;

private:
    void look_at(std::size_t root, std::size_t child, const std::vector<std::int32_t>& positive,
                 const std::vector<std::int32_t>& negative);
    Amount cost_of(std::int32_t leaf, std::int32_t stump) const;

    const Prepared& prepared_;
    std::vector<Groups> groups_;
    std::vector<std::vector<std::uint16_t>> group_;  // of each row, by axis
    std::vector<Sums> sums_;
    std::vector<std::vector<CoarseStumps>> stumps_;  // by root axis and by the number of groups on the left
};

CoarseTables::CoarseTables(const Prepared& prepared, std::int32_t most_groups) : prepared_(prepared) {
    const Local& local = prepared.local;
    const std::vector<std::int32_t>& amounts = prepared.amounts.small;
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max() / 4;
    for (const LocalAxis& axis : local.axes) {
        groups_.push_back(group_codes(axis, amounts, most_groups));
        const Groups& groups = groups_.back();
        group_.emplace_back(amounts.size());
        std::vector<std::uint16_t>& group = group_.back();
        Sums sums;
        sums.positive.assign(static_cast<std::size_t>(groups.size()) + 1, 0);
        sums.negative = sums.positive;
        for (std::size_t i = 0; i < amounts.size(); ++i) {
            group[i] = static_cast<std::uint16_t>(groups.of(axis.codes[i]));
            (amounts[i] > 0 ? sums.positive : sums.negative)[static_cast<std::size_t>(group[i]) + 1] +=
                std::abs(amounts[i]);
        }
        std::partial_sum(sums.positive.begin(), sums.positive.end(), sums.positive.begin());
        std::partial_sum(sums.negative.begin(), sums.negative.end(), sums.negative.begin());
        sums_.push_back(std::move(sums));
        stumps_.emplace_back(static_cast<std::size_t>(groups.size()) + 1, CoarseStumps{most, most, most, most});
    }
    // Cells of a pair of axes, and the same turned round for the other axis as root.
    std::vector<std::int32_t> cells[2];
    std::vector<std::int32_t> turned[2];
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        for (std::size_t b = a; b < local.axes.size(); ++b) {
            if (prepared.control.should_stop()) {
                return;
            }
            const auto n_a = static_cast<std::size_t>(groups_[a].size());
            const auto n_b = static_cast<std::size_t>(groups_[b].size());
            const std::uint16_t* group_a = group_[a].data();
            const std::uint16_t* group_b = group_[b].data();
            for (auto& table : cells) {
                table.assign(n_a * n_b, 0);
            }
            for (std::size_t i = 0; i < amounts.size(); ++i) {
                const std::int32_t amount = amounts[i];
                cells[amount < 0 ? 1 : 0][static_cast<std::size_t>(group_a[i]) * n_b +
                                          static_cast<std::size_t>(group_b[i])] += std::abs(amount);
            }
            look_at(a, b, cells[0], cells[1]);
            if (a == b) {
                continue;
            }
            for (int sign = 0; sign < 2; ++sign) {
                turned[sign].resize(n_a * n_b);
                for (std::size_t i = 0; i < n_a; ++i) {
                    for (std::size_t j = 0; j < n_b; ++j) {
                        turned[sign][j * n_a + i] = cells[sign][i * n_b + j];
                    }
                }
            }
            look_at(b, a, turned[0], turned[1]);
        }
    }
}

void CoarseTables::look_at(std::size_t root, std::size_t child, const std::vector<std::int32_t>& positive,
                           const std::vector<std::int32_t>& negative) {
    const auto n_root = static_cast<std::size_t>(groups_[root].size());
    const auto n_child = static_cast<std::size_t>(groups_[child].size());
    std::vector<std::int32_t> column[2] = {std::vector<std::int32_t>(n_child, 0),
                                           std::vector<std::int32_t>(n_child, 0)};
    std::vector<std::int32_t> before[2] = {std::vector<std::int32_t>(n_child + 1, 0),
                                           std::vector<std::int32_t>(n_child + 1, 0)};
    const std::vector<std::int32_t>* cells[2] = {&positive, &negative};
    for (std::size_t g = 0; g <= n_root; ++g) {
        if (g > 0) {
            for (int sign = 0; sign < 2; ++sign) {
                const std::int32_t* row = cells[sign]->data() + (g - 1) * n_child;
                std::int32_t sum = 0;
                for (std::size_t h = 0; h < n_child; ++h) {
                    column[sign][h] += row[h];
                    sum += column[sign][h];
                    before[sign][h + 1] = sum;
                }
            }
        }
        prepared_.kernels.coarse(static_cast<std::int32_t>(n_child), before[0].data(), before[1].data(),
                                 sums_[child].positive.data(), sums_[child].negative.data(), stumps_[root][g]);
    }
}

// The best of leaf or stump on one side, at the scale of λ.
Amount CoarseTables::cost_of(std::int32_t leaf, std::int32_t stump) const {
    const int shift = prepared_.amounts.shift;
    const Amount penalty = prepared_.penalty;
    return std::min((Amount{leaf} << shift) + penalty, (Amount{stump} << shift) + 2 * penalty);
}

Runs CoarseTables::promising() const {
    const Local& local = prepared_.local;
    // A lone leaf is a tree too.
    const std::int32_t leaf = std::min(sums_.front().positive.back(), sums_.front().negative.back());
    Amount upper = (Amount{leaf} << prepared_.amounts.shift) + prepared_.penalty;
    std::vector<std::vector<Amount>> lower(local.axes.size());
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const Sums& sums = sums_[a];
        const std::int32_t all_p = sums.positive.back();
        const std::int32_t all_n = sums.negative.back();
        const auto left = [&](std::size_t g) { return std::min(sums.positive[g], sums.negative[g]); };
        const auto right = [&](std::size_t g) { return std::min(all_p - sums.positive[g], all_n - sums.negative[g]); };
        for (std::size_t g = 0; g + 1 < sums.positive.size(); ++g) {
            const CoarseStumps& from = stumps_[a][g];
            const CoarseStumps& to = stumps_[a][g + 1];
            lower[a].push_back(
                bounds::inside_group(cost_of(left(g), from.left_bound), cost_of(right(g + 1), to.right_bound)));
            if (g > 0) {
                upper = std::min(upper, cost_of(left(g), from.left_exact) + cost_of(right(g), from.right_exact));
            }
        }
    }
    // Rounded amounts are costs in their own right, so the bound holds for them. Between two trees, what rounding does
    // to the difference of their costs is at most the slack: the part in D(S) is the same for both.
    const Amount most = upper + prepared_.amounts.slack;
    Runs runs(local.axes.size());
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        std::int32_t from = 0;
        for (std::size_t g = 0; g < lower[a].size(); ++g) {
            const std::int32_t to = std::min(groups_[a].end[g] + 1, local.axes[a].n_tests);
            if (lower[a][g] <= most && to > from) {
                if (!runs[a].empty() && runs[a].back().to == from) {
                    runs[a].back().to = to;
                } else {
                    runs[a].push_back({from, to});
                }
            }
            from = to;
        }
    }
    return runs;
}

}  // namespace

std::optional<Runs> find_promising_roots(const Prepared& prepared, double share) {
    const Local& local = prepared.local;
    const Control& control = prepared.control;
    const bool has_categories =
        std::any_of(local.axes.begin(), local.axes.end(), [](const LocalAxis& axis) { return axis.is_categorical; });
    if (has_categories || control.is_off(no_coarse)) {
        return std::nullopt;
    }
    if (control.is_off(no_cost_model)) {
        // Small tables then see coarse tables, or do without.
        return local.n_rows % 2 == 0 ? std::optional(CoarseTables(prepared, 4).promising()) : std::nullopt;
    }
    if (!forecast::coarse_tables_pay(local, share)) {
        return std::nullopt;
    }
    return CoarseTables(prepared, forecast::most_coarse_groups(local)).promising();
}

}  // namespace certree
