#include "two_labels.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
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

} // namespace

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
            small.push_back(static_cast<std::int32_t>((instance.balance[static_cast<std::size_t>(row)] + half) >> shift));
        }
    }
};

// By root test, the best gain of each side: Σ |d(leaf)| − 2λ · leaves.
struct TwoLabels::Gains {
    std::vector<Amount> left;
    std::vector<Amount> right;

    explicit Gains(std::size_t n_tests) : left(n_tests, -unreachable), right(n_tests, -unreachable) {}

    void merge(const Gains& other) {
        for (std::size_t t = 0; t < left.size(); ++t) {
            left[t] = std::max(left[t], other.left[t]);
            right[t] = std::max(right[t], other.right[t]);
        }
    }
};

namespace {

// Turns signed sums into gains at the scale of λ.
struct Scale {
    int shift;
    Amount two_penalties;

    Amount leaf(std::int32_t d) const { return (magnitude(d) << shift) - two_penalties; }
    // The better of a leaf and a stump in a set of signed sum d whose tests reach from low to high.
    Amount leaf_or_stump(std::int32_t d, std::int32_t high, std::int32_t low) const {
        const Amount stump = std::max(magnitude(2 * Amount{high} - d), magnitude(2 * Amount{low} - d));
        return std::max((magnitude(d) << shift), (stump << shift) - two_penalties) - two_penalties;
    }
};

// Where the tests of each axis stand in a line; −1 for an axis that is left out.
struct Layout {
    std::vector<std::int32_t> offset;
    std::int32_t size = 0;  // padded

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
        if (local.n_single_axes > 0) {
            dense_width_ = padded(local.n_single_axes);
            dense_.assign(static_cast<std::size_t>(dense_width_) * amounts.size(), 0);
            for (std::size_t i = 0; i < amounts.size(); ++i) {
                std::int32_t* row = dense_.data() + i * static_cast<std::size_t>(dense_width_);
                for (std::size_t c = first_single_; c < local.axes.size(); ++c) {
                    row[c - first_single_] = local.axes[c].codes[i] == 0 ? amounts[i] : 0;
                }
            }
        }
    }

    // scratch is zero before and after.
    void add(std::int32_t* line, const std::int32_t* rows, std::size_t n, const Layout& layout, std::int32_t* scratch) const {
        const auto n_step = static_cast<std::size_t>(local_.n_step_axes);
        const bool is_many = !has_steps_ || n > 6;
        for (std::size_t c = 0; c < n_step; ++c) {
            const std::int32_t offset = layout.offset[c];
            if (offset < 0) {
                continue;
            }
            const LocalAxis& axis = local_.axes[c];
            if (is_many && (!has_steps_ || static_cast<std::int64_t>(n) * (axis.n_tests / 16 + 3) > static_cast<std::int64_t>(n) + 2 * axis.n_tests)) {
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
                for (std::size_t k = 0; k < n; ++k) {
                    const std::int32_t code = axis.codes[rows[k]];
                    kernels_.step(line + offset + code, axis.n_tests - code, amounts_[static_cast<std::size_t>(rows[k])]);
                }
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
            for (std::size_t k = 0; k < n; ++k) {
                kernels_.add(at, dense_.data() + static_cast<std::size_t>(rows[k]) * static_cast<std::size_t>(dense_width_), dense_width_);
            }
        }
    }

    static std::size_t line_size(const Layout& layout) { return static_cast<std::size_t>(layout.size + 2 * Kernels::lanes); }

private:
    const Local& local_;
    const std::vector<std::int32_t>& amounts_;
    const Kernels& kernels_;
    bool has_steps_;
    std::size_t first_single_ = 0;
    std::int32_t dense_width_ = 0;
    std::vector<std::int32_t> dense_;
};

// Rows in the order of a code, and where each code starts.
struct Grouped {
    std::vector<std::int32_t> order;
    std::vector<std::int32_t> start;

