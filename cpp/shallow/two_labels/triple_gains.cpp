// Depth three in closed form for two labels.
//
// For every pair of tests, the best leaf or stump in each of the four quadrants; a side of a root test is then the best
// pair of its quadrants, and every pair of tests serves both of them as root. The stumps of all quadrants come from one
// line: the signed sums of the rows on which both tests hold, under every third test; the other quadrants are what is
// missing to the lines of the pair table. Along two ordered axes the line of thresholds (i, j) is that of (i − 1, j)
// plus the rows whose code on the first axis is i: nothing is ever summed twice.
#include <numeric>

#include "shallow/cost_model.hpp"
#include "shallow/two_labels/gains.hpp"
#include "workers.hpp"

namespace certree {

namespace {

// Extremes of four quadrants for a run of second tests, in one allocation that is kept.
struct QuadrantBuffer {
    std::vector<std::int32_t> values;
    QuadrantExtremes view;

    void reset(std::size_t n) {
        values.assign(8 * n, 0);
        for (std::size_t q = 0; q < 4; ++q) {
            view.high[q] = values.data() + q * n;
            view.low[q] = values.data() + (4 + q) * n;
        }
    }
    void clear() { std::fill(values.begin(), values.end(), 0); }
};

// Two axes whose tests are paired: the first one's are the outer loop.
struct AxisPair {
    const LocalAxis* a = nullptr;
    const LocalAxis* b = nullptr;
    std::size_t n_second = 0;  // tests of b, padded
    // Lines may leave out the pair's own ordered axes: then stumps on those come from the pair table.
    bool is_compact = false;
    bool has_own_a = false;
    bool has_own_b = false;
};

// One thread's share of the work: its gains, and buffers that are kept from task to task.
class TripleWorker {
public:
    TripleWorker(const Prepared& prepared, const PairTable& table, const Gains& shallow, Gains& gains)
        : prepared_(prepared),
          local_(prepared.local),
          table_(table),
          shallow_(shallow),
          gains_(gains),
          scratch_(prepared.builder.scratch_size(), 0) {}

    void own_axis(const LocalAxis& axis);
    void two_axes(std::int32_t a, std::int32_t b);
    void single_axes(std::int32_t a);

private:
    bool is_step(std::int32_t a) const { return a < local_.n_step_axes; }
    const std::int32_t* pairs_of(const AxisPair& pair, std::int32_t i) const {
        return table_.row(pair.a->first_test + i) + pair.b->first_test;
    }
    void gather(const std::int32_t* from, std::int32_t* to) const;
    void sort_rows(const AxisPair& pair, const PooledVector<std::int32_t>& by_b);
    void note_thresholds_above(const AxisPair& pair);
    void widen_by_own_a(const AxisPair& pair, std::int32_t i);
    void widen_by_own_b(const AxisPair& pair, std::int32_t i);
    void meet(std::int32_t first_test, std::int32_t second_test, std::int32_t n_second);

    const Prepared& prepared_;
    const Local& local_;
    const PairTable& table_;
    const Gains& shallow_;  // of one and two leaves
    Gains& gains_;

