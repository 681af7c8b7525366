#include "two_labels.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <thread>

#include "prefix_tree.hpp"

namespace certree {

namespace {

std::int32_t padded(std::int32_t n) {
    return (n + Kernels::lanes - 1) / Kernels::lanes * Kernels::lanes;
}

Amount magnitude(Amount x) {
    return x < 0 ? -x : x;
}

constexpr std::int32_t most_small_total = 1 << 30;

}  // namespace

// The rows' balances on a 32-bit grid of 2^shift.
struct TwoLabels::Amounts {
    std::vector<std::int32_t> small;
    int shift = 0;
    Amount slack = 0;  // how far a gain may be off, 0 where the grid holds every balance

    Amounts(const Instance& instance, const RowSet& set) {
        Amount total = 0;
        Amount bits = 0;
        for (const std::int32_t row : set.rows) {
            const Amount balance = magnitude(instance.balance[static_cast<std::size_t>(row)]);
            total += balance;
            bits |= balance;
        }
        shift = bits == 0 ? 0 : std::countr_zero(static_cast<std::uint64_t>(bits));
        const Amount most = most_small_total - static_cast<Amount>(set.rows.size());
        const bool is_exact = (total >> shift) <= most;
        while ((total >> shift) > most) {
            ++shift;
        }
        slack = is_exact ? 0 : static_cast<Amount>(set.rows.size()) << (shift - 1);
        small.reserve(set.rows.size());
        const Amount half = is_exact ? 0 : Amount{1} << (shift - 1);
        for (const std::int32_t row : set.rows) {
            small.push_back(
                static_cast<std::int32_t>((instance.balance[static_cast<std::size_t>(row)] + half) >> shift));
        }
    }
};

// By root test and side, the largest Σ |d(leaf)| of a tree of one, two, three and four leaves. λ plays no part in them.
struct TwoLabels::Gains {
    std::vector<std::int32_t> left[4];
    std::vector<std::int32_t> right[4];

    explicit Gains(std::size_t n_tests) {
        for (int m = 0; m < 4; ++m) {
            left[m].assign(n_tests, 0);
            right[m].assign(n_tests, 0);
        }
    }

    void merge(const Gains& other) {
        for (int m = 0; m < 4; ++m) {
            for (std::size_t t = 0; t < left[m].size(); ++t) {
                left[m][t] = std::max(left[m][t], other.left[m][t]);
                right[m][t] = std::max(right[m][t], other.right[m][t]);
            }
        }
    }

    // The gain of the best tree under a root test: Σ |d(leaf)| − 2λ · leaves, at the scale of λ.
    Amount total(std::size_t test, int shift, Amount penalty) const {
        Amount l = -unreachable;
        Amount r = -unreachable;
        for (int m = 0; m < 4; ++m) {
            l = std::max(l, (Amount{left[m][test]} << shift) - 2 * penalty * (m + 1));
            r = std::max(r, (Amount{right[m][test]} << shift) - 2 * penalty * (m + 1));
        }
        return l + r;
    }
};

namespace {

std::int32_t stump_gain(std::int32_t d, std::int32_t high, std::int32_t low) {
    return static_cast<std::int32_t>(std::max(magnitude(2 * Amount{high} - d), magnitude(2 * Amount{low} - d)));
}

void raise(std::int32_t& value, std::int32_t other) {
    value = std::max(value, other);
}

// Where the tests of each axis stand in a line; −1 for an axis that is left out.
struct Layout {
    std::vector<std::int32_t> offset;
    std::int32_t size = 0;  // padded

    Layout() = default;
    // All axes but the ordered ones given (−1: none). Axes with one test stay last, as in Local.
    Layout(const Local& local, std::int32_t without_a, std::int32_t without_b) {
        offset.reserve(local.axes.size());
        std::int32_t next = 0;
        for (std::size_t c = 0; c < local.axes.size(); ++c) {
            const bool is_out = static_cast<std::int32_t>(c) == without_a || static_cast<std::int32_t>(c) == without_b;
            offset.push_back(is_out ? -1 : next);
            next += is_out ? 0 : local.axes[c].n_tests;
        }
        size = padded(next);
    }
};

// Adds rows to a line: what every test of the layout's axes gains when these rows join the set.
class LineBuilder {
public:
    LineBuilder(const Local& local, const std::vector<std::int32_t>& amounts, const Kernels& kernels, bool has_steps)
        : local_(local), amounts_(amounts), kernels_(kernels), has_steps_(has_steps) {
        first_single_ = local.axes.size() - static_cast<std::size_t>(local.n_single_axes);
        std::int64_t total = 0;
        for (const std::int32_t amount : amounts) {
            total += magnitude(amount);
        }
        is_short_ = total <= std::numeric_limits<std::int16_t>::max();
        single_width_ = (local.n_single_axes + 2 * Kernels::lanes - 1) / (2 * Kernels::lanes) * (2 * Kernels::lanes);
        is_short_ ? fill_single(short_single_) : fill_single(single_);
    }