    template <class Code>
    void group(std::int32_t n_rows, std::int32_t n_codes, Code code) {
        start.assign(static_cast<std::size_t>(n_codes) + 2, 0);
        order.resize(static_cast<std::size_t>(n_rows));
        for (std::int32_t i = 0; i < n_rows; ++i) {
            ++start[static_cast<std::size_t>(code(i)) + 2];
        }
        for (std::size_t c = 2; c < start.size(); ++c) {
            start[c] += start[c - 1];
        }
        for (std::int32_t i = 0; i < n_rows; ++i) {
            order[static_cast<std::size_t>(start[static_cast<std::size_t>(code(i)) + 1]++)] = i;
        }
    }
    const std::int32_t* begin(std::int32_t code) const { return order.data() + start[static_cast<std::size_t>(code)]; }
    std::size_t size(std::int32_t code) const {
        return static_cast<std::size_t>(start[static_cast<std::size_t>(code) + 1] - start[static_cast<std::size_t>(code)]);
    }
};

} // namespace

// For every pair of tests, the signed sum of the rows on which both hold.
struct TwoLabels::PairTable {
    Layout layout;
    std::size_t stride;
    std::vector<std::int32_t> cells;
    std::vector<std::int32_t> total;  // by test: the rows on which it holds
    std::int32_t all = 0;

    explicit PairTable(const Local& local)
        : layout(local, -1, -1), stride(LineBuilder::line_size(layout)), cells(stride * static_cast<std::size_t>(local.n_tests)) {}
    std::int32_t* row(std::int32_t test) { return cells.data() + stride * static_cast<std::size_t>(test); }
    const std::int32_t* row(std::int32_t test) const { return cells.data() + stride * static_cast<std::size_t>(test); }
};

TwoLabels::TwoLabels(const Instance& instance, const Control& control)
    : instance_(instance), control_(control), kernels_(choose_kernels(!control.is_off(no_simd))) {}

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
void TwoLabels::pair_gains(const Local& local, const Amounts& amounts, Gains& gains, PairTable* table) const {
    const Scale scale{amounts.shift, 2 * instance_.penalty};
    const LineBuilder builder(local, amounts.small, kernels_, !control_.is_off(no_steps));
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
        const double line = static_cast<double>(root.n_tests) * axis.n_tests * 0.4 + std::min<double>(n_rows * (axis.n_tests / 14.0 + 3.0), n_rows + 1.5 * root.n_tests * axis.n_tests);
        const double tree = (root.is_categorical ? static_cast<double>(root.n_tests) * axis.n_tests * 8.0 : axis.n_tests * 8.0) + n_rows * 4.0 * std::log2(axis.n_tests + 1.0);
        return tree < line;
    };
    std::vector<std::unique_ptr<PrefixTree>> trees(local.axes.size());
    std::vector<std::vector<std::int32_t>> by_code(local.axes.size());

    Grouped grouped;
    std::vector<std::int32_t> line;
    std::vector<std::int32_t> line_total;
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const LocalAxis& root = local.axes[a];
        Layout layout = whole;
        std::vector<std::size_t> walked;
        {
            std::int32_t next = 0;
            for (std::size_t c = 0; c < local.axes.size(); ++c) {
                if (is_tree_cheaper(root, local.axes[c])) {
                    layout.offset[c] = -1;
                    walked.push_back(c);
                    continue;
                }
                layout.offset[c] = next;
                next += local.axes[c].n_tests;
            }
            layout.size = padded(next);
        }
        line.assign(LineBuilder::line_size(layout), 0);
        line_total.assign(LineBuilder::line_size(layout), 0);
        for (std::size_t c = 0; c < local.axes.size(); ++c) {
            if (layout.offset[c] >= 0) {
                std::copy_n(total.data() + local.axes[c].first_test, local.axes[c].n_tests, line_total.data() + layout.offset[c]);
            }
        }
        const auto reset_tree = [&](std::size_t c) {
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
        };
        for (const std::size_t c : walked) {
            reset_tree(c);
        }
        grouped.group(n_rows, root.n_codes, [&](std::int32_t i) { return root.codes[i]; });
        for (std::int32_t test = 0; test < root.n_tests; ++test) {
            if (control_.should_stop()) {
                return;
            }
            if (root.is_categorical && test > 0) {
                std::fill(line.begin(), line.end(), 0);
                for (const std::size_t c : walked) {
                    reset_tree(c);
                }
            }
            const std::int32_t* rows = grouped.begin(test);
            const std::size_t n = grouped.size(test);
            builder.add(line.data(), rows, n, layout, scratch.data());
            Extremes extremes;
            kernels_.halves(line.data(), line_total.data(), layout.size, extremes);
            for (const std::size_t c : walked) {
                PrefixTree& tree = *trees[c];
                const LocalAxis& axis = local.axes[c];
                for (std::size_t k = 0; k < n; ++k) {
                    const std::int32_t code = axis.codes[rows[k]];
                    if (code < axis.n_tests) {
                        tree.move(code, amounts.small[static_cast<std::size_t>(rows[k])]);
                    }
                }
                tree.widen(extremes);
            }
            const auto t = static_cast<std::size_t>(root.first_test + test);
            const std::int32_t d = total[t];
            gains.left[t] = scale.leaf_or_stump(d, extremes.high[0], extremes.low[0]);
            gains.right[t] = scale.leaf_or_stump(all - d, extremes.high[1], extremes.low[1]);
            if (table != nullptr) {
                std::copy(line.begin(), line.end(), table->row(static_cast<std::int32_t>(t)));
            }
        }
    }
}

