#include "shallow/any_labels/stumps.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <utility>

#include "bounds.hpp"
#include "shallow/cost_model.hpp"
#include "shallow/long_axis.hpp"

namespace certree {

namespace {

void put(Amount value, std::size_t n_leaves, const NodePtr& tree, Outcome& outcome) {
    for (std::size_t m = std::min(n_leaves, outcome.value.size()) - 1; m < outcome.value.size(); ++m) {
        if (value < outcome.value[m]) {
            outcome.value[m] = value;
            outcome.tree[m] = tree;
        }
    }
}

// Asks for every test of an axis, given the sums over the rows on which it holds. Only the codes of a window at a time
// have sums: all channels of many codes would take more memory than the table, and every row would wait for its cell.
// The codes of an ordered axis fill several windows where there are dozens of labels; those with more codes are long.
template <class Add, class Ask>
void sum_left(const RowSet& set, const LocalAxis& axis, std::size_t width, bool is_small, const Add& add,
              std::vector<Amount>& sums, const Ask& ask) {
    const int window_bits = is_small ? 1 : std::bit_width(forecast::most_codes_at_once(width)) - 1;
    const auto window = std::int32_t{1} << window_bits;
    const std::size_t n_rows = set.rows.size();
    const auto n_windows = static_cast<std::size_t>(((axis.n_codes - 1) >> window_bits) + 1);
    // Rows by the window of their code; within a window as they stand, so that they are read in passing.
    std::vector<std::int32_t> rows(n_windows > 1 ? n_rows : 0);
    std::vector<std::size_t> start(n_windows + 1, 0);
    if (n_windows > 1) {
        const auto window_of = [&](std::size_t i) { return static_cast<std::size_t>(axis.codes[i] >> window_bits); };
        for (std::size_t i = 0; i < n_rows; ++i) {
            ++start[window_of(i) + 1];
        }
        std::partial_sum(start.begin(), start.end(), start.begin());
        std::vector<std::size_t> next = start;
        for (std::size_t i = 0; i < n_rows; ++i) {
            rows[next[window_of(i)]++] = static_cast<std::int32_t>(i);
        }
    } else {
        start[1] = n_rows;
    }
    std::vector<Amount> before;  // of the codes before the window
    for (std::int32_t from = 0; from < axis.n_tests; from += window) {
        const std::int32_t n = std::min(window, axis.n_codes - from);
        sums.assign(static_cast<std::size_t>(n) * width, 0);
        const auto w = static_cast<std::size_t>(from >> window_bits);
        for (std::size_t o = start[w]; o < start[w + 1]; ++o) {
            const std::size_t i = n_windows > 1 ? static_cast<std::size_t>(rows[o]) : o;
            add(set.rows[i], sums.data() + static_cast<std::size_t>(axis.codes[i] - from) * width);
        }
        for (std::int32_t test = from; test < std::min(from + n, axis.n_tests); ++test) {
            Amount* left = sums.data() + static_cast<std::size_t>(test - from) * width;
            if (test > 0 && !axis.is_categorical) {
                const Amount* last = test > from ? left - width : before.data();
                for (std::size_t c = 0; c < width; ++c) {
                    left[c] += last[c];
                }
            }
            ask(left, test);
        }
        if (from + window < axis.n_tests) {
            before.assign(sums.end() - static_cast<std::ptrdiff_t>(width), sums.end());
        }
    }
}

}  // namespace

Stumps::Stumps(const Instance& instance, const Settings& settings, const Control& control)
    : instance_(instance),
      settings_(settings),
      control_(control),
      n_labels_(static_cast<std::size_t>(instance.n_labels)),
      n_arms_(static_cast<std::size_t>(instance.n_arms)),
      n_channels_(n_labels_ + (settings.has_leaf_minimum() ? 2 + n_arms_ : 0)) {}

void Stumps::add_row(std::int32_t row, Amount* channels) const {
    const auto r = static_cast<std::size_t>(row);
    for (auto g = static_cast<std::size_t>(instance_.gain_start[r]);
         g < static_cast<std::size_t>(instance_.gain_start[r + 1]); ++g) {
        channels[instance_.gains[g].label] += instance_.gains[g].amount;
    }
    if (n_channels_ > n_labels_) {
        channels[n_labels_] += instance_.count[r];
        channels[n_labels_ + 1] += instance_.weight[r];
        for (std::size_t arm = 0; arm < n_arms_; ++arm) {
            channels[n_labels_ + 2 + arm] += instance_.arm_count[r * n_arms_ + arm];
        }
    }
}

Stumps::Channels Stumps::sum(const RowSet& set) const {
    Channels channels(n_channels_, 0);
    for (const std::int32_t row : set.rows) {
        add_row(row, channels.data());
    }
    return channels;
}

bool Stumps::is_enough(const Amount* channels) const {
    if (n_channels_ == n_labels_) {
        return true;
    }
    const Amount* counts = channels + n_labels_;
    return counts[0] >= settings_.min_samples_leaf && counts[1] >= settings_.min_weight_leaf &&
           std::all_of(counts + 2, counts + 2 + n_arms_, [&](Amount n) { return n >= settings_.min_samples_arm; });
}

Amount Stumps::most_saved(const Amount* channels) const {
    return *std::max_element(channels, channels + n_labels_);
}

std::int32_t Stumps::label_of(const Amount* channels) const {
    return static_cast<std::int32_t>(std::max_element(channels, channels + n_labels_) - channels);
}

void Stumps::put_leaf(const RowSet& set, Outcome& outcome) const {
    const Channels all = sum(set);
    if (is_enough(all.data())) {
        put(set.worst - most_saved(all.data()) + settings_.penalty, 1, make_leaf(label_of(all.data())), outcome);
    }
}

void Stumps::put_stump(const RowSet& set, std::int32_t axis, std::int32_t code, Outcome& outcome) const {
    const Split split = split_rows(instance_, set, axis, code);
    const Channels left = sum(split.left);
    const Channels right = sum(split.right);
    if (!is_enough(left.data()) || !is_enough(right.data())) {
        return;
    }
    const Amount value = stump_value(set.worst, left.data(), right.data());
    if (value < outcome.value[std::min<std::size_t>(1, outcome.value.size() - 1)]) {
        put(value, 2, make_split(axis, code, make_leaf(label_of(left.data())), make_leaf(label_of(right.data()))),
            outcome);
    }
}

Amount Stumps::stump_value(Amount worst, const Amount* left, const Amount* right) const {
    return worst - most_saved(left) - most_saved(right) + 2 * settings_.penalty;
}

void Stumps::add_sums(std::int32_t row, Amount* sums) const {
    add_row(row, sums);
    sums[n_channels_] += instance_.worst[static_cast<std::size_t>(row)];
}

void Stumps::put_leaf_of(const Amount* sums, Outcome& outcome) const {
    if (is_enough(sums)) {
        put(sums[n_channels_] - most_saved(sums) + settings_.penalty, 1, make_leaf(label_of(sums)), outcome);
    }
}

void Stumps::put_stump_of(const LocalAxis& cut, std::int32_t test, const Amount* left, const Amount* right,
                          Outcome& outcome) const {
    const Amount value = stump_value(left[n_channels_] + right[n_channels_], left, right);
    if (value < outcome.value[std::min<std::size_t>(1, outcome.value.size() - 1)] && is_enough(left) &&
        is_enough(right)) {
        NodePtr leaves[2] = {make_leaf(label_of(left)), make_leaf(label_of(right))};
        if (cut.is_reversed) {
            std::swap(leaves[0], leaves[1]);
        }
        put(value, 2, make_split(cut.axis, cut.code_of(test), leaves[0], leaves[1]), outcome);
    }
}

RootTest Stumps::purest(const RowSet& set) const {
    const std::vector<RootTest> tests = purest_by_axis(set);
    return tests.empty() ? RootTest{} : tests.front();
}

std::vector<RootTest> Stumps::purest_by_axis(const RowSet& set) const {
    // Two channels more: what every label of a row weighs, which preparation took off all of them, and the row.
    const std::size_t width = n_channels_ + 2;
    const auto add = [&](std::int32_t row, Amount* channels) {
        add_row(row, channels);
        ++channels[n_channels_ + 1];
        if (!instance_.common.empty()) {
            channels[n_channels_] += instance_.common[static_cast<std::size_t>(row)];
        }
    };
    // Σ weight of a label squared / weight of all: the purer, the larger.
    const auto purity = [&](const Amount* channels) {
        double squares = 0.0;
        double all = 0.0;
        for (std::size_t k = 0; k < n_labels_; ++k) {
            const auto weight = static_cast<double>(channels[k] + channels[n_channels_]);
            squares += weight * weight;
            all += weight;
        }
        return all > 0.0 ? squares / all : 0.0;
    };
    Channels all(width, 0);
    for (const std::int32_t row : set.rows) {
        add(row, all.data());
    }
    Channels right(width);
    struct Found {
        double purity = -1.0;
        RootTest test;
    };
    std::vector<Found> found;
    Found best;
    // The codes of a long axis may all be on one side.
    const auto is_side = [&](const Amount* rows) { return rows[n_channels_ + 1] > 0 && is_enough(rows); };
    const auto ask = [&](const Amount* left, std::int32_t axis, std::int32_t code) {
        std::transform(all.begin(), all.end(), left, right.begin(), std::minus<>());
        if (is_side(left) && is_side(right.data())) {
            const double both = purity(left) + purity(right.data());
            if (both > best.purity) {
                best = {both, {axis, code}};
            }
        }
    };
    const auto keep = [&] {
        if (best.test.axis >= 0) {
            found.push_back(best);
        }
        best = {};
    };
    std::vector<std::int32_t> short_axes;
    for (std::size_t a = 0; a < instance_.axes.size() && !control_.should_stop(); ++a) {
        const auto number = static_cast<std::int32_t>(a);
        if (!LongAxis::is_one(instance_.axes[a], set, control_)) {
            short_axes.push_back(number);
            continue;
        }
        const LongAxis axis(instance_, number, set, width, control_, add);
        std::vector<std::int32_t> beside;  // the groups that meet at the best end of one
        std::int32_t group = 0;
        axis.ask_ends([&](const Amount* left, std::int32_t, std::int32_t code) {
            const double before = best.purity;
            ask(left, number, code);
            if (best.purity > before) {
                beside = {group, group + 1};
            }
            ++group;
        });
        // No end leaves enough on both sides: then all tests that do are inside one group.
        for (group = 0; best.test.axis < 0 && group < axis.n_groups(); ++group) {
            std::transform(all.begin(), all.end(), axis.before(group), right.begin(), std::minus<>());
            if (is_side(axis.before(group + 1)) && is_side(right.data())) {
                beside.push_back(group);
            }
        }
        axis.ask_inside(set, beside, add, ask);
        keep();
    }
    const Local local(instance_, set, short_axes);
    Channels sums;
    for (const LocalAxis& axis : local.axes) {
        if (control_.should_stop()) {
            break;
        }
        sum_left(set, axis, width, control_.is_off(no_cost_model), add, sums,
                 [&](const Amount* left, std::int32_t test) { ask(left, axis.axis, axis.code_of(test)); });
        keep();
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.purity > y.purity; });
    std::vector<RootTest> tests;
    for (const Found& one : found) {
        tests.push_back(one.test);
    }
    return tests;
}