    // scratch is zero before and after.
    void add(std::int32_t* line, const std::int32_t* rows, std::size_t n, const Layout& layout,
             std::int32_t* scratch) const {
        if (n == 0) {
            return;
        }
        const auto n_step = static_cast<std::size_t>(local_.n_step_axes);
        const bool is_many = !has_steps_ || n > 6;
        for (std::size_t c = 0; c < n_step; ++c) {
            const std::int32_t offset = layout.offset[c];
            if (offset < 0) {
                continue;
            }
            const LocalAxis& axis = local_.axes[c];
            if (is_many && (!has_steps_ || static_cast<std::int64_t>(n) * (axis.n_tests / 12 + 3) >
                                               static_cast<std::int64_t>(n) + 2 * axis.n_tests)) {
                for (std::size_t k = 0; k < n; ++k) {
                    scratch[axis.codes[rows[k]]] += amounts_[static_cast<std::size_t>(rows[k])];
                }
                std::int32_t sum = 0;
                std::int32_t* at = line + offset;
                for (std::int32_t t = 0; t < axis.n_tests; ++t) {
                    sum += scratch[t];
                    scratch[t] = 0;
                    at[t] += sum;
                }
                scratch[axis.n_tests] = 0;
            } else {
                kernels_.add_steps(line + offset, axis.n_tests, axis.codes, amounts_.data(), rows, n);
            }
        }
        for (std::size_t c = n_step; c < first_single_; ++c) {
            const LocalAxis& axis = local_.axes[c];
            std::int32_t* at = line + layout.offset[c];
            for (std::size_t k = 0; k < n; ++k) {
                const std::int32_t code = axis.codes[rows[k]];
                if (code < axis.n_tests) {
                    at[code] += amounts_[static_cast<std::size_t>(rows[k])];
                }
            }
        }
        if (local_.n_single_axes > 0) {
            std::int32_t* at = line + layout.offset[first_single_];
            if (is_short_) {
                kernels_.add_short_rows(at, short_single_.data(), single_width_, rows, n);
            } else {
                kernels_.add_rows(at, single_.data(), single_width_, rows, n);
            }
        }
    }

    // Kernels may touch up to two vectors beyond the padded tests.
    static std::size_t line_size(const Layout& layout) {
        return static_cast<std::size_t>(layout.size + 2 * Kernels::lanes);
    }

private:
    template <class Lines>
    void fill_single(Lines& lines) {
        const auto width = static_cast<std::size_t>(single_width_);
        lines.assign(width * amounts_.size(), 0);
        for (std::size_t c = first_single_; c < local_.axes.size(); ++c) {
            const std::int32_t* codes = local_.axes[c].codes;
            for (std::size_t i = 0; i < amounts_.size(); ++i) {
                if (codes[i] == 0) {
                    lines[i * width + (c - first_single_)] = static_cast<typename Lines::value_type>(amounts_[i]);
                }
            }
        }
    }

    const Local& local_;
    const std::vector<std::int32_t>& amounts_;
    const Kernels& kernels_;
    bool has_steps_;
    std::size_t first_single_ = 0;
    // A line of its own for every row, over the axes with one test; in 16 bits where all sums fit.
    std::int32_t single_width_ = 0;
    bool is_short_ = false;
    std::vector<std::int32_t> single_;
    std::vector<std::int16_t> short_single_;
};

// By axis, the rows on which some test may hold, in the order of their codes. Rows with the last code of an ordered
// axis are left out: they never join a side.
struct ActiveRows {
    struct Codes {
        std::vector<std::int32_t> rows;
        std::vector<std::int32_t> start;  // of each test's code in rows

        const std::int32_t* begin(std::int32_t test) const {
            return rows.data() + start[static_cast<std::size_t>(test)];
        }
        std::size_t size(std::int32_t test) const {
            return static_cast<std::size_t>(start[static_cast<std::size_t>(test) + 1] -
                                            start[static_cast<std::size_t>(test)]);
        }
    };
    std::vector<Codes> axes;

    explicit ActiveRows(const Local& local) : axes(local.axes.size()) {
        for (std::size_t a = 0; a < axes.size(); ++a) {
            const LocalAxis& axis = local.axes[a];
            if (axis.n_tests == 1) {
                for (std::int32_t i = 0; i < local.n_rows; ++i) {
                    if (axis.codes[i] == 0) {
                        axes[a].rows.push_back(i);
                    }
                }
                axes[a].start = {0, static_cast<std::int32_t>(axes[a].rows.size())};
                continue;
            }
            std::vector<std::int32_t>& start = axes[a].start;
            start.assign(static_cast<std::size_t>(axis.n_tests) + 2, 0);
            for (std::int32_t i = 0; i < local.n_rows; ++i) {
                ++start[static_cast<std::size_t>(axis.codes[i]) + 1];
            }
            start.pop_back();
            for (std::size_t c = 1; c < start.size(); ++c) {
                start[c] += start[c - 1];
            }
            axes[a].rows.resize(static_cast<std::size_t>(start.back()));
            std::vector<std::int32_t> next(start.begin(), start.end() - 1);
            for (std::int32_t i = 0; i < local.n_rows; ++i) {
                if (axis.codes[i] < axis.n_tests) {
                    axes[a].rows[static_cast<std::size_t>(next[static_cast<std::size_t>(axis.codes[i])]++)] = i;
                }
            }
        }
    }
};

}  // namespace

// For every pair of tests, the signed sum of the rows on which both hold.
struct TwoLabels::PairTable {
    Layout layout;
    std::size_t stride;
    std::vector<std::int32_t> cells;
    std::vector<std::int32_t> total;  // by test: the rows on which it holds
    std::int32_t all = 0;

    explicit PairTable(const Local& local)
        : layout(local, -1, -1),
          stride(LineBuilder::line_size(layout)),
          cells(stride * static_cast<std::size_t>(local.n_tests)) {}
    std::int32_t* row(std::int32_t test) { return cells.data() + stride * static_cast<std::size_t>(test); }
    const std::int32_t* row(std::int32_t test) const { return cells.data() + stride * static_cast<std::size_t>(test); }
};

// What the closed forms of one row set share.
struct TwoLabels::Prepared {
    Amounts amounts;
    ActiveRows active;
    LineBuilder builder;