namespace {

// Buffers of one worker of the depth-three form, kept from pair to pair.
struct TripleWork {
    Grouped grouped;
    std::vector<std::int32_t> first;   // lines of the first axis's tests
    std::vector<std::int32_t> rest;    // total − first
    std::vector<std::int32_t> second;  // lines of the second axis's tests
    std::vector<std::int32_t> slab;
    std::vector<std::int32_t> line;
    std::vector<std::int32_t> total;
    std::vector<std::int32_t> scratch;
    std::vector<Extremes> extremes;
    std::vector<Extremes> running;
    std::vector<std::int32_t> members;
};

void widen(Extremes& extremes, int quadrant, std::int32_t high, std::int32_t low) {
    extremes.high[quadrant] = std::max(extremes.high[quadrant], high);
    extremes.low[quadrant] = std::min(extremes.low[quadrant], low);
}

} // namespace

// Depth three: for every pair of tests the best leaf or stump in each of the four quadrants; a side of a root test is then
// the best pair of its quadrants. Each pair of axes is one task; quadrants serve both of its tests as root.
void TwoLabels::triple_gains(const Local& local, const Amounts& amounts, const PairTable& table, Gains& gains, int n_threads) const {
    const Scale scale{amounts.shift, 2 * instance_.penalty};
    const LineBuilder builder(local, amounts.small, kernels_, !control_.is_off(no_steps));
    const Gains shallow = gains;
    const auto n_axes = static_cast<std::int32_t>(local.axes.size());
    const auto is_step = [&](std::int32_t a) { return a < local.n_step_axes; };
    const auto is_single = [&](std::int32_t a) { return a >= n_axes - local.n_single_axes; };
    std::int32_t most_codes = 0;
    for (const LocalAxis& axis : local.axes) {
        most_codes = std::max(most_codes, axis.n_codes);
    }

    // Rows on which a single test holds, as bits: pairs of such tests meet by AND.
    const auto n_words = (static_cast<std::size_t>(local.n_rows) + 63) / 64;
    std::vector<std::uint64_t> holds(n_words * static_cast<std::size_t>(local.n_single_axes), 0);
    const auto bits_of = [&](std::int32_t a) { return holds.data() + n_words * static_cast<std::size_t>(a - (n_axes - local.n_single_axes)); };
    for (std::int32_t a = n_axes - local.n_single_axes; a < n_axes; ++a) {
        std::uint64_t* bits = bits_of(a);
        for (std::int32_t i = 0; i < local.n_rows; ++i) {
            if (local.axes[static_cast<std::size_t>(a)].codes[i] == 0) {
                bits[i / 64] |= std::uint64_t{1} << (i % 64);
            }
        }
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
                if (axis.is_categorical) {
                    kernels_.difference(rest.data(), table.row(axis.first_test + j), table.layout.size, extremes);
                    const Amount neither = scale.leaf_or_stump(table.all - table.total[ti] - table.total[tj], extremes.high[0], extremes.low[0]);
                    mine.right[ti] = std::max(mine.right[ti], shallow.left[tj] + neither);
                    mine.right[tj] = std::max(mine.right[tj], shallow.left[ti] + neither);
                } else {
                    kernels_.difference(table.row(axis.first_test + j), row_i, table.layout.size, extremes);
                    const Amount between = scale.leaf_or_stump(table.total[tj] - table.total[ti], extremes.high[0], extremes.low[0]);
                    mine.left[tj] = std::max(mine.left[tj], shallow.left[ti] + between);
                    mine.right[ti] = std::max(mine.right[ti], between + shallow.right[tj]);
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
        const Layout layout(local, is_compact && is_step(a) ? a : -1, is_compact && is_step(b) ? b : -1);
        const std::size_t stride = LineBuilder::line_size(layout);
        // Stumps on an ordered axis of the pair itself come from the pair table, by running extremes.
        work.extremes.assign(static_cast<std::size_t>(n_a) * static_cast<std::size_t>(n_b), Extremes{});
        const auto pair = [&](std::int32_t i, std::int32_t j) { return table.row(axis_a.first_test + i)[axis_b.first_test + j]; };
        const auto at = [&](std::int32_t i, std::int32_t j) -> Extremes& { return work.extremes[static_cast<std::size_t>(i) * static_cast<std::size_t>(n_b) + static_cast<std::size_t>(j)]; };
        if (is_compact && is_step(a)) {
            // running[j]: quadrant 0 the sums with b <= j, quadrant 1 those with b > j, over thresholds of a passed so far.
            work.running.assign(static_cast<std::size_t>(n_b), Extremes{});
            for (std::int32_t i = 0; i < n_a; ++i) {
                const std::int32_t here = table.total[static_cast<std::size_t>(axis_a.first_test + i)];
                for (std::int32_t j = 0; j < n_b; ++j) {
                    Extremes& run = work.running[static_cast<std::size_t>(j)];
                    const std::int32_t both = pair(i, j);
                    widen(at(i, j), 0, run.high[0], run.low[0]);
                    widen(at(i, j), 1, run.high[1], run.low[1]);
                    widen(run, 0, both, both);
                    widen(run, 1, here - both, here - both);
                }
            }
            std::fill(work.running.begin(), work.running.end(), Extremes{});
            for (std::int32_t i = n_a - 1; i >= 0; --i) {
                const std::int32_t here = table.total[static_cast<std::size_t>(axis_a.first_test + i)];
                const bool is_last = i == n_a - 1;
                for (std::int32_t j = 0; j < n_b; ++j) {
                    Extremes& run = work.running[static_cast<std::size_t>(j)];
                    const std::int32_t both = pair(i, j);
                    const std::int32_t only = here - both;
                    if (!is_last) {
                        widen(at(i, j), 2, run.high[0] - both, run.low[0] - both);
                        widen(at(i, j), 3, run.high[1] - only, run.low[1] - only);
                        widen(run, 0, both, both);
                        widen(run, 1, only, only);
                    } else {
                        run.high[0] = run.low[0] = both;
                        run.high[1] = run.low[1] = only;
                    }
                }
            }
        }
        if (is_compact && is_step(b)) {
            for (std::int32_t i = 0; i < n_a; ++i) {
                Extremes run;
                for (std::int32_t j = 0; j < n_b; ++j) {
                    const std::int32_t here = table.total[static_cast<std::size_t>(axis_b.first_test + j)];
                    const std::int32_t both = pair(i, j);
                    widen(at(i, j), 0, run.high[0], run.low[0]);
                    widen(at(i, j), 2, run.high[1], run.low[1]);
                    widen(run, 0, both, both);
                    widen(run, 1, here - both, here - both);
                }
                for (std::int32_t j = n_b - 1; j >= 0; --j) {
                    const std::int32_t here = table.total[static_cast<std::size_t>(axis_b.first_test + j)];
                    const std::int32_t both = pair(i, j);
                    const std::int32_t only = here - both;
                    if (j < n_b - 1) {
                        widen(at(i, j), 1, run.high[0] - both, run.low[0] - both);
                        widen(at(i, j), 3, run.high[1] - only, run.low[1] - only);
                        widen(run, 0, both, both);
                        widen(run, 1, only, only);
                    } else {
                        run.high[0] = run.low[0] = both;
                        run.high[1] = run.low[1] = only;
                    }
                }
            }
        }

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
        const bool is_bits = is_single(a) && is_single(b);
        if (!is_bits) {
            // Rows outside every test of a, or of b, never enter a line.
            const std::int32_t n_cells = n_a * n_b;
            work.grouped.group(local.n_rows, n_cells + 1, [&](std::int32_t i) {
                const std::int32_t code_a = axis_a.codes[i];
                const std::int32_t code_b = axis_b.codes[i];
                return code_a < n_a && code_b < n_b ? code_a * n_b + code_b : n_cells;
            });
        } else {
            work.members.clear();
            const std::uint64_t* x = bits_of(a);
            const std::uint64_t* y = bits_of(b);
            for (std::size_t w = 0; w < n_words; ++w) {
                for (std::uint64_t rest = x[w] & y[w]; rest != 0; rest &= rest - 1) {
                    work.members.push_back(static_cast<std::int32_t>(w * 64) + std::countr_zero(rest));
                }
            }
        }
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
            const std::int32_t sum_a = table.total[ti];
            Amount best_left = mine.left[ti];
            Amount best_right = mine.right[ti];
            for (std::int32_t j = 0; j < n_b; ++j) {
                if (axis_b.is_categorical && j > 0) {
                    std::fill(work.line.begin(), work.line.end(), 0);
                }
                if (is_bits) {
                    builder.add(work.line.data(), work.members.data(), work.members.size(), layout, work.scratch.data());
                } else {
                    const std::int32_t cell = i * n_b + j;
                    builder.add(work.line.data(), work.grouped.begin(cell), work.grouped.size(cell), layout, work.scratch.data());
                }
                Extremes& extremes = at(i, j);
                const std::int32_t* second = is_compact ? work.second.data() + stride * static_cast<std::size_t>(j) : table.row(axis_b.first_test + j);
                kernels_.quadrants(is_sum ? work.slab.data() + stride * static_cast<std::size_t>(j) : nullptr, work.line.data(), is_sum, first, second,
                                   work.rest.data(), layout.size, extremes);
                const auto tj = static_cast<std::size_t>(axis_b.first_test + j);
                const std::int32_t both = pair(i, j);
                const std::int32_t a_only = sum_a - both;
                const std::int32_t b_only = table.total[tj] - both;
                const std::int32_t neither = table.all - sum_a - b_only;
                const Amount gain0 = scale.leaf_or_stump(both, extremes.high[0], extremes.low[0]);
                const Amount gain1 = scale.leaf_or_stump(a_only, extremes.high[1], extremes.low[1]);
                const Amount gain2 = scale.leaf_or_stump(b_only, extremes.high[2], extremes.low[2]);
                const Amount gain3 = scale.leaf_or_stump(neither, extremes.high[3], extremes.low[3]);
                best_left = std::max(best_left, gain0 + gain1);
                best_right = std::max(best_right, gain2 + gain3);
                mine.left[tj] = std::max(mine.left[tj], gain0 + gain2);
                mine.right[tj] = std::max(mine.right[tj], gain1 + gain3);
            }
            mine.left[ti] = best_left;
            mine.right[ti] = best_right;
        }
    };

    struct Task {
        std::int32_t a;
        std::int32_t b;
        double cost;
    };
    std::vector<Task> tasks;
    for (std::int32_t a = 0; a < n_axes; ++a) {
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
            if (tasks[t].a == tasks[t].b) {
                own_axis(tasks[t].a, mine);
            } else {
                // The axis with fewer tests outside: what is done once for each of its tests is done less often.
                const bool is_in_order = local.axes[static_cast<std::size_t>(tasks[t].a)].n_tests <= local.axes[static_cast<std::size_t>(tasks[t].b)].n_tests;
                two_axes(is_in_order ? tasks[t].a : tasks[t].b, is_in_order ? tasks[t].b : tasks[t].a, mine, work);
            }
        }
    };
    std::vector<Gains> theirs(static_cast<std::size_t>(std::max(0, n_threads - 1)), Gains(gains.left.size()));
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

