#include "shallow/any_labels/cell_form.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "workers.hpp"

namespace certree {

using sums::BestStumps;
using sums::ColumnPair;
using sums::ColumnSet;
using sums::ColumnTests;
using sums::LeafRule;
using sums::SortedRows;

namespace {

// What a tree gains that a minimum forbids: less than any other gains, and two of these can be added.
constexpr Amount forbidden = -2 * unreachable;

Amount join(Amount one, Amount other) {
    return one == forbidden || other == forbidden ? forbidden : one + other;
}

LeafRule rule_of(const Instance& instance, const Settings& settings) {
    LeafRule rule;
    rule.n_labels = instance.n_labels == 2 ? 1 : static_cast<std::size_t>(instance.n_labels);
    if (settings.has_leaf_minimum()) {
        rule.least.push_back(settings.min_samples_leaf);
        if (settings.min_weight_leaf > 0) {
            rule.least.push_back(settings.min_weight_leaf);
        }
        if (settings.min_samples_arm > 0) {
            rule.least.insert(rule.least.end(), static_cast<std::size_t>(instance.n_arms), settings.min_samples_arm);
        }
    }
    return rule;
}

ColumnTests tests_of(const LocalAxis& axis) {
    ColumnTests tests;
    tests.first = axis.first_test;
    tests.n_tests = axis.n_tests;
    tests.start.push_back(0);
    for (std::int32_t t = 0; t < axis.n_tests; ++t) {
        tests.base.push_back(axis.is_categorical ? -1 : t - 1);
        tests.added.push_back(t);
        tests.start.push_back(t + 1);
    }
    return tests;
}

std::vector<std::int32_t> sizes_of(const Local& local) {
    std::vector<std::int32_t> sizes;
    for (const LocalAxis& axis : local.axes) {
        sizes.push_back(axis.n_codes);
    }
    return sizes;
}

// Sets of columns are summed together as far as their cells take so much.
constexpr std::size_t most_task_bytes = std::size_t{2} << 20;

constexpr std::int32_t most_byte_codes = 256;

}  // namespace

CellForm::CellForm(const Instance& instance, const Settings& settings, const Stumps& stumps, const Control& control,
                   std::size_t table_bytes)
    : instance_(instance),
      stumps_(stumps),
      control_(control),
      table_bytes_(table_bytes),
      rule_(rule_of(instance, settings)),
      price_(rule_.n_labels == 1 ? 2 * settings.penalty : settings.penalty),
      has_weights_(settings.has_leaf_minimum() && settings.min_weight_leaf > 0),
      has_arms_(settings.has_leaf_minimum() && settings.min_samples_arm > 0) {}

bool CellForm::fits(const Local& local, int depth, int n_threads) const {
    double n_tests = 0.0;
    std::int32_t most_codes = 0;
    for (const LocalAxis& axis : local.axes) {
        n_tests += axis.n_tests;
        most_codes = std::max(most_codes, axis.n_codes);
    }
    if (most_codes > std::numeric_limits<std::uint16_t>::max()) {
        return false;
    }
    const double code_bytes = most_codes <= most_byte_codes ? 1.0 : 2.0;
    const auto n_axes = static_cast<double>(local.axes.size());
    const auto channels = static_cast<double>(n_channels());
    // In every channel, at the most: codes and amounts, and while they are sorted the order and another of each.
    const double rows = channels * local.n_rows * ((n_axes + 1.0) * code_bytes + 2 * sizeof(Amount) + 4.0);
    const double pairs = 2.0 * n_tests * n_tests;  // four quadrants of half of all pairs
    // Cells of a task and its largest set, cut up in three ways.
    const double cells = double(most_task_bytes) + 4.0 * channels * std::pow(most_codes, depth) * sizeof(Amount);
    return rows + pairs * 3 * sizeof(Amount) + n_threads * (cells + pairs * 2 * sizeof(Amount)) <
           static_cast<double>(table_bytes_);
}

// What is known of all pairs of axes, local axes being columns. At depth two nothing is known of stumps.
struct CellForm::Tables {
    std::vector<std::int32_t> sizes;
    std::vector<ColumnTests> tests;
    std::vector<ColumnPair> pairs;
    std::vector<BestStumps> stumps;  // by thread; the first one has all that is known when an axis is done
    std::vector<Amount> leaves;      // as the gains of stumps lie