    Prepared(const Instance& instance, const RowSet& set, const Local& local, const Kernels& kernels, bool has_steps)
        : amounts(instance, set), active(local), builder(local, amounts.small, kernels, has_steps) {}
};

TwoLabels::TwoLabels(const Instance& instance, const Control& control, std::size_t table_bytes)
    : instance_(instance),
      control_(control),
      kernels_(choose_kernels(!control.is_off(no_simd))),
      table_bytes_(table_bytes) {}

// Depth one, in 64 bits.
Amount TwoLabels::best_stump(const RowSet& set, const Local& local, std::int32_t& test) const {
    std::vector<Amount> sums;
    Amount best = -unreachable;
    const auto look = [&](Amount x, std::int32_t t) {
        const Amount gain = std::max(magnitude(set.balance), magnitude(2 * x - set.balance)) - 4 * instance_.penalty;
        if (gain > best) {
            best = gain;
            test = t;
        }
    };
    for (const LocalAxis& axis : local.axes) {
        sums.assign(static_cast<std::size_t>(axis.n_codes), 0);
        for (std::size_t i = 0; i < set.rows.size(); ++i) {
            sums[static_cast<std::size_t>(axis.codes[i])] += instance_.balance[static_cast<std::size_t>(set.rows[i])];
        }
        Amount sum = 0;
        for (std::int32_t t = 0; t < axis.n_tests; ++t) {
            sum = axis.is_categorical ? sums[static_cast<std::size_t>(t)] : sum + sums[static_cast<std::size_t>(t)];
            look(sum, axis.first_test + t);
        }
    }
    return best;
}

// Depth two: by root test, the better of leaf and stump on either side. Fills the pair table where one is asked for.
void TwoLabels::pair_gains(const Local& local, const Prepared& prepared, Gains& gains, PairTable* table) const {
    const Amounts& amounts = prepared.amounts;
    const LineBuilder& builder = prepared.builder;
    const std::int32_t n_rows = local.n_rows;
    std::int32_t all = 0;
    for (const std::int32_t amount : amounts.small) {
        all += amount;
    }
    std::int32_t most_codes = 0;
    for (const LocalAxis& axis : local.axes) {
        most_codes = std::max(most_codes, axis.n_codes);
    }
    std::vector<std::int32_t> scratch(static_cast<std::size_t>(most_codes) + 1, 0);
    std::vector<std::int32_t> everyone(static_cast<std::size_t>(n_rows));
    for (std::int32_t i = 0; i < n_rows; ++i) {
        everyone[static_cast<std::size_t>(i)] = i;
    }
    const Layout whole(local, -1, -1);
    std::vector<std::int32_t> total(LineBuilder::line_size(whole), 0);
    builder.add(total.data(), everyone.data(), everyone.size(), whole, scratch.data());
    if (table != nullptr) {
        table->all = all;
        table->total = total;
    }

    // Which axes are walked by a prefix tree under root axis a rather than laid out as a line.
    const auto is_tree_cheaper = [&](const LocalAxis& root, const LocalAxis& axis) {
        if (table != nullptr || axis.is_categorical || axis.n_tests < 2 || control_.is_off(no_prefix_trees)) {
            return false;
        }
        if (control_.is_off(no_tables)) {
            return true;
        }
        const double line =
            static_cast<double>(root.n_tests) * axis.n_tests * 0.4 +
            std::min<double>(n_rows * (axis.n_tests / 14.0 + 3.0), n_rows + 1.5 * root.n_tests * axis.n_tests);
        const double tree =
            (root.is_categorical ? static_cast<double>(root.n_tests) * axis.n_tests * 8.0 : axis.n_tests * 8.0) +
            n_rows * 4.0 * std::log2(axis.n_tests + 1.0);
        return tree < line;
    };
    std::vector<std::unique_ptr<PrefixTree>> trees(local.axes.size());
    std::vector<std::vector<std::int32_t>> by_code(local.axes.size());
    const auto reset_tree = [&](std::size_t c) -> PrefixTree& {
        const LocalAxis& axis = local.axes[c];
        if (!trees[c]) {
            trees[c] = std::make_unique<PrefixTree>(axis.n_tests);
            by_code[c].assign(static_cast<std::size_t>(axis.n_tests), 0);
            for (std::int32_t i = 0; i < n_rows; ++i) {
                if (axis.codes[i] < axis.n_tests) {
                    by_code[c][static_cast<std::size_t>(axis.codes[i])] += amounts.small[static_cast<std::size_t>(i)];
                }
            }
        }
        trees[c]->reset(by_code[c]);
        return *trees[c];
    };

    std::vector<std::int32_t> line;
    std::vector<std::int32_t> line_total;
    std::vector<Extremes> extremes;
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const LocalAxis& root = local.axes[a];
        const ActiveRows::Codes& active = prepared.active.axes[a];
        extremes.assign(static_cast<std::size_t>(root.n_tests), Extremes{});
        Layout layout;
        for (std::size_t c = 0; c < local.axes.size(); ++c) {
            const LocalAxis& axis = local.axes[c];
            if (!is_tree_cheaper(root, axis)) {
                layout.offset.push_back(layout.size);
                layout.size += axis.n_tests;
                continue;
            }
            layout.offset.push_back(-1);
            for (std::int32_t test = 0; test < root.n_tests; ++test) {
                if (control_.should_stop()) {
                    return;
                }
                // Sides of an ordered root axis grow from test to test; those of a category start anew.
                PrefixTree& tree = reset_tree(c);
                const std::int32_t n_tests = root.is_categorical ? 1 : root.n_tests;
                kernels_.walk(tree, active.rows.data(), active.start.data() + test, n_tests, axis.codes, axis.n_tests,
                              amounts.small.data(), extremes.data() + test);
                if (!root.is_categorical) {
                    break;
                }
            }
        }
        layout.size = padded(layout.size);
        line.assign(LineBuilder::line_size(layout), 0);
        line_total.assign(LineBuilder::line_size(layout), 0);
        for (std::size_t c = 0; c < local.axes.size(); ++c) {
            if (layout.offset[c] >= 0) {
                std::copy_n(total.data() + local.axes[c].first_test, local.axes[c].n_tests,
                            line_total.data() + layout.offset[c]);
            }
        }
        for (std::int32_t test = 0; test < root.n_tests; ++test) {
            if (control_.should_stop()) {
                return;
            }
            if (root.is_categorical && test > 0) {
                std::fill(line.begin(), line.end(), 0);
            }
            Extremes& here = extremes[static_cast<std::size_t>(test)];
            if (layout.size > 0) {
                builder.add(line.data(), active.begin(test), active.size(test), layout, scratch.data());
                kernels_.halves(line.data(), line_total.data(), layout.size, here);
            }
            const auto t = static_cast<std::size_t>(root.first_test + test);
            const std::int32_t d = total[t];
            gains.left[0][t] = static_cast<std::int32_t>(magnitude(d));
            gains.left[1][t] = stump_gain(d, here.high[0], here.low[0]);
            gains.right[0][t] = static_cast<std::int32_t>(magnitude(all - d));
            gains.right[1][t] = stump_gain(all - d, here.high[1], here.low[1]);
            if (table != nullptr) {
                std::copy(line.begin(), line.end(), table->row(static_cast<std::int32_t>(t)));
            }
        }
    }
}