bool TwoLabels::triples_pay(const Local& local) const {
    const double n_tests = local.n_tests;
    const auto n_axes = static_cast<double>(local.axes.size());
    constexpr double most_tests = 8000;  // the pair table is the square of this
    if (n_tests > most_tests) {
        return false;
    }
    if (control_.is_off(no_cost_model)) {
        return true;
    }
    double squares = 0.0;
    for (const LocalAxis& axis : local.axes) {
        squares += static_cast<double>(axis.n_tests) * axis.n_tests;
    }
    const double triple = 0.5 * (n_tests * n_tests - squares) * (n_tests * 0.5 + 60.0) + 0.5 * local.n_rows * n_axes * n_axes * 4.0 + squares * n_tests * 0.1;
    const double pair = local.n_rows * n_axes * n_axes * 1.5 + n_tests * n_tests * 0.6;
    return triple < 0.5 * n_tests * pair;
}

// Pre: depth is 1, 2 or 3. Post: either `value` is the optimum, or no tree costs less than the budget.
TwoLabels::Answer TwoLabels::solve(const RowSet& set, const Local& local, int depth, Amount budget, int n_threads) const {
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
    const Amounts amounts(instance_, set);
    const auto n_tests = static_cast<std::size_t>(local.n_tests);
    Gains gains(n_tests);
    if (depth == 2) {
        pair_gains(local, amounts, gains, nullptr);
    } else {
        PairTable table(local);
        pair_gains(local, amounts, gains, &table);
        if (!control_.should_stop()) {
            triple_gains(local, amounts, table, gains, n_threads);
        }
    }
    if (control_.should_stop()) {
        answer.lower = std::min(answer.value, 2 * penalty);
        return answer;
    }
    // No split can save more than everything, less its two penalties.
    const Amount most = set.worst - 4 * penalty;
    std::vector<std::int32_t> candidates;
    Amount best = -unreachable;
    for (std::size_t t = 0; t < n_tests; ++t) {
        gains.left[t] = std::min(most, gains.left[t] + gains.right[t] + amounts.slack);
        if (gains.left[t] > best) {
            best = gains.left[t];
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
        if (to_cost(gains.left[t]) < goal) {
            candidates.push_back(static_cast<std::int32_t>(t));
        }
    }
    std::sort(candidates.begin(), candidates.end(), [&](std::int32_t x, std::int32_t y) {
        const Amount gx = gains.left[static_cast<std::size_t>(x)];
        const Amount gy = gains.left[static_cast<std::size_t>(y)];
        return gx != gy ? gx > gy : x < y;
    });
    for (const std::int32_t test : candidates) {
        if (to_cost(gains.left[static_cast<std::size_t>(test)]) >= goal) {
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
        }
    }
    answer.lower = std::max(answer.lower, goal);
    return answer;
}

NodePtr TwoLabels::extract(const RowSet& set, int depth) const {
    if (depth == 0 || set.rows.empty()) {
        return make_leaf(leaf_label(set));
    }
    const Local local(instance_, set);
    const Answer answer = solve(set, local, depth, unreachable);
    if (answer.axis < 0) {
        return make_leaf(leaf_label(set));
    }
    const Split split = split_rows(instance_, set, answer.axis, answer.code);
    return make_split(answer.axis, answer.code, extract(split.left, depth - 1), extract(split.right, depth - 1));
}

} // namespace certree