    QuadrantBuffer quadrants_;
    QuadrantBuffer below_;               // of own thresholds below the first test
    std::vector<std::int32_t> above_;    // of own thresholds from each first test on: high, low, high, low
    std::vector<std::int32_t> rows_;     // by code on a, then on b
    std::vector<std::int32_t> row_end_;  // of each code on a
    Layout compact_;
    std::vector<std::int32_t> line_;
    std::vector<std::int32_t> slab_;   // by second test: the line up to the present first test
    std::vector<std::int32_t> first_;  // lines of the pair table in the compact layout
    std::vector<std::int32_t> second_;
    std::vector<std::int32_t> total_;
    std::vector<std::int32_t> rest_;  // total − first
    std::vector<std::int32_t> scratch_;
};

// Both tests on one axis: the quadrants are intervals of it (ordered), or one category, another, and the rest.
void TripleWorker::own_axis(const LocalAxis& axis) {
    const Kernels& kernels = prepared_.kernels;
    // A side of a root test made of a part whose leaf and stump are known, and a part seen here for the first time.
    const auto join = [](PooledVector<std::int32_t>* side, std::size_t root, const PooledVector<std::int32_t>* known,
                         std::size_t part, std::int32_t leaf, std::int32_t stump) {
        raise(side[2][root], std::max(known[1][part] + leaf, known[0][part] + stump));
        raise(side[3][root], known[1][part] + stump);
    };
    rest_.resize(table_.total.size());
    for (std::int32_t i = 0; i < axis.n_tests; ++i) {
        if (prepared_.control.should_stop()) {
            return;
        }
        const auto ti = static_cast<std::size_t>(axis.first_test + i);
        const std::int32_t* first = table_.row(axis.first_test + i);
        for (std::size_t t = 0; axis.is_categorical && t < rest_.size(); ++t) {
            rest_[t] = table_.total[t] - first[t];
        }
        for (std::int32_t j = i + 1; j < axis.n_tests; ++j) {
            const auto tj = static_cast<std::size_t>(axis.first_test + j);
            const std::int32_t* second = table_.row(axis.first_test + j);
            Extremes extremes;
            std::int32_t d = 0;
            if (axis.is_categorical) {
                kernels.difference(rest_.data(), second, table_.layout.size, extremes);
                d = table_.all - table_.total[ti] - table_.total[tj];
            } else {
                kernels.difference(second, first, table_.layout.size, extremes);
                d = table_.total[tj] - table_.total[ti];
            }
            const auto leaf = static_cast<std::int32_t>(magnitude(d));
            const std::int32_t stump = stump_gain(d, extremes.high[0], extremes.low[0]);
            if (axis.is_categorical) {
                join(gains_.right, ti, shallow_.left, tj, leaf, stump);
                join(gains_.right, tj, shallow_.left, ti, leaf, stump);
            } else {
                join(gains_.left, tj, shallow_.left, ti, leaf, stump);
                join(gains_.right, ti, shallow_.right, tj, leaf, stump);
            }
        }
    }
}

// Copies a line into the compact layout.
void TripleWorker::gather(const std::int32_t* from, std::int32_t* to) const {
    for (std::size_t c = 0; c < local_.axes.size(); ++c) {
        if (compact_.offset[c] >= 0) {
            std::copy_n(from + local_.axes[c].first_test, local_.axes[c].n_tests, to + compact_.offset[c]);
        }
    }
}

void TripleWorker::sort_rows(const AxisPair& pair, const PooledVector<std::int32_t>& by_b) {
    const std::int32_t* codes = pair.a->codes;
    row_end_.assign(static_cast<std::size_t>(pair.a->n_tests) + 2, 0);
    for (const std::int32_t row : by_b) {
        ++row_end_[static_cast<std::size_t>(codes[row]) + 1];
    }
    for (std::size_t i = 1; i < row_end_.size(); ++i) {
        row_end_[i] += row_end_[i - 1];
    }
    rows_.resize(by_b.size());
    for (const std::int32_t row : by_b) {
        rows_[static_cast<std::size_t>(row_end_[static_cast<std::size_t>(codes[row])]++)] = row;
    }
}

void TripleWorker::note_thresholds_above(const AxisPair& pair) {
    const std::size_t n = pair.n_second;
    const auto n_first = static_cast<std::size_t>(pair.a->n_tests);
    above_.resize(4 * n * n_first);
    for (std::size_t i = n_first; i-- > 0;) {
        std::int32_t* here = above_.data() + 4 * n * i;
        const std::int32_t* both = pairs_of(pair, static_cast<std::int32_t>(i));
        const std::int32_t a_sum = table_.total[static_cast<std::size_t>(pair.a->first_test) + i];
        for (std::size_t j = 0; j < static_cast<std::size_t>(pair.b->n_tests); ++j) {
            here[j] = here[n + j] = both[j];
            here[2 * n + j] = here[3 * n + j] = a_sum - both[j];
        }
        if (i + 1 < n_first) {
            const std::int32_t* next = here + 4 * n;
            for (std::size_t j = 0; j < n; ++j) {
                here[j] = std::max(here[j], next[j]);
                here[n + j] = std::min(here[n + j], next[n + j]);
                here[2 * n + j] = std::max(here[2 * n + j], next[2 * n + j]);
                here[3 * n + j] = std::min(here[3 * n + j], next[3 * n + j]);
            }
        }
    }
}

void TripleWorker::widen_by_own_a(const AxisPair& pair, std::int32_t i) {
    const std::int32_t* both = pairs_of(pair, i);
    const std::int32_t a_sum = table_.total[static_cast<std::size_t>(pair.a->first_test + i)];
    const std::int32_t n_b = pair.b->n_tests;
    prepared_.kernels.own_before(n_b, both, a_sum, below_.view.high, below_.view.low, quadrants_.view);
    const std::int32_t* here = above_.data() + 4 * pair.n_second * static_cast<std::size_t>(i);
    const std::int32_t* const high[2] = {here, here + 2 * pair.n_second};
    const std::int32_t* const low[2] = {here + pair.n_second, here + 3 * pair.n_second};
    prepared_.kernels.own_after(n_b, both, a_sum, high, low, quadrants_.view);
}

void TripleWorker::widen_by_own_b(const AxisPair& pair, std::int32_t i) {
    const std::int32_t* both = pairs_of(pair, i);
    const std::int32_t* b_sum = table_.total.data() + pair.b->first_test;
    const auto last = static_cast<std::size_t>(pair.b->n_tests - 1);
    const QuadrantExtremes& extremes = quadrants_.view;
    Extremes run;  // side 0: sums of rows on which the first test holds, side 1: of the others
    const auto widen = [&](int quadrant, std::size_t j, std::int32_t high, std::int32_t low) {
        raise(extremes.high[quadrant][j], high);
        extremes.low[quadrant][j] = std::min(extremes.low[quadrant][j], low);
    };
    const auto pass = [&](int side, std::int32_t value) {
        raise(run.high[side], value);
        run.low[side] = std::min(run.low[side], value);
    };
    for (std::size_t j = 0; j <= last; ++j) {
        widen(0, j, run.high[0], run.low[0]);
        widen(2, j, run.high[1], run.low[1]);
        pass(0, both[j]);
        pass(1, b_sum[j] - both[j]);
    }
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

// Turns the extremes of one first test and a run of second tests into gains of all of them as roots.
void TripleWorker::meet(std::int32_t first_test, std::int32_t second_test, std::int32_t n_second) {
    const auto a = static_cast<std::size_t>(first_test);
    const auto b = static_cast<std::size_t>(second_test);
    RootGains root{{gains_.left[2][a], gains_.left[3][a]}, {gains_.right[2][a], gains_.right[3][a]}};
    prepared_.kernels.meet(n_second, table_.row(first_test) + second_test, table_.total.data() + b, table_.total[a],
                           table_.all, quadrants_.view, root, gains_.left[2].data() + b, gains_.left[3].data() + b,
                           gains_.right[2].data() + b, gains_.right[3].data() + b);
    gains_.left[2][a] = root.left.three;
    gains_.left[3][a] = root.left.four;
    gains_.right[2][a] = root.right.three;
    gains_.right[3][a] = root.right.four;
}

void TripleWorker::two_axes(std::int32_t a, std::int32_t b) {
    AxisPair pair;
    pair.a = &local_.axes[static_cast<std::size_t>(a)];
    pair.b = &local_.axes[static_cast<std::size_t>(b)];
    pair.n_second = static_cast<std::size_t>(padded(pair.b->n_tests));
    // Lines without the pair's own axes are shorter; but copying them only pays where those axes are a good part.
    const std::int32_t n_own = (is_step(a) ? pair.a->n_tests : 0) + (is_step(b) ? pair.b->n_tests : 0);
    pair.is_compact = 6 * n_own > local_.n_tests;
    pair.has_own_a = pair.is_compact && is_step(a);
    pair.has_own_b = pair.is_compact && is_step(b);
    if (pair.is_compact) {
        compact_ = Layout(local_, is_step(a) ? a : -1, is_step(b) ? b : -1);
    }
    const Layout& layout = pair.is_compact ? compact_ : table_.layout;
    const std::size_t stride = LineBuilder::line_size(layout);
    const std::int32_t* total = table_.total.data();
    if (pair.is_compact) {
        total_.assign(stride, 0);
        gather(table_.total.data(), total_.data());
        total = total_.data();
        second_.assign(stride * static_cast<std::size_t>(pair.b->n_tests), 0);
        for (std::int32_t j = 0; j < pair.b->n_tests; ++j) {
            gather(table_.row(pair.b->first_test + j), second_.data() + stride * static_cast<std::size_t>(j));
        }
        first_.assign(stride, 0);
    }
    if (pair.has_own_a) {
        below_.reset(pair.n_second);
        note_thresholds_above(pair);
    }
    const bool is_sum = !pair.a->is_categorical && pair.a->n_tests > 1;
    if (is_sum) {
        slab_.assign(stride * static_cast<std::size_t>(pair.b->n_tests), 0);
    }
    quadrants_.reset(pair.n_second);
    rest_.assign(stride, 0);
    line_.assign(stride, 0);
    sort_rows(pair, prepared_.active.of(static_cast<std::size_t>(b)).rows);

    std::int32_t at_row = 0;
    for (std::int32_t i = 0; i < pair.a->n_tests; ++i) {
        if (prepared_.control.should_stop()) {
            return;
        }
        const std::int32_t* first = table_.row(pair.a->first_test + i);
        if (pair.is_compact) {
            gather(first, first_.data());
            first = first_.data();
        }
        for (std::int32_t t = 0; t < layout.size; ++t) {
            rest_[static_cast<std::size_t>(t)] = total[t] - first[t];
        }
        quadrants_.clear();
        if (pair.has_own_a) {
            widen_by_own_a(pair, i);
        }
        if (pair.has_own_b) {
            widen_by_own_b(pair, i);
        }
        const std::int32_t row_end = row_end_[static_cast<std::size_t>(i)];
        for (std::int32_t j = 0; j < pair.b->n_tests; ++j) {
            if (j == 0 || pair.b->is_categorical) {
                std::fill(line_.begin(), line_.end(), 0);
            }
            const std::int32_t from = at_row;
            while (at_row < row_end && pair.b->codes[rows_[static_cast<std::size_t>(at_row)]] == j) {
                ++at_row;
            }
            prepared_.builder.add(line_.data(), rows_.data() + from, static_cast<std::size_t>(at_row - from), layout,
                                  scratch_.data());
            const std::size_t at = stride * static_cast<std::size_t>(j);
            prepared_.kernels.quadrants(is_sum ? slab_.data() + at : nullptr, line_.data(), first,
                                        pair.is_compact ? second_.data() + at : table_.row(pair.b->first_test + j),
                                        rest_.data(), layout.size, quadrants_.view, static_cast<std::size_t>(j));
        }
        meet(pair.a->first_test + i, pair.b->first_test, pair.b->n_tests);
    }
}

// Axis a has one test, and so have all axes after it: those are the second tests, in one sweep.
void TripleWorker::single_axes(std::int32_t a) {
    const std::int32_t n_second = static_cast<std::int32_t>(local_.axes.size()) - a - 1;
    if (n_second == 0) {
        return;
    }
    const PooledVector<std::int32_t>& rows = prepared_.active.of(static_cast<std::size_t>(a)).rows;
    const std::int32_t first_test = local_.axes[static_cast<std::size_t>(a)].first_test;
    const std::int32_t* first = table_.row(first_test);
    const std::int32_t n = table_.layout.size;
    rest_.resize(static_cast<std::size_t>(n));
    for (std::int32_t t = 0; t < n; ++t) {
        rest_[static_cast<std::size_t>(t)] = table_.total[static_cast<std::size_t>(t)] - first[t];
    }
    quadrants_.reset(static_cast<std::size_t>(padded(n_second)));
    line_.assign(table_.stride, 0);
    rows_.resize(rows.size());
    for (std::int32_t j = 0; j < n_second; ++j) {
        if (prepared_.control.should_stop()) {
            return;
        }
        const std::int32_t* codes = local_.axes[static_cast<std::size_t>(a + 1 + j)].codes;
        std::size_t n_rows = 0;
        for (const std::int32_t row : rows) {
            rows_[n_rows] = row;
            n_rows += codes[row] == 0 ? 1 : 0;
        }
        std::fill_n(line_.begin(), n, 0);
        prepared_.builder.add(line_.data(), rows_.data(), n_rows, table_.layout, scratch_.data());
        prepared_.kernels.quadrants(nullptr, line_.data(), first, table_.row(first_test + 1 + j), rest_.data(), n,
                                    quadrants_.view, static_cast<std::size_t>(j));
    }
    meet(first_test, first_test + 1, n_second);
}

}  // namespace

TripleGains::TripleGains(const Prepared& prepared, const PairTable& table, Gains& gains, std::vector<Amount> axis_lower,
                         int n_threads, PairStumps* stumps)
    : prepared_(prepared),
      table_(table),
      shallow_(gains),
      gains_(gains),
      axis_lower_(std::move(axis_lower)),
      n_threads_(std::max(1, n_threads)),
      n_left_(prepared.local.axes.size(), 0) {
    // Its tasks follow on each other, so there is one thread to do them.
    if (are_all_two_valued(prepared.local) && n_threads_ == 1) {
        two_valued_.emplace(prepared, table, stumps);
    }
    list_tasks();
    double cost = 0.0;
    for (const Task& task : tasks_) {
        cost += task.cost;
        for_axes_of(task, [&](std::size_t axis) { ++n_left_[axis]; });
    }
    // Small tables then see one task per slice.
    if (!prepared.control.is_off(no_cost_model)) {
        slice_cost_ = n_threads_ * cost / forecast::triple_slices(prepared.local);
    }
}

// Axis by axis, the ones with the least bounds first: the bound of all of them rises as soon as it can.
void TripleGains::list_tasks() {
    const Local& local = prepared_.local;
    const auto n_axes = static_cast<std::int32_t>(local.axes.size());
    const std::int32_t first_single = n_axes - local.n_single_axes;
    std::vector<std::int32_t> order(static_cast<std::size_t>(first_single));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int32_t x, std::int32_t y) {
        return axis_lower_[static_cast<std::size_t>(x)] < axis_lower_[static_cast<std::size_t>(y)];
    });
    for (std::size_t k = 0; k < order.size(); ++k) {
        const auto add = [&](std::int32_t b) {
            const std::int32_t a = order[k];
            const double n_a = local.axes[static_cast<std::size_t>(a)].n_tests;
            const double n_b = local.axes[static_cast<std::size_t>(b)].n_tests;
            tasks_.push_back({std::min(a, b), std::max(a, b), forecast::triple_share(n_a, n_b, a == b)});
        };
        std::for_each(order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), add);
        for (std::int32_t b = first_single; b < n_axes; ++b) {
            add(b);
        }
    }
    for (std::int32_t a = first_single; a < n_axes; ++a) {
        tasks_.push_back({a, -1, static_cast<double>(n_axes - a)});
    }
}