namespace {

// Extremes of four quadrants for a run of second tests, in one allocation that is kept.
struct QuadrantBuffer {
    std::vector<std::int32_t> values;

    QuadrantExtremes reset(std::size_t n) {
        values.assign(8 * n, 0);
        QuadrantExtremes view;
        for (std::size_t q = 0; q < 4; ++q) {
            view.high[q] = values.data() + q * n;
            view.low[q] = values.data() + (4 + q) * n;
        }
        return view;
    }
    void clear() { std::fill(values.begin(), values.end(), 0); }
};

// Buffers of one worker of the depth-three form, kept from pair to pair.
struct TripleWork {
    std::vector<std::int32_t> rows;
    std::vector<std::int32_t> start;
    std::vector<std::int32_t> first;   // lines of the first axis's tests
    std::vector<std::int32_t> rest;    // total − first
    std::vector<std::int32_t> second;  // lines of the second axis's tests
    std::vector<std::int32_t> slab;
    std::vector<std::int32_t> line;
    std::vector<std::int32_t> total;
    std::vector<std::int32_t> scratch;
    std::vector<std::int32_t> above;
    std::vector<std::int32_t> lines;
    std::vector<std::uint64_t> bits;
    QuadrantBuffer quadrants;
    QuadrantBuffer below;
    Layout compact;
};

}  // namespace

