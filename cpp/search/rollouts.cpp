#include "search/rollouts.hpp"

#include <algorithm>
#include <numeric>

namespace certree {

namespace {

constexpr std::size_t most_groups = 64;

// The groups of an ordered axis have about as many rows each; a category is a group of its own, as far as they go.
std::vector<std::int32_t> group_codes(const Axis& axis, std::size_t n_rows) {
    const auto n_codes = static_cast<std::size_t>(axis.n_codes);
    std::vector<std::int32_t> group_of(n_codes);
    if (axis.is_categorical || n_codes <= most_groups) {
        for (std::size_t code = 0; code < n_codes; ++code) {
            group_of[code] = static_cast<std::int32_t>(std::min(code, most_groups));
        }
        return group_of;
    }
    std::vector<std::size_t> n_of(n_codes, 0);
    for (const std::int32_t code : axis.codes) {
        ++n_of[static_cast<std::size_t>(code)];
    }
    std::size_t before = 0;
    for (std::size_t code = 0; code < n_codes; ++code) {
        group_of[code] = static_cast<std::int32_t>(before * most_groups / n_rows);
        before += n_of[code];
    }
    return group_of;
}

}  // namespace

Rollouts::Rollouts(const Instance& instance, Amount penalty)
    : instance_(instance), n_labels_(static_cast<std::size_t>(instance.n_labels)) {
    const auto n_rows = static_cast<std::size_t>(instance.n_rows);
    const double total =
        std::max(1.0, static_cast<double>(std::accumulate(instance.worst.begin(), instance.worst.end(), Amount{0})));
    penalty_ = static_cast<double>(penalty) / total;
    std::vector<const Axis*> order;  // of the axes here
    for (const bool is_long : {true, false}) {
        for (const Axis& axis : instance.axes) {
            if ((axis.n_codes > 2) == is_long) {
                order.push_back(&axis);
                ++(is_long ? n_long_ : n_short_);
            }
        }
    }
    std::size_t first = 0;
    for (const Axis* axis : order) {
        GroupedAxis grouped;
        grouped.group_of = group_codes(*axis, n_rows);
        grouped.n_groups =
            static_cast<std::size_t>(*std::max_element(grouped.group_of.begin(), grouped.group_of.end()) + 1);
        grouped.first = first;
        grouped.is_categorical = axis->is_categorical;
        first += axes_.size() < n_long_ ? grouped.n_groups : 0;
        axes_.push_back(std::move(grouped));
    }
    n_groups_ = first;
    groups_.resize(n_rows * n_long_);
    is_first_.resize(n_rows * n_short_);
    saves_.assign(n_rows * n_labels_, 0.0F);
    worst_.resize(n_rows);
    const auto scaled = [&](Amount amount) { return static_cast<float>(static_cast<double>(amount) / total); };
    for (std::size_t row = 0; row < n_rows; ++row) {
        for (std::size_t a = 0; a < axes_.size(); ++a) {
            const std::int32_t group = axes_[a].group_of[static_cast<std::size_t>(order[a]->codes[row])];
            if (a < n_long_) {
                groups_[row * n_long_ + a] = static_cast<std::uint8_t>(group);
            } else {
                is_first_[row * n_short_ + a - n_long_] = group == 0 ? 1.0F : 0.0F;
            }
        }
        const float common = instance.common.empty() ? 0.0F : scaled(instance.common[row]);  // to all labels
        worst_[row] = scaled(instance.worst[row]) + common;
        std::fill_n(saves_.begin() + static_cast<std::ptrdiff_t>(row * n_labels_), n_labels_, common);
        for (auto g = static_cast<std::size_t>(instance.gain_start[row]);
             g < static_cast<std::size_t>(instance.gain_start[row + 1]); ++g) {
            const Gain& gain = instance.gains[g];
            saves_[row * n_labels_ + static_cast<std::size_t>(gain.label)] += scaled(gain.amount);
        }
    }
}

std::vector<RootTest> Rollouts::rank(const RowSet& rows, const std::vector<RootTest>& tests, int depth,
                                     const Control& control) {
    struct Found {
        double cost;
        RootTest test;
    };
    std::vector<Found> found;
    scratch_ = rows.rows;
    Rows begin = scratch_.data();
    Rows end = begin + scratch_.size();
    sums_.resize(2 * static_cast<std::size_t>(depth + 1));
    Sums sums;
    add_up(begin, end, sums);
    for (const RootTest& test : tests) {
        if (control.should_stop()) {
            break;
        }
        const Axis& axis = instance_.axes[static_cast<std::size_t>(test.axis)];
        Rows middle = std::partition(begin, end, [&](std::int32_t row) {
            const std::int32_t code = axis.codes[static_cast<std::size_t>(row)];
            return axis.is_categorical ? code == test.code : code <= test.code;
        });
        found.push_back({grow_sides(begin, middle, end, depth - 1, sums), test});
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.cost < y.cost; });
    std::vector<RootTest> ranked;
    for (const Found& one : found) {
        ranked.push_back(one.test);
    }
    return ranked;
}