void Stumps::solve(const RowSet& set, const Local& local, Outcome& outcome) const {
    const std::size_t width = sums_width();
    const auto add = [&](std::int32_t row, Amount* sums) { add_sums(row, sums); };
    Channels all(width, 0);
    for (const std::int32_t row : set.rows) {
        add(row, all.data());
    }
    Channels right(width);
    // What a stump has to save to be of use.
    Amount most = set.worst + 2 * settings_.penalty - outcome.value[std::min<std::size_t>(1, outcome.value.size() - 1)];
    RootTest best;
    const auto ask = [&](const Amount* left, std::int32_t axis, std::int32_t code) {
        std::transform(all.begin(), all.end(), left, right.begin(), std::minus<>());
        const Amount saved = most_saved(left) + most_saved(right.data());
        if (saved > most && is_enough(left) && is_enough(right.data())) {
            most = saved;
            best = {axis, code};
        }
    };
    // A test inside a group leaves all rows before the group on the left, and all behind it on the right. Group holds
    // under minima too, because these costs are of leaves without them, and a leaf that meets them costs no less.
    const auto least_cost = [&](const Amount* rows) { return rows[n_channels_] - most_saved(rows); };
    const auto open_groups = [&](const LongAxis& axis) {
        std::vector<std::int32_t> open;
        for (std::int32_t g = 0; g < axis.n_groups(); ++g) {
            std::transform(all.begin(), all.end(), axis.before(g + 1), right.begin(), std::minus<>());
            if (all[n_channels_] - bounds::inside_group(least_cost(axis.before(g)), least_cost(right.data())) > most) {
                open.push_back(g);
            }
        }
        return open;
    };
    std::vector<LongAxis> long_axes;
    Channels sums;
    for (const LocalAxis& axis : local.axes) {
        if (control_.should_stop()) {
            break;
        }
        if (LongAxis::is_one(instance_.axes[static_cast<std::size_t>(axis.axis)], set, control_)) {
            long_axes.emplace_back(instance_, axis.axis, set, width, control_, add).ask_ends(ask);
            // Better stumps on other axes open no group: an axis without open ones need not be kept.
            if (open_groups(long_axes.back()).empty()) {
                long_axes.pop_back();
            }
        } else {
            sum_left(set, axis, width, control_.is_off(no_cost_model), add, sums,
                     [&](const Amount* left, std::int32_t test) { ask(left, axis.axis, axis.code_of(test)); });
        }
    }
    for (const LongAxis& axis : long_axes) {
        axis.ask_inside(set, open_groups(axis), add, ask);
    }
    if (best.axis >= 0) {
        put_stump(set, best.axis, best.code, outcome);
    }
    if (!control_.should_stop()) {
        outcome.lower = outcome.best();
    }
}

}  // namespace certree