// Depth three: for every pair of tests the best leaf or stump in each of the four quadrants; a side of a root test is
// then the best pair of its quadrants. Each pair of axes is one task; quadrants serve both of its tests as root.
void TwoLabels::triple_gains(const Local& local, const Prepared& prepared, const PairTable& table, Gains& gains,
                             int n_threads) const {
    const LineBuilder& builder = prepared.builder;
    const Gains shallow = gains;
    const auto n_axes = static_cast<std::int32_t>(local.axes.size());
    const auto is_step = [&](std::int32_t a) { return a < local.n_step_axes; };
    const std::int32_t first_single = n_axes - local.n_single_axes;
    std::int32_t most_codes = 0;
    for (const LocalAxis& axis : local.axes) {
        most_codes = std::max(most_codes, axis.n_codes);
    }

    const auto own_axis = [&](std::int32_t a, Gains& mine) {
        // Both tests on one axis: the quadrants are intervals of it (ordered), or one category, another, and the rest.
        const LocalAxis& axis = local.axes[static_cast<std::size_t>(a)];
        std::vector<std::int32_t> rest(axis.is_categorical ? table.total.size() : 0);
        for (std::int32_t i = 0; i < axis.n_tests; ++i) {
            if (control_.should_stop()) {
                return;
            }
            const auto ti = static_cast<std::size_t>(axis.first_test + i);
            const std::int32_t* row_i = table.row(axis.first_test + i);
            for (std::size_t t = 0; t < rest.size(); ++t) {
                rest[t] = table.total[t] - row_i[t];
            }
            for (std::int32_t j = i + 1; j < axis.n_tests; ++j) {
                const auto tj = static_cast<std::size_t>(axis.first_test + j);
                Extremes extremes;
                // A side of a root test made of a part already known (leaf, stump) and a part seen here for the first
                // time.
                const auto join = [](std::vector<std::int32_t>* side, std::size_t root, std::int32_t leaf,
                                     std::int32_t stump, std::int32_t new_leaf, std::int32_t new_stump) {
                    raise(side[2][root], std::max(stump + new_leaf, leaf + new_stump));
                    raise(side[3][root], stump + new_stump);
                };
                if (axis.is_categorical) {
                    kernels_.difference(rest.data(), table.row(axis.first_test + j), table.layout.size, extremes);
                    const std::int32_t d = table.all - table.total[ti] - table.total[tj];
                    const auto leaf = static_cast<std::int32_t>(magnitude(d));
                    const std::int32_t stump = stump_gain(d, extremes.high[0], extremes.low[0]);
                    join(mine.right, ti, shallow.left[0][tj], shallow.left[1][tj], leaf, stump);
                    join(mine.right, tj, shallow.left[0][ti], shallow.left[1][ti], leaf, stump);
                } else {
                    kernels_.difference(table.row(axis.first_test + j), row_i, table.layout.size, extremes);
                    const std::int32_t d = table.total[tj] - table.total[ti];
                    const auto leaf = static_cast<std::int32_t>(magnitude(d));
                    const std::int32_t stump = stump_gain(d, extremes.high[0], extremes.low[0]);
                    join(mine.left, tj, shallow.left[0][ti], shallow.left[1][ti], leaf, stump);
                    join(mine.right, ti, shallow.right[0][tj], shallow.right[1][tj], leaf, stump);
                }
            }
        }
    };

    const auto two_axes = [&](std::int32_t a, std::int32_t b, Gains& mine, TripleWork& work) {
        const LocalAxis& axis_a = local.axes[static_cast<std::size_t>(a)];
        const LocalAxis& axis_b = local.axes[static_cast<std::size_t>(b)];
        const std::int32_t n_a = axis_a.n_tests;
        const std::int32_t n_b = axis_b.n_tests;
        // Lines without the pair's own axes are shorter; but copying them only pays where those axes are a good part.
        const bool is_compact = 6 * ((is_step(a) ? n_a : 0) + (is_step(b) ? n_b : 0)) > local.n_tests;
        if (is_compact) {
            work.compact = Layout(local, is_step(a) ? a : -1, is_step(b) ? b : -1);
        }
        const Layout& layout = is_compact ? work.compact : table.layout;
        const std::size_t stride = LineBuilder::line_size(layout);
        const auto n_second = static_cast<std::size_t>(padded(n_b));
        const auto pairs_of = [&](std::int32_t i) { return table.row(axis_a.first_test + i) + axis_b.first_test; };
        const std::int32_t* b_sum = table.total.data() + axis_b.first_test;
        const QuadrantExtremes extremes = work.quadrants.reset(n_second);
        // Stumps on the pair's own ordered axes come from the pair table by running extremes. Those of axis a above
        // each threshold are laid down in advance, from the last threshold to the first.
        const bool has_own_a = is_compact && is_step(a);
        const bool has_own_b = is_compact && is_step(b);
        const QuadrantExtremes below = work.below.reset(has_own_a ? n_second : 0);
        if (has_own_a) {
            work.above.resize(4 * n_second * static_cast<std::size_t>(n_a));
            std::int32_t* next = nullptr;
            for (std::int32_t i = n_a - 1; i >= 0; --i) {
                std::int32_t* here = work.above.data() + 4 * n_second * static_cast<std::size_t>(i);
                const std::int32_t* both = pairs_of(i);
                const std::int32_t a_sum = table.total[static_cast<std::size_t>(axis_a.first_test + i)];
                for (std::size_t j = 0; j < static_cast<std::size_t>(n_b); ++j) {
                    const std::int32_t only = a_sum - both[j];
                    here[j] = next != nullptr ? std::max(next[j], both[j]) : both[j];
                    here[n_second + j] = next != nullptr ? std::min(next[n_second + j], both[j]) : both[j];
                    here[2 * n_second + j] = next != nullptr ? std::max(next[2 * n_second + j], only) : only;
                    here[3 * n_second + j] = next != nullptr ? std::min(next[3 * n_second + j], only) : only;
                }
                next = here;
            }
        }
        const auto widen_by_own = [&](std::int32_t i, std::int32_t a_sum) {
            const std::int32_t* both = pairs_of(i);
            if (has_own_a) {
                kernels_.own_before(n_b, both, a_sum, below.high, below.low, extremes);
                const std::int32_t* here = work.above.data() + 4 * n_second * static_cast<std::size_t>(i);
                const std::int32_t* const high[2] = {here, here + 2 * n_second};
                const std::int32_t* const low[2] = {here + n_second, here + 3 * n_second};
                kernels_.own_after(n_b, both, a_sum, high, low, extremes);
            }
            if (has_own_b) {
                Extremes run;  // side 0: sums with a, side 1: without
                const auto widen = [&](int quadrant, std::size_t j, std::int32_t high, std::int32_t low) {
                    raise(extremes.high[quadrant][j], high);
                    extremes.low[quadrant][j] = std::min(extremes.low[quadrant][j], low);
                };
                const auto pass = [&](int side, std::int32_t value) {
                    raise(run.high[side], value);
                    run.low[side] = std::min(run.low[side], value);
                };
                for (std::size_t j = 0; j < static_cast<std::size_t>(n_b); ++j) {
                    widen(0, j, run.high[0], run.low[0]);
                    widen(2, j, run.high[1], run.low[1]);
                    pass(0, both[j]);
                    pass(1, b_sum[j] - both[j]);
                }
                const auto last = static_cast<std::size_t>(n_b - 1);
                run.high[0] = run.low[0] = both[last];
                run.high[1] = run.low[1] = b_sum[last] - both[last];
                for (std::size_t j = last; j-- > 0;) {
                    const std::int32_t only = b_sum[j] - both[j];
                    widen(1, j, run.high[0] - both[j], run.low[0] - both[j]);
                    widen(3, j, run.high[1] - only, run.low[1] - only);
                    pass(0, both[j]);
                    pass(1, only);
                }
            }
        };

        const auto gather = [&](const std::int32_t* from, std::int32_t* to) {
            for (std::size_t c = 0; c < local.axes.size(); ++c) {
                if (layout.offset[c] >= 0) {
                    std::copy_n(from + local.axes[c].first_test, local.axes[c].n_tests, to + layout.offset[c]);
                }
            }
        };
        const std::int32_t* total = table.total.data();
        if (is_compact) {
            work.total.assign(stride, 0);
            gather(table.total.data(), work.total.data());
            total = work.total.data();
            work.second.assign(stride * static_cast<std::size_t>(n_b), 0);
            for (std::int32_t j = 0; j < n_b; ++j) {
                gather(table.row(axis_b.first_test + j), work.second.data() + stride * static_cast<std::size_t>(j));
            }
            work.first.assign(stride, 0);
        }
        work.rest.assign(stride, 0);
        const bool is_sum = !axis_a.is_categorical && n_a > 1;
        if (is_sum) {
            work.slab.assign(stride * static_cast<std::size_t>(n_b), 0);
        }
        // Rows in the order of their code on a, and within it on b.
        work.start.assign(static_cast<std::size_t>(n_a) + 2, 0);
        const std::vector<std::int32_t>& by_b = prepared.active.axes[static_cast<std::size_t>(b)].rows;
        for (const std::int32_t row : by_b) {
            ++work.start[static_cast<std::size_t>(axis_a.codes[row]) + 1];
        }
        for (std::size_t i = 1; i < work.start.size(); ++i) {
            work.start[i] += work.start[i - 1];
        }
        work.rows.resize(by_b.size());
        for (const std::int32_t row : by_b) {
            work.rows[static_cast<std::size_t>(work.start[static_cast<std::size_t>(axis_a.codes[row])]++)] = row;
        }
        std::int32_t at_row = 0;
        work.line.assign(stride, 0);
        for (std::int32_t i = 0; i < n_a; ++i) {
            if (control_.should_stop()) {
                return;
            }
            const auto ti = static_cast<std::size_t>(axis_a.first_test + i);
            const std::int32_t* first = table.row(axis_a.first_test + i);
            if (is_compact) {
                gather(first, work.first.data());
                first = work.first.data();
            }
            for (std::int32_t t = 0; t < layout.size; ++t) {
                work.rest[static_cast<std::size_t>(t)] = total[t] - first[t];
            }
            if (i > 0) {
                std::fill(work.line.begin(), work.line.end(), 0);
            }
            work.quadrants.clear();
            const std::int32_t a_sum = table.total[ti];
            widen_by_own(i, a_sum);
            for (std::int32_t j = 0; j < n_b; ++j) {
                if (axis_b.is_categorical && j > 0) {
                    std::fill(work.line.begin(), work.line.end(), 0);
                }
                const std::int32_t from = at_row;
                while (at_row < work.start[static_cast<std::size_t>(i)] &&
                       axis_b.codes[work.rows[static_cast<std::size_t>(at_row)]] == j) {
                    ++at_row;
                }
                builder.add(work.line.data(), work.rows.data() + from, static_cast<std::size_t>(at_row - from), layout,
                            work.scratch.data());
                const std::int32_t* second = is_compact ? work.second.data() + stride * static_cast<std::size_t>(j)
                                                        : table.row(axis_b.first_test + j);
                kernels_.quadrants(is_sum ? work.slab.data() + stride * static_cast<std::size_t>(j) : nullptr,
                                   work.line.data(), first, second, work.rest.data(), layout.size, extremes,
                                   static_cast<std::size_t>(j));
            }
            RootGains root{{mine.left[2][ti], mine.left[3][ti]}, {mine.right[2][ti], mine.right[3][ti]}};
            const auto tb = static_cast<std::size_t>(axis_b.first_test);
            kernels_.meet(n_b, pairs_of(i), b_sum, a_sum, table.all, extremes, root, mine.left[2].data() + tb,
                          mine.left[3].data() + tb, mine.right[2].data() + tb, mine.right[3].data() + tb);
            mine.left[2][ti] = root.left.three;
            mine.left[3][ti] = root.left.four;
            mine.right[2][ti] = root.right.three;
            mine.right[3][ti] = root.right.four;
        }
    };

    // Axis a has one test, and so have all axes after it: those are the second tests, in one sweep. Rows on which the
    // first test holds are laid side by side, and what a second test keeps of them is found by its bits.
    const auto single_axes = [&](std::int32_t a, Gains& mine, TripleWork& work) {
        const LocalAxis& axis_a = local.axes[static_cast<std::size_t>(a)];
        const std::int32_t n_b = n_axes - a - 1;
        if (n_b == 0) {
            return;
        }
        const std::vector<std::int32_t>& rows = prepared.active.axes[static_cast<std::size_t>(a)].rows;
        const std::int32_t ta = axis_a.first_test;
        const std::int32_t* first = table.row(ta);
        const std::int32_t n = table.layout.size;
        work.rest.resize(static_cast<std::size_t>(n));
        for (std::int32_t t = 0; t < n; ++t) {
            work.rest[static_cast<std::size_t>(t)] = table.total[static_cast<std::size_t>(t)] - first[t];
        }
        const auto n_words = (rows.size() + 63) / 64;
        work.bits.assign(n_words * static_cast<std::size_t>(n_b), 0);
        for (std::int32_t j = 0; j < n_b; ++j) {
            const std::int32_t* codes = local.axes[static_cast<std::size_t>(a + 1 + j)].codes;
            std::uint64_t* bits = work.bits.data() + n_words * static_cast<std::size_t>(j);
            for (std::size_t k = 0; k < rows.size(); ++k) {
                bits[k / 64] |= static_cast<std::uint64_t>(codes[rows[k]] == 0 ? 1 : 0) << (k % 64);
            }
        }
        const QuadrantExtremes extremes = work.quadrants.reset(static_cast<std::size_t>(padded(n_b)));
        work.line.assign(table.stride, 0);
        for (std::int32_t j = 0; j < n_b; ++j) {
            if (control_.should_stop()) {
                return;
            }
            const std::uint64_t* bits = work.bits.data() + n_words * static_cast<std::size_t>(j);
            work.rows.clear();
            for (std::size_t w = 0; w < n_words; ++w) {
                for (std::uint64_t rest = bits[w]; rest != 0; rest &= rest - 1) {
                    work.rows.push_back(rows[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))]);
                }
            }
            std::fill_n(work.line.begin(), n, 0);
            builder.add(work.line.data(), work.rows.data(), work.rows.size(), table.layout, work.scratch.data());
            kernels_.quadrants(nullptr, work.line.data(), first, table.row(ta + 1 + j), work.rest.data(), n, extremes,
                               static_cast<std::size_t>(j));
        }
        const auto ti = static_cast<std::size_t>(ta);
        RootGains root{{mine.left[2][ti], mine.left[3][ti]}, {mine.right[2][ti], mine.right[3][ti]}};
        kernels_.meet(n_b, first + ta + 1, table.total.data() + ta + 1, table.total[ti], table.all, extremes, root,
                      mine.left[2].data() + ta + 1, mine.left[3].data() + ta + 1, mine.right[2].data() + ta + 1,
                      mine.right[3].data() + ta + 1);
        mine.left[2][ti] = root.left.three;
        mine.left[3][ti] = root.left.four;
        mine.right[2][ti] = root.right.three;
        mine.right[3][ti] = root.right.four;
    };

    struct Task {
        std::int32_t a;
        std::int32_t b;
        double cost;
    };
    std::vector<Task> tasks;
    for (std::int32_t a = 0; a < n_axes; ++a) {
        if (a >= first_single) {
            tasks.push_back({a, -1, static_cast<double>(n_axes - a)});
            continue;
        }
        for (std::int32_t b = a; b < n_axes; ++b) {
            const double n_a = local.axes[static_cast<std::size_t>(a)].n_tests;
            const double n_b = local.axes[static_cast<std::size_t>(b)].n_tests;
            tasks.push_back({a, b, n_a * n_b * (a == b ? 0.2 : 1.0)});
        }
    }
    if (n_threads > 1) {
        std::stable_sort(tasks.begin(), tasks.end(), [](const Task& x, const Task& y) { return x.cost > y.cost; });
    }
    std::atomic<std::size_t> next{0};
    const auto work_off = [&](Gains& mine) {
        TripleWork work;
        work.scratch.assign(static_cast<std::size_t>(most_codes) + 1, 0);
        for (std::size_t t = next++; t < tasks.size(); t = next++) {
            if (tasks[t].b < 0) {
                single_axes(tasks[t].a, mine, work);
            } else if (tasks[t].a == tasks[t].b) {
                own_axis(tasks[t].a, mine);
            } else {
                // The axis with fewer tests outside: what is done once for each of its tests is done less often.
                const bool is_in_order = local.axes[static_cast<std::size_t>(tasks[t].a)].n_tests <=
                                         local.axes[static_cast<std::size_t>(tasks[t].b)].n_tests;
                two_axes(is_in_order ? tasks[t].a : tasks[t].b, is_in_order ? tasks[t].b : tasks[t].a, mine, work);
            }
        }
    };
    std::vector<Gains> theirs(static_cast<std::size_t>(std::max(0, n_threads - 1)), Gains(gains.left[0].size()));
    std::vector<std::thread> workers;
    for (Gains& mine : theirs) {
        workers.emplace_back([&work_off, &mine] { work_off(mine); });
    }
    work_off(gains);
    for (std::size_t w = 0; w < workers.size(); ++w) {
        workers[w].join();
        gains.merge(theirs[w]);
    }
}