// What the trees that grow on both sides of a test cost. Only the smaller side is summed: the rest is the other's.
double Rollouts::grow_sides(Rows begin, Rows middle, Rows end, int depth, const Sums& sums) {
    Sums& small = sums_[2 * static_cast<std::size_t>(depth)];
    Sums& large = sums_[2 * static_cast<std::size_t>(depth) + 1];
    const bool is_left_small = middle - begin <= end - middle;
    add_up(is_left_small ? begin : middle, is_left_small ? middle : end, small);
    const auto subtract = [](const std::vector<float>& whole, const std::vector<float>& part,
                             std::vector<float>& rest) {
        rest.resize(whole.size());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            rest[i] = whole[i] - part[i];
        }
    };
    large.worst = sums.worst - small.worst;
    subtract(sums.all, small.all, large.all);
    subtract(sums.groups, small.groups, large.groups);
    subtract(sums.firsts, small.firsts, large.firsts);
    return grow(begin, middle, depth, is_left_small ? small : large) +
           grow(middle, end, depth, is_left_small ? large : small);
}

// What the tree that grows on these rows costs, cut back at λ. Their order is changed.
double Rollouts::grow(Rows begin, Rows end, int depth, const Sums& sums) {
    const double leaf =
        sums.worst - static_cast<double>(*std::max_element(sums.all.begin(), sums.all.end())) + penalty_;
    if (depth == 0 || end - begin < 2 || leaf <= 2.0 * penalty_) {
        return leaf;
    }
    const Cut cut = purest(sums);
    if (cut.purity < 0.0) {
        return leaf;
    }
    Rows middle = std::partition(begin, end, [&](std::int32_t row) {
        const auto r = static_cast<std::size_t>(row);
        if (cut.axis >= n_long_) {
            return is_first_[r * n_short_ + cut.axis - n_long_] > 0.0F;
        }
        const std::size_t group = groups_[r * n_long_ + cut.axis];
        return axes_[cut.axis].is_categorical ? group == cut.group : group <= cut.group;
    });
    return middle == begin || middle == end ? leaf : std::min(leaf, grow_sides(begin, middle, end, depth - 1, sums));
}

void Rollouts::add_up(Rows begin, Rows end, Sums& sums) const {
    sums.worst = 0.0;
    sums.all.assign(n_labels_, 0.0F);
    sums.groups.assign(n_groups_ * n_labels_, 0.0F);
    sums.firsts.assign(n_short_ * n_labels_, 0.0F);
    for (Rows row = begin; row != end; ++row) {
        const auto r = static_cast<std::size_t>(*row);
        const float* saves = saves_.data() + r * n_labels_;
        const std::uint8_t* groups = groups_.data() + r * n_long_;
        sums.worst += static_cast<double>(worst_[r]);
        for (std::size_t k = 0; k < n_labels_; ++k) {
            sums.all[k] += saves[k];
        }
        for (std::size_t a = 0; a < n_long_; ++a) {
            float* group = sums.groups.data() + (axes_[a].first + groups[a]) * n_labels_;
            for (std::size_t k = 0; k < n_labels_; ++k) {
                group[k] += saves[k];
            }
        }
        const float* is_first = is_first_.data() + r * n_short_;
        for (std::size_t k = 0; k < n_labels_; ++k) {
            float* firsts = sums.firsts.data() + k * n_short_;
            const float weight = saves[k];
            for (std::size_t a = 0; a < n_short_ && weight != 0.0F; ++a) {
                firsts[a] += weight * is_first[a];
            }
        }
    }
}

Rollouts::Cut Rollouts::purest(const Sums& sums) const {
    Cut best;
    std::vector<float> left(n_labels_);
    const auto look = [&](std::size_t axis, std::size_t group) {
        const double found = purity(left.data(), sums.all);
        if (found > best.purity) {
            best = {found, axis, group};
        }
    };
    for (std::size_t a = 0; a < n_short_; ++a) {
        for (std::size_t k = 0; k < n_labels_; ++k) {
            left[k] = sums.firsts[k * n_short_ + a];
        }
        look(n_long_ + a, 0);
    }
    for (std::size_t a = 0; a < n_long_; ++a) {
        const GroupedAxis& axis = axes_[a];
        const float* group = sums.groups.data() + axis.first * n_labels_;
        std::fill(left.begin(), left.end(), 0.0F);
        // The last group of an ordered axis ends no test, and of categories it is the complement of the others.
        for (std::size_t g = 0; g + 1 < axis.n_groups; ++g, group += n_labels_) {
            for (std::size_t k = 0; k < n_labels_; ++k) {
                left[k] = group[k] + (axis.is_categorical ? 0.0F : left[k]);
            }
            look(a, g);
        }
    }
    return best;
}

// Σ (weight of a label)² / weight of all, of both sides.
double Rollouts::purity(const float* left, const std::vector<float>& all) const {
    float left_squares = 0.0F;
    float right_squares = 0.0F;
    float left_all = 0.0F;
    float right_all = 0.0F;
    for (std::size_t k = 0; k < n_labels_; ++k) {
        const float right = all[k] - left[k];
        left_squares += left[k] * left[k];
        right_squares += right * right;
        left_all += left[k];
        right_all += right;
    }
    constexpr float nothing = 1e-9F;
    if (left_all <= nothing || right_all <= nothing) {
        return -1.0;
    }
    return static_cast<double>(left_squares / left_all + right_squares / right_all);
}

}  // namespace certree