    Tables(const Local& local, const LeafRule& rule, const Kernels& kernels, int n_threads) : sizes(sizes_of(local)) {
        const auto n_axes = static_cast<std::int32_t>(local.axes.size());
        for (std::int32_t a = 0; a < n_axes; ++a) {
            tests.push_back(tests_of(local.axes[static_cast<std::size_t>(a)]));
            for (std::int32_t b = a; b < n_axes; ++b) {
                pairs.push_back({a, b});
            }
        }
        for (int worker = 0; worker < n_threads; ++worker) {
            stumps.emplace_back(tests, sizes, rule, pairs, kernels);
        }
        leaves.assign(stumps[0].gains().size(), sums::nothing);
    }
};

// The rows by channel.
template <class Code>
SortedRows<Code> CellForm::sort_rows(const RowSet& set, const Local& local, const Tables& tables) const {
    SortedRows<Code> rows(local.axes.size(), tables.sizes);
    const std::size_t n = set.rows.size();
    const auto add_channel = [&](auto amount_of) {
        std::size_t n_counted = 0;
        for (const std::int32_t row : set.rows) {
            n_counted += amount_of(static_cast<std::size_t>(row)) != 0 ? 1 : 0;
        }
        rows.open_channel(n_counted);
        for (std::size_t i = 0; i < n; ++i) {
            rows.put(amount_of(static_cast<std::size_t>(set.rows[i])),
                     [&](std::size_t c) { return local.axes[c].codes[i]; });
        }
    };
    if (rule_.n_labels == 1) {
        add_channel([&](std::size_t row) { return instance_.balance[row]; });
    } else {
        for (std::int32_t label = 0; label < instance_.n_labels; ++label) {
            add_channel([&](std::size_t row) {
                Amount saved = 0;
                for (auto g = instance_.gain_start[row]; g < instance_.gain_start[row + 1]; ++g) {
                    const Gain& gain = instance_.gains[static_cast<std::size_t>(g)];
                    saved += gain.label == label ? gain.amount : 0;
                }
                return saved;
            });
        }
    }
    if (!rule_.least.empty()) {
        add_channel([&](std::size_t row) { return Amount{instance_.count[row]}; });
    }
    if (has_weights_) {
        add_channel([&](std::size_t row) { return instance_.weight[row]; });
    }
    const auto n_arms = static_cast<std::size_t>(instance_.n_arms);
    for (std::size_t arm = 0; has_arms_ && arm < n_arms; ++arm) {
        add_channel([&](std::size_t row) { return Amount{instance_.arm_count[row * n_arms + arm]}; });
    }
    return rows;
}

// Sums all sets whose first column is the axis, of as many columns as there are levels. Pre: those of the axes before
// it are done, and the rows sorted by it, or not at all. Post: all is known of the pairs it is in. False: it was
// stopped.
template <class Code>
bool CellForm::add_axis(const SortedRows<Code>& rows, std::int32_t axis, int depth, Tables& tables) const {
    const auto n_axes = static_cast<std::int32_t>(tables.sizes.size());
    const std::size_t cell_bytes = n_channels() * sizeof(Amount);
    const std::size_t task_bytes = control_.is_off(no_cost_model) ? 0 : most_task_bytes;  // small tables then see many
    std::vector<std::vector<ColumnSet>> tasks;
    std::size_t bytes = 0;
    const auto add = [&](const ColumnSet& set) {
        const std::size_t own = sums::count_cells(set, tables.sizes) * cell_bytes;
        if (tasks.empty() || bytes + own > task_bytes) {
            tasks.emplace_back();
            bytes = 0;
        }
        tasks.back().push_back(set);
        bytes += own;
    };
    add({axis, -1, -1});
    for (std::int32_t b = axis + 1; b < n_axes; ++b) {
        add({axis, b, -1});
        for (std::int32_t c = b + 1; depth == 3 && c < n_axes; ++c) {
            add({axis, b, c});
        }
    }
    std::atomic<std::size_t> next{0};
    share_work(static_cast<int>(tables.stumps.size()), [&](int worker) {
        BestStumps& stumps = tables.stumps[static_cast<std::size_t>(worker)];
        std::vector<Amount> cells;
        for (std::size_t t = next++; t < tasks.size() && !control_.should_stop(); t = next++) {
            std::size_t n_cells = 0;
            for (const ColumnSet& set : tasks[t]) {
                n_cells += sums::count_cells(set, tables.sizes) * n_channels();
            }
            cells.assign(n_cells, 0);
            rows.add_to(tasks[t], cells);
            std::span<const Amount> left = cells;
            for (const ColumnSet& set : tasks[t]) {
                if (control_.should_stop()) {
                    return;
                }
                if (depth == 3) {
                    stumps.add(set, left.data());
                }
                const std::size_t size = sums::count_cells(set, tables.sizes) * n_channels();
                if (sums::count_columns(set) < 3) {
                    const std::vector<Amount> own =
                        sums::find_leaf_gains(left.first(size), std::span(&set, 1), tables.sizes, tables.tests, rule_);
                    const std::size_t place = stumps.place(set[0], sums::count_columns(set) == 1 ? set[0] : set[1]);
                    std::copy(own.begin(), own.end(), tables.leaves.begin() + static_cast<std::ptrdiff_t>(place));
                }
                left = left.subspan(size);
            }
        }
    });
    for (std::size_t worker = 1; worker < tables.stumps.size(); ++worker) {
        tables.stumps[0].merge(tables.stumps[worker]);
    }
    return !control_.should_stop();
}

// With the price of the leaves taken off.
Amount CellForm::less_price(Amount gain, int n_leaves) const {
    return gain <= sums::nothing ? forbidden : gain - n_leaves * price_;
}

// The best trees below all tests of an axis. Pre: all is known of the pairs it is in.
std::vector<CellForm::Root> CellForm::find_roots(const Local& local, std::int32_t axis, const Tables& tables) const {
    const auto n_roots = static_cast<std::size_t>(local.axes[static_cast<std::size_t>(axis)].n_tests);
    std::vector<Root> roots(n_roots, Root{{{forbidden}, {forbidden}}});
    const std::size_t own = tables.stumps[0].place(axis, axis);
    for (std::size_t s = 0; s < n_roots; ++s) {
        roots[s].sides[0].gain = less_price(tables.leaves[own + 4 * s * n_roots + s], 1);
        roots[s].sides[1].gain = less_price(tables.leaves[own + (4 * s + 3) * n_roots + s], 1);
    }
    for (std::int32_t other = 0; other < static_cast<std::int32_t>(local.axes.size()); ++other) {
        const bool is_first = axis <= other;
        const std::int32_t first = std::min(axis, other);
        const std::int32_t second = std::max(axis, other);
        const std::size_t place = tables.stumps[0].place(first, second);
        const auto n_first = static_cast<std::size_t>(local.axes[static_cast<std::size_t>(first)].n_tests);
        const auto n_second = static_cast<std::size_t>(local.axes[static_cast<std::size_t>(second)].n_tests);
        for (std::size_t s = 0; s < n_first; ++s) {
            for (std::size_t t = 0; t < n_second; ++t) {
                Amount best[4];
                for (std::size_t q = 0; q < 4; ++q) {
                    const std::size_t at = place + (4 * s + q) * n_second + t;
                    best[q] = std::max(less_price(tables.leaves[at], 1), less_price(tables.stumps[0].gains()[at], 2));
                }
                Root& root = roots[is_first ? s : t];
                const auto child = static_cast<std::int32_t>(is_first ? t : s);
                const auto offer = [&](Side& side, Amount gain) {
                    if (gain > side.gain) {
                        side = {gain, local.axes[static_cast<std::size_t>(other)].first_test + child};
                    }
                };
                offer(root.sides[0], join(best[0], best[is_first ? 1 : 2]));
                offer(root.sides[1], join(best[is_first ? 2 : 1], best[3]));
            }
        }
    }
    return roots;
}

// Pre: the root test's axis is done.
NodePtr CellForm::read_tree(const RowSet& set, const Local& local, const Tables& tables, std::int32_t root_test,
                            const Root& root) const {
    const auto axis_of = [&](std::int32_t test) { return static_cast<std::int32_t>(local.axis_of(test)); };
    // Grows what stands below a test where it holds, and where it does not.
    const auto split = [&](const RowSet& rows, std::int32_t test, const auto& grow) {
        const LocalAxis& axis = local.axes[static_cast<std::size_t>(axis_of(test))];
        const std::int32_t code = axis.code_of(test - axis.first_test);
        const Split parts = split_rows(instance_, rows, axis.axis, code);
        NodePtr left = grow(parts.left, !axis.is_reversed);
        return make_split(axis.axis, code, std::move(left), grow(parts.right, axis.is_reversed));
    };
    const auto leaf = [&](const RowSet& rows) {
        Outcome lone;
        stumps_.put_leaf(rows, lone);
        return lone.tree[0];
    };
    return split(set, root_test, [&](const RowSet& side_rows, bool is_left) {
        const std::int32_t child = root.sides[is_left ? 0 : 1].child;
        if (child < 0) {
            return leaf(side_rows);
        }
        return split(side_rows, child, [&](const RowSet& rows, bool holds) {
            const bool is_first = axis_of(root_test) <= axis_of(child);
            const std::int32_t first = is_first ? root_test : child;
            const std::int32_t second = is_first ? child : root_test;
            const LocalAxis& first_axis = local.axes[static_cast<std::size_t>(axis_of(first))];
            const LocalAxis& second_axis = local.axes[static_cast<std::size_t>(axis_of(second))];
            const std::size_t quadrant = (is_first ? is_left : holds) ? ((is_first ? holds : is_left) ? 0 : 1)
                                                                      : ((is_first ? holds : is_left) ? 2 : 3);
            const std::size_t at = tables.stumps[0].place(axis_of(first), axis_of(second)) +
                                   (4 * static_cast<std::size_t>(first - first_axis.first_test) + quadrant) *
                                       static_cast<std::size_t>(second_axis.n_tests) +
                                   static_cast<std::size_t>(second - second_axis.first_test);
            if (less_price(tables.leaves[at], 1) >= less_price(tables.stumps[0].gains()[at], 2)) {
                return leaf(rows);
            }
            const auto test = static_cast<std::int32_t>(tables.stumps[0].best_tests()[at]);
            return split(rows, test, [&](const RowSet& part, bool) { return leaf(part); });
        });
    });
}

template <class Code>
void CellForm::solve_coded(const RowSet& set, const Local& local, int depth, int n_threads,
                           const std::function<void(const Outcome&)>& report, Outcome& outcome) const {
    Tables tables(local, rule_, choose_kernels(!control_.is_off(no_simd)), n_threads);
    SortedRows<Code> rows = sort_rows<Code>(set, local, tables);
    const auto cost_of = [&](Amount gain) { return (set.worst - gain) >> (rule_.n_labels == 1 ? 1 : 0); };
    Root best{{{forbidden}, {forbidden}}};
    std::int32_t best_test = -1;  // to be told of
    const auto tell = [&] {
        if (best_test >= 0) {
            outcome.tree[0] = read_tree(set, local, tables, std::exchange(best_test, -1), best);
            if (report) {
                report(outcome);
            }
        }
    };
    for (std::int32_t axis = 0; axis < static_cast<std::int32_t>(local.axes.size()); ++axis) {
        if (control_.should_stop()) {
            tell();
            return;
        }
        // Cells of two axes are in a near cache as they are.
        if (depth == 3) {
            rows.sort_by(axis);
        }
        if (!add_axis(rows, axis, depth, tables)) {
            tell();
            return;
        }
        const std::vector<Root> roots = find_roots(local, axis, tables);
        for (std::size_t s = 0; s < roots.size(); ++s) {
            const Amount gain = join(roots[s].sides[0].gain, roots[s].sides[1].gain);
            if (gain != forbidden && cost_of(gain) < outcome.value[0]) {
                outcome.value[0] = cost_of(gain);
                best = roots[s];
                best_test = local.axes[static_cast<std::size_t>(axis)].first_test + static_cast<std::int32_t>(s);
            }
        }
        if (report) {
            tell();
        }
    }
    tell();
    outcome.lower = outcome.value[0];
}

void CellForm::solve(const RowSet& set, const Local& local, int depth, int n_threads,
                     const std::function<void(const Outcome&)>& report, Outcome& outcome) const {
    const bool has_bytes = std::all_of(local.axes.begin(), local.axes.end(),
                                       [](const LocalAxis& axis) { return axis.n_codes <= most_byte_codes; });
    if (has_bytes) {
        solve_coded<std::uint8_t>(set, local, depth, n_threads, report, outcome);
    } else {
        solve_coded<std::uint16_t>(set, local, depth, n_threads, report, outcome);
    }
}

}  // namespace certree