namespace {

// Forecasts in cycles, fitted by eye to measurements; only choices of method hang on them.
double triple_cycles(const Local& local) {
    const double n_tests = local.n_tests;
    const auto n_axes = static_cast<double>(local.axes.size());
    double squares = 0.0;
    for (const LocalAxis& axis : local.axes) {
        squares += static_cast<double>(axis.n_tests) * axis.n_tests;
    }
    return 0.5 * (n_tests * n_tests - squares) * (n_tests * 0.8 + 40.0) +
           0.5 * local.n_rows * n_axes * n_axes * (n_axes + 5.0) + squares * n_tests * 0.15;
}

double pair_cycles(const Local& local) {
    const double n_tests = local.n_tests;
    const auto n_axes = static_cast<double>(local.axes.size());
    return local.n_rows * n_axes * n_axes * 2.0 + n_tests * n_tests;
}

// The pair table, and two slabs of lines, one for each test of the widest axis.
std::size_t triple_bytes(const Local& local) {
    std::size_t widest = 0;
    for (const LocalAxis& axis : local.axes) {
        widest = std::max(widest, static_cast<std::size_t>(axis.n_tests));
    }
    const auto line = static_cast<std::size_t>(local.n_tests + 2 * Kernels::lanes) * sizeof(std::int32_t);
    return line * (static_cast<std::size_t>(local.n_tests) + 2 * widest);
}

constexpr std::size_t most_triple_bytes = std::size_t{256} << 20;

}  // namespace