// Calls act with every axis whose root tests need the task.
template <class Do>
void TripleGains::for_axes_of(const Task& task, Do act) const {
    if (two_valued_) {
        const std::vector<std::int32_t>& order = two_valued_->order();
        for (auto place = static_cast<std::size_t>(task.a); place < order.size(); ++place) {
            act(static_cast<std::size_t>(order[place]));
        }
        return;
    }
    act(static_cast<std::size_t>(task.a));
    if (task.b < 0) {
        for (auto axis = static_cast<std::size_t>(task.a) + 1; axis < prepared_.local.axes.size(); ++axis) {
            act(axis);
        }
    } else if (task.b != task.a) {
        act(static_cast<std::size_t>(task.b));
    }
}

std::vector<TripleGains::Task> TripleGains::next_slice(Amount cap) {
    std::vector<Task> slice;
    double cost = 0.0;
    for (; next_task_ < tasks_.size() && (slice.empty() || cost < slice_cost_); ++next_task_) {
        const Task& task = tasks_[next_task_];
        bool is_open = false;
        for_axes_of(task, [&](std::size_t axis) { is_open = is_open || axis_lower_[axis] < cap; });
        if (is_open) {
            slice.push_back(task);
            cost += task.cost;
        }
    }
    return slice;
}

void TripleGains::work_off(const std::vector<Task>& slice, std::atomic<std::size_t>& next, Gains& gains) {
    if (two_valued_) {
        for (std::size_t t = 0; t < slice.size() && !prepared_.control.should_stop(); ++t) {
            two_valued_->run_next(gains);
        }
        return;
    }
    const std::vector<LocalAxis>& axes = prepared_.local.axes;
    TripleWorker worker(prepared_, table_, shallow_, gains);
    for (std::size_t t = next++; t < slice.size() && !prepared_.control.should_stop(); t = next++) {
        const auto [a, b, cost] = slice[t];
        if (b < 0) {
            worker.single_axes(a);
        } else if (a == b) {
            worker.own_axis(axes[static_cast<std::size_t>(a)]);
        } else {
            // The axis with fewer tests outside: what is done once for each of its tests is done less often.
            const bool is_in_order =
                axes[static_cast<std::size_t>(a)].n_tests <= axes[static_cast<std::size_t>(b)].n_tests;
            worker.two_axes(is_in_order ? a : b, is_in_order ? b : a);
        }
    }
}

