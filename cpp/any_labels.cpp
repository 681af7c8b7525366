#include "any_labels.hpp"

#include <algorithm>

namespace certree {

namespace {

constexpr Amount infeasible = -unreachable;

}  // namespace

// The best leaf and the best stump of one side of a root test, as gains (what is saved, less λ a leaf).
struct AnyLabels::Side {
    Amount leaf = infeasible;
    Amount stump = infeasible;
    std::int32_t test = -1;
};

AnyLabels::AnyLabels(const Instance& instance, const Constraints& constraints)
    : instance_(instance),
      constraints_(constraints),
      n_labels_(static_cast<std::size_t>(instance.n_labels)),
      n_channels_(n_labels_),
      has_minimum_(constraints.has_leaf_minimum()) {
    if (has_minimum_) {
        n_channels_ += 2 + static_cast<std::size_t>(instance.n_arms);
    }
}

void AnyLabels::add_row(std::int32_t row, Amount* channels) const {
    const auto r = static_cast<std::size_t>(row);
    for (auto g = static_cast<std::size_t>(instance_.gain_start[r]);
         g < static_cast<std::size_t>(instance_.gain_start[r + 1]); ++g) {
        channels[instance_.gains[g].label] += instance_.gains[g].amount;
    }
    if (has_minimum_) {
        channels[n_labels_] += instance_.count[r];
        channels[n_labels_ + 1] += instance_.weight[r];
        for (std::size_t arm = 0; arm < static_cast<std::size_t>(instance_.n_arms); ++arm) {
            channels[n_labels_ + 2 + arm] += instance_.arm_count[r * static_cast<std::size_t>(instance_.n_arms) + arm];
        }
    }
}

bool AnyLabels::is_feasible(const Amount* channels) const {
    if (channels[n_labels_] < constraints_.min_samples_leaf || channels[n_labels_ + 1] < instance_.min_weight_leaf) {
        return false;
    }
    for (std::size_t arm = 0; arm < static_cast<std::size_t>(instance_.n_arms); ++arm) {
        if (channels[n_labels_ + 2 + arm] < constraints_.min_samples_arm) {
            return false;
        }
    }
    return true;
}

Amount AnyLabels::gain(const Amount* channels) const {
    if (has_minimum_ && !is_feasible(channels)) {
        return infeasible;
    }
    Amount best = channels[0];
    for (std::size_t k = 1; k < n_labels_; ++k) {
        best = std::max(best, channels[k]);
    }
    return best;
}

Amount AnyLabels::gain_of_rest(const Amount* whole, const Amount* part) const {
    if (has_minimum_) {
        Amount rest[2];
        rest[0] = whole[n_labels_] - part[n_labels_];
        rest[1] = whole[n_labels_ + 1] - part[n_labels_ + 1];
        if (rest[0] < constraints_.min_samples_leaf || rest[1] < instance_.min_weight_leaf) {
            return infeasible;
        }
        for (std::size_t arm = 0; arm < static_cast<std::size_t>(instance_.n_arms); ++arm) {
            if (whole[n_labels_ + 2 + arm] - part[n_labels_ + 2 + arm] < constraints_.min_samples_arm) {
                return infeasible;
            }
        }
    }
    Amount best = whole[0] - part[0];
    for (std::size_t k = 1; k < n_labels_; ++k) {
        best = std::max(best, whole[k] - part[k]);
    }
    return best;
}

Amount AnyLabels::leaf_value(const RowSet& set) const {
    std::vector<Amount> channels(n_channels_, 0);
    for (const std::int32_t row : set.rows) {
        add_row(row, channels.data());
    }
    const Amount saved = gain(channels.data());
    return saved == infeasible ? unreachable : set.worst - saved + instance_.penalty;
}

std::int32_t AnyLabels::leaf_label(const RowSet& set) const {
    std::vector<Amount> channels(n_channels_, 0);
    for (const std::int32_t row : set.rows) {
        add_row(row, channels.data());
    }
    return static_cast<std::int32_t>(
        std::max_element(channels.begin(), channels.begin() + static_cast<std::ptrdiff_t>(n_labels_)) -
        channels.begin());
}

double AnyLabels::pair_operations(const Local& local) const {
    const double n_tests = local.n_tests;
    const double channels = static_cast<double>(n_channels_);
    return n_tests * n_tests * channels * 4.0 +
           static_cast<double>(local.n_rows) * static_cast<double>(local.axes.size() * local.axes.size()) * channels;
}

void AnyLabels::solve(const RowSet& set, const Local& local, int depth, Outcome& outcome,
                      const Control& control) const {
    const std::size_t channels = n_channels_;
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    const Amount penalty = instance_.penalty;

    // raw[t] holds the rows whose code on the axis of t is exactly t's; a running sum along an ordered axis makes it
    // the rows on which test t holds.
    std::vector<Amount> raw(n_tests * channels, 0);
    const auto add_everywhere = [&](std::size_t i) {
        for (const LocalAxis& axis : local.axes) {
            const std::int32_t code = axis.codes[i];
            if (code < axis.n_tests) {
                add_row(set.rows[i], raw.data() + static_cast<std::size_t>(axis.first_test + code) * channels);
            }
        }
    };
    const auto make_line = [&](std::vector<Amount>& line) {
        line = raw;
        for (const LocalAxis& axis : local.axes) {
            if (axis.is_categorical) {
                continue;
            }
            Amount* first = line.data() + static_cast<std::size_t>(axis.first_test) * channels;
            for (std::size_t c = channels; c < static_cast<std::size_t>(axis.n_tests) * channels; ++c) {
                first[c] += first[c - channels];
            }
        }
    };

    std::vector<Amount> all(channels, 0);
    for (std::size_t i = 0; i < set.rows.size(); ++i) {
        add_everywhere(i);
        add_row(set.rows[i], all.data());
    }
    std::vector<Amount> total;
    make_line(total);

    const std::size_t width = outcome.value.size();
    const bool is_limited = width > 1;
    // Entries by number of leaves: best gain, root test, and which sides are split.
    struct Found {
        Amount gain = infeasible;
        std::int32_t root = -1;
        std::int32_t left = -1;
        std::int32_t right = -1;
    };
    Found found[4];
    const auto offer = [&](int leaves, Amount gain_value, std::int32_t root, std::int32_t left, std::int32_t right) {
        Found& entry = found[is_limited ? leaves - 1 : 3];
        if (gain_value > entry.gain) {
            entry = {gain_value, root, left, right};
        }
    };

    if (depth == 1) {
        for (std::size_t t = 0; t < n_tests; ++t) {
            const Amount left = gain(total.data() + t * channels);
            const Amount right = gain_of_rest(all.data(), total.data() + t * channels);
            if (left != infeasible && right != infeasible) {
                offer(2, left + right - 2 * penalty, static_cast<std::int32_t>(t), -1, -1);
            }
        }
    } else {
        std::vector<Amount> line;
        std::vector<Amount> part(channels);
        std::vector<Amount> side_total(channels);
        const auto best_stump = [&](const Amount* whole, bool is_right, Side& side) {
            side.leaf = gain(whole);
            if (side.leaf != infeasible) {
                side.leaf -= penalty;
            }
            for (std::size_t t = 0; t < n_tests; ++t) {
                const Amount* lo = line.data() + t * channels;
                if (is_right) {
                    const Amount* both = total.data() + t * channels;
                    for (std::size_t c = 0; c < channels; ++c) {
                        part[c] = both[c] - lo[c];
                    }
                    lo = part.data();
                }
                const Amount first = gain(lo);
                const Amount second = gain_of_rest(whole, lo);
                if (first != infeasible && second != infeasible && first + second - 2 * penalty > side.stump) {
                    side.stump = first + second - 2 * penalty;
                    side.test = static_cast<std::int32_t>(t);
                }
            }
        };
        std::vector<std::size_t> order(set.rows.size());
        std::vector<std::size_t> start;
        for (const LocalAxis& axis : local.axes) {
            start.assign(static_cast<std::size_t>(axis.n_codes) + 1, 0);
            for (std::size_t i = 0; i < set.rows.size(); ++i) {
                ++start[static_cast<std::size_t>(axis.codes[i]) + 1];
            }
            for (std::size_t c = 1; c < start.size(); ++c) {
                start[c] += start[c - 1];
            }
            std::vector<std::size_t> next(start.begin(), start.end() - 1);
            for (std::size_t i = 0; i < set.rows.size(); ++i) {
                order[next[static_cast<std::size_t>(axis.codes[i])]++] = i;
            }
            std::fill(raw.begin(), raw.end(), 0);
            for (std::int32_t j = 0; j < axis.n_tests; ++j) {
                if (control.should_stop()) {
                    return;
                }
                if (axis.is_categorical) {
                    std::fill(raw.begin(), raw.end(), 0);
                }
                for (std::size_t o = start[static_cast<std::size_t>(j)]; o < start[static_cast<std::size_t>(j) + 1];
                     ++o) {
                    add_everywhere(order[o]);
                }
                make_line(line);
                const std::int32_t root = axis.first_test + j;
                const Amount* left_total = total.data() + static_cast<std::size_t>(root) * channels;
                for (std::size_t c = 0; c < channels; ++c) {
                    side_total[c] = all[c] - left_total[c];
                }
                Side left;
                Side right;
                best_stump(left_total, false, left);
                best_stump(side_total.data(), true, right);
                if (left.leaf != infeasible && right.leaf != infeasible) {
                    offer(2, left.leaf + right.leaf, root, -1, -1);
                }
                if (left.stump != infeasible && right.leaf != infeasible) {
                    offer(3, left.stump + right.leaf, root, left.test, -1);
                }
                if (left.leaf != infeasible && right.stump != infeasible) {
                    offer(3, left.leaf + right.stump, root, -1, right.test);
                }
                if (left.stump != infeasible && right.stump != infeasible) {
                    offer(4, left.stump + right.stump, root, left.test, right.test);
                }
            }
        }
    }

    // Turn what was found into trees; entry m holds the best of at most m leaves.
    const auto build_side = [&](const RowSet& rows, std::int32_t test) -> NodePtr {
        if (test < 0) {
            return make_leaf(leaf_label(rows));
        }
        const LocalAxis& axis = local.axes[static_cast<std::size_t>(local.test_axis[static_cast<std::size_t>(test)])];
        const std::int32_t code = local.test_code[static_cast<std::size_t>(test)];
        const Split split = split_rows(instance_, rows, axis.axis, code);
        return make_split(axis.axis, code, make_leaf(leaf_label(split.left)), make_leaf(leaf_label(split.right)));
    };
    const auto build = [&](const Found& entry) -> NodePtr {
        const LocalAxis& axis =
            local.axes[static_cast<std::size_t>(local.test_axis[static_cast<std::size_t>(entry.root)])];
        const std::int32_t code = local.test_code[static_cast<std::size_t>(entry.root)];
        const Split split = split_rows(instance_, set, axis.axis, code);
        return make_split(axis.axis, code, build_side(split.left, axis.is_reversed ? entry.right : entry.left),
                          build_side(split.right, axis.is_reversed ? entry.left : entry.right));
    };
    if (!is_limited) {
        const Found& entry = found[3];
        if (entry.root >= 0 && set.worst - entry.gain < outcome.value[0]) {
            outcome.value[0] = set.worst - entry.gain;
            outcome.tree[0] = build(entry);
        }
    } else {
        for (std::size_t m = 1; m < width; ++m) {
            if (outcome.value[m - 1] < outcome.value[m]) {
                outcome.value[m] = outcome.value[m - 1];
                outcome.tree[m] = outcome.tree[m - 1];
            }
            if (m < 4 && found[m].root >= 0 && set.worst - found[m].gain < outcome.value[m]) {
                outcome.value[m] = set.worst - found[m].gain;
                outcome.tree[m] = build(found[m]);
            }
        }
    }
    outcome.lower = outcome.best();
}

}  // namespace certree