bool TwoLabels::triples_pay(const Local& local) const {
    if (triple_bytes(local) > std::min(most_triple_bytes, table_bytes_)) {
        return false;
    }
    // The alternative: closed forms of depth two on both sides of those root tests that intervals cannot rule out.
    constexpr double share_looked_at = 0.4;
    return control_.is_off(no_cost_model) ||
           triple_cycles(local) < share_looked_at * local.n_tests * pair_cycles(local);
}

double TwoLabels::triple_seconds(const Local& local) const {
    return triples_pay(local) ? triple_cycles(local) / 2.5e9 : 1e9;
}

// Pre: depth is 1, 2 or 3. Post: either `value` is the optimum, or no tree costs less than the budget.
TwoLabels::Answer TwoLabels::solve(const RowSet& set, const Local& local, int depth, Amount budget,
                                   int n_threads) const {
    const Amount penalty = instance_.penalty;
    const Amount leaf_gain = magnitude(set.balance) - 2 * penalty;
    const auto to_cost = [&](Amount gain) { return (set.worst - gain) >> 1; };
    Answer answer;
    answer.value = leaf_value(set);
    if (local.n_tests == 0) {
        answer.lower = answer.value;
        return answer;
    }
    const auto set_root = [&](std::int32_t test) {
        answer.axis = local.axes[static_cast<std::size_t>(local.test_axis[static_cast<std::size_t>(test)])].axis;
        answer.code = local.test_code[static_cast<std::size_t>(test)];
    };
    if (depth == 1) {
        std::int32_t test = -1;
        const Amount gain = best_stump(set, local, test);
        if (gain > leaf_gain) {
            answer.value = to_cost(gain);
            set_root(test);
        }
        answer.lower = answer.value;
        return answer;
    }
    const Prepared prepared(instance_, set, local, kernels_, !control_.is_off(no_steps));
    const Amounts& amounts = prepared.amounts;
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    Gains gains(n_tests);
    if (depth == 2) {
        pair_gains(local, prepared, gains, nullptr);
    } else {
        PairTable table(local);
        pair_gains(local, prepared, gains, &table);
        if (!control_.should_stop()) {
            triple_gains(local, prepared, table, gains, n_threads);
        }
    }
    if (control_.should_stop()) {
        answer.lower = std::min(answer.value, 2 * penalty);
        return answer;
    }
    // No split can save more than everything, less its two penalties.
    const Amount most = set.worst - 4 * penalty;
    std::vector<std::int32_t> candidates;
    std::vector<Amount> bound(n_tests);
    Amount best = -unreachable;
    for (std::size_t t = 0; t < n_tests; ++t) {
        bound[t] = std::min(most, gains.total(t, amounts.shift, penalty) + amounts.slack);
        if (bound[t] > best) {
            best = bound[t];
            candidates.assign(1, static_cast<std::int32_t>(t));
        }
    }
    answer.lower = to_cost(std::max(leaf_gain, best));
    if (answer.lower >= budget || best <= leaf_gain) {
        answer.value = answer.lower >= budget ? answer.value : leaf_value(set);
        answer.lower = std::min(answer.lower, answer.value);
        return answer;
    }
    if (amounts.slack == 0) {
        answer.value = answer.lower;
        set_root(candidates.front());
        return answer;
    }
    // Rounded amounts: every root test that may be the best is solved exactly, most promising first.
    candidates.clear();
    Amount goal = std::min(budget, answer.value);
    for (std::size_t t = 0; t < n_tests; ++t) {
        if (to_cost(bound[t]) < goal) {
            candidates.push_back(static_cast<std::int32_t>(t));
        }
    }
    std::sort(candidates.begin(), candidates.end(), [&](std::int32_t x, std::int32_t y) {
        const Amount gx = bound[static_cast<std::size_t>(x)];
        const Amount gy = bound[static_cast<std::size_t>(y)];
        return gx != gy ? gx > gy : x < y;
    });
    for (const std::int32_t test : candidates) {
        if (to_cost(bound[static_cast<std::size_t>(test)]) >= goal) {
            break;
        }
        const LocalAxis& axis = local.axes[static_cast<std::size_t>(local.test_axis[static_cast<std::size_t>(test)])];
        const Split split = split_rows(instance_, set, axis, test - axis.first_test);
        // Sides may be swapped here; only their sum matters.
        const Answer left = solve(split.left, Local(instance_, split.left), depth - 1, goal - penalty);
        if (left.lower + penalty >= goal) {
            continue;
        }
        const Answer right = solve(split.right, Local(instance_, split.right), depth - 1, goal - left.value);
        if (control_.should_stop()) {
            return answer;
        }
        if (left.value + right.value < goal) {
            goal = left.value + right.value;
            answer.value = goal;
            set_root(test);
            NodePtr left_tree = tree_of(split.left, depth - 1, left);
            NodePtr right_tree = tree_of(split.right, depth - 1, right);
            if (axis.is_reversed) {
                std::swap(left_tree, right_tree);
            }
            answer.tree = make_split(answer.axis, answer.code, std::move(left_tree), std::move(right_tree));
        }
    }
    answer.lower = std::max(answer.lower, goal);
    return answer;
}

NodePtr TwoLabels::tree_of(const RowSet& set, int depth, const Answer& answer) const {
    return answer.tree ? answer.tree : extract_below(set, {depth, answer.axis, answer.code});
}

NodePtr TwoLabels::extract_below(const RowSet& set, const ClosedRoot& root) const {
    if (root.axis < 0) {
        return make_leaf(leaf_label(set));
    }
    const Split split = split_rows(instance_, set, root.axis, root.code);
    return make_split(root.axis, root.code, extract(split.left, root.depth - 1), extract(split.right, root.depth - 1));
}

NodePtr TwoLabels::extract(const RowSet& set, int depth) const {
    if (depth == 0 || set.rows.empty()) {
        return make_leaf(leaf_label(set));
    }
    return tree_of(set, depth, solve(set, Local(instance_, set), depth, unreachable));
}

}  // namespace certree