bool TripleGains::work(Amount cap) {
    std::vector<Task> slice = next_slice(cap);
    if (slice.empty()) {
        return false;
    }
    if (n_threads_ > 1) {
        std::stable_sort(slice.begin(), slice.end(), [](const Task& x, const Task& y) { return x.cost > y.cost; });
    }
    std::atomic<std::size_t> next{0};
    std::vector<Gains> theirs(static_cast<std::size_t>(n_threads_ - 1), Gains(gains_.left[0].size()));
    share_work(n_threads_, [&](int worker) {
        work_off(slice, next, worker == 0 ? gains_ : theirs[static_cast<std::size_t>(worker) - 1]);
    });
    for (const Gains& found : theirs) {
        gains_.merge(found);
    }
    if (prepared_.control.should_stop()) {
        return false;
    }
    for (const Task& task : slice) {
        for_axes_of(task, [&](std::size_t axis) { --n_left_[axis]; });
    }
    return true;
}

Amount TripleGains::lower_of_unfinished() const {
    Amount lower = unreachable;
    for (std::size_t axis = 0; axis < n_left_.size(); ++axis) {
        lower = is_finished(axis) ? lower : std::min(lower, axis_lower_[axis]);
    }
    return lower;
}

void find_triple_gains(const Prepared& prepared, const PairTable& table, Gains& gains, int n_threads,
                       PairStumps* stumps) {
    TripleGains triples(prepared, table, gains, std::vector<Amount>(prepared.local.axes.size(), 0), n_threads, stumps);
    while (triples.work(unreachable)) {
    }
}

}  // namespace certree
