// Depth two in closed form for two labels.
//
// For a root axis, one line runs along with the root test: the signed sums of the rows on its left side, under every
// second test. Its extremes and those of what is missing to the total are the best stumps of the two sides. Axes with
// very many tests are walked by segment trees instead of being laid out in the line.
#include <numeric>

#include "shallow/cost_model.hpp"
#include "shallow/two_labels/gains.hpp"
#include "shallow/two_labels/walked_axis.hpp"

namespace certree {

namespace {

class PairWorker {
public:
    PairWorker(const Prepared& prepared, const ActiveRows& active, std::span<const std::int32_t> rows, Gains& gains,
               PairTable* table);

    // All tests of one root axis, or some that stand side by side.
    void run_all(std::size_t root) { run(root, {0, local_.axes[root].n_tests}); }
    void run(std::size_t root, Run tests);

private:
    void run_together(std::size_t root, Run tests);
    std::span<const std::int32_t> rows_before(std::size_t root_axis, std::int32_t test);
    bool is_tree_cheaper(const LocalAxis& root, Run tests, const LocalAxis& axis) const;

    const Prepared& prepared_;
    const ActiveRows& active_;
    const Local& local_;
    const std::vector<std::int32_t>& amounts_;
    std::span<const std::int32_t> rows_;
    Gains& gains_;
    PairTable* table_;
    std::int32_t all_ = 0;
    std::vector<std::int32_t> total_;
    std::vector<std::int32_t> scratch_;
    std::vector<std::int32_t> line_;
    std::vector<std::int32_t> line_total_;
    std::vector<Extremes> extremes_;
    std::vector<std::int32_t> before_;
    WalkedAxis walked_;  // one at a time: over a million codes it is larger than all that is known of the axis
};

PairWorker::PairWorker(const Prepared& prepared, const ActiveRows& active, std::span<const std::int32_t> rows,
                       Gains& gains, PairTable* table)
    : prepared_(prepared),
      active_(active),
      local_(prepared.local),
      amounts_(prepared.amounts.small),
      rows_(rows),
      gains_(gains),
      table_(table),
      scratch_(prepared.builder.scratch_size(), 0),
      walked_(amounts_, prepared.control) {
    for (const std::int32_t row : rows) {
        all_ += amounts_[static_cast<std::size_t>(row)];
    }
    const Layout whole(local_, -1, -1);
    total_.assign(LineBuilder::line_size(whole), 0);
    prepared.builder.add(total_.data(), rows.data(), rows.size(), whole, scratch_.data());
    if (table != nullptr) {
        table->all = all_;
        table->total = total_;
    }
}

bool PairWorker::is_tree_cheaper(const LocalAxis& root, Run tests, const LocalAxis& axis) const {
    const Control& control = prepared_.control;
    if (table_ != nullptr || axis.is_categorical || axis.n_tests < 2 || control.is_off(no_segment_trees)) {
        return false;
    }
    if (control.is_off(no_tables)) {
        return true;
    }
    const double n_roots = tests.to - tests.from;
    const double n_rows = local_.n_rows * n_roots / root.n_tests;
    return forecast::tree_cycles(n_rows, axis.n_tests) < forecast::line_cycles(n_roots, n_rows, axis.n_tests);
}

// Those on the left side before this test's own join. Sides of an ordered root axis grow from test to test; a category
// stands alone. Where rows are far they come in the order they have: in that of the axis, each would be waited for.
std::span<const std::int32_t> PairWorker::rows_before(std::size_t root_axis, std::int32_t test) {
    const LocalAxis& root = local_.axes[root_axis];
    const ActiveRows::Codes& active = active_.of(root_axis);
    const auto n = static_cast<std::size_t>(root.is_categorical ? 0 : active.begin(test) - active.rows.data());
    const bool are_far =
        prepared_.control.is_off(no_cost_model) ? local_.n_rows % 2 == 0 : forecast::are_rows_far(local_);
    if (n == 0 || !are_far) {
        return {active.rows.data(), n};
    }
    before_.resize(rows_.size() + 1);
    std::size_t at = 0;
    for (const std::int32_t row : rows_) {
        before_[at] = row;
        at += root.codes[row] < test ? 1 : 0;
    }
    return {before_.data(), n};
}

void PairWorker::run(std::size_t root_axis, Run tests) {
    if (!local_.axes[root_axis].is_categorical) {
        run_together(root_axis, tests);
        return;
    }
    for (std::int32_t test = tests.from; test < tests.to; ++test) {
        run_together(root_axis, {test, test + 1});
    }
}

// Sides that grow from test to test; or a single category.
void PairWorker::run_together(std::size_t root_axis, Run tests) {
    const LocalAxis& root = local_.axes[root_axis];
    const ActiveRows::Codes& active = active_.of(root_axis);
    const std::span<const std::int32_t> before = rows_before(root_axis, tests.from);
    const std::span<const std::int32_t> moving(active.begin(tests.from), active.begin(tests.to));
    extremes_.assign(static_cast<std::size_t>(tests.to - tests.from), Extremes{});
    Layout layout;
    for (std::size_t c = 0; c < local_.axes.size(); ++c) {
        const LocalAxis& axis = local_.axes[c];
        if (!is_tree_cheaper(root, tests, axis)) {
            layout.offset.push_back(layout.size);
            layout.size += axis.n_tests;
            continue;
        }
        layout.offset.push_back(-1);
        if (prepared_.control.should_stop()) {
            return;
        }
        const WalkedAxis::Ready ready = walked_.stand_at(axis, total_.data() + axis.first_test, before, moving);
        prepared_.kernels.walk(ready.tree, active.rows.data(), active.start.data() + tests.from, tests.to - tests.from,
                               ready.element_of_row, ready.n_elements, amounts_.data(), extremes_.data());
    }
    layout.size = padded(layout.size);
    line_.assign(LineBuilder::line_size(layout), 0);
    line_total_.assign(LineBuilder::line_size(layout), 0);
    for (std::size_t c = 0; c < local_.axes.size(); ++c) {
        if (layout.offset[c] >= 0) {
            std::copy_n(total_.data() + local_.axes[c].first_test, local_.axes[c].n_tests,
                        line_total_.data() + layout.offset[c]);
        }
    }
    const LineBuilder& builder = prepared_.builder;
    if (layout.size > 0) {
        builder.add(line_.data(), before.data(), before.size(), layout, scratch_.data());
    }
    for (std::int32_t test = tests.from; test < tests.to; ++test) {
        if (test % 8 == 0 && prepared_.control.should_stop()) {
            return;
        }
        Extremes& here = extremes_[static_cast<std::size_t>(test - tests.from)];
        if (layout.size > 0) {
            builder.add(line_.data(), active.begin(test), active.size(test), layout, scratch_.data());
            prepared_.kernels.halves(line_.data(), line_total_.data(), layout.size, here);
        }
        const auto t = static_cast<std::size_t>(root.first_test + test);
        const std::int32_t d = total_[t];
        gains_.put_pair(t, d, all_ - d, here);
        if (table_ != nullptr) {
            std::copy(line_.begin(), line_.end(), table_->row(static_cast<std::int32_t>(t)));
        }
    }
}

std::vector<std::int32_t> list_rows(const Prepared& prepared) {
    std::vector<std::int32_t> rows(static_cast<std::size_t>(prepared.local.n_rows));
    std::iota(rows.begin(), rows.end(), 0);
    return rows;
}

// The tests of some runs, through one look at the rows for each pair of axes.
void run_sparse(const Prepared& prepared, const Runs& runs, Gains& gains) {
    const std::vector<std::int32_t>& small = prepared.amounts.small;
    const std::vector<Amount> amounts(small.begin(), small.end());
    std::vector<std::int32_t> tests;
    for (std::size_t a = 0; a < runs.size(); ++a) {
        for (const Run& run : runs[a]) {
            for (std::int32_t test = run.from; test < run.to; ++test) {
                tests.push_back(prepared.local.axes[a].first_test + test);
            }
        }
    }
    const std::int32_t all = std::accumulate(small.begin(), small.end(), 0);
    const std::vector<SideSums> sums = find_side_sums(prepared, amounts, tests);
    const auto narrow = [](Amount sum) { return static_cast<std::int32_t>(sum); };
    for (std::size_t k = 0; k < sums.size(); ++k) {
        const WideExtremes& wide = sums[k].extremes;
        gains.put_pair(static_cast<std::size_t>(tests[k]), narrow(sums[k].left), all - narrow(sums[k].left),
                       {{narrow(wide.high[0]), narrow(wide.high[1])}, {narrow(wide.low[0]), narrow(wide.low[1])}});
    }
}

// Whether the root tests of these runs are so few that it pays.
bool are_sparse(const Prepared& prepared, const Runs& runs) {
    const Local& local = prepared.local;
    if (prepared.control.is_off(no_cost_model)) {
        return local.n_rows % 3 == 0;
    }
    const auto n_axes = static_cast<double>(local.axes.size());
    const double n_rows = local.n_rows;
    double sparse = 0.0;
    double trees = 0.0;
    for (std::size_t a = 0; a < runs.size(); ++a) {
        sparse += runs[a].empty() ? 0.0 : n_axes * forecast::sparse_cycles(n_rows, 0.0);
        for (const Run& run : runs[a]) {
            const double n_tests = run.to - run.from;
            sparse += n_axes * forecast::sparse_cycles(0.0, n_tests);
            trees += n_axes * forecast::tree_cycles(n_rows * n_tests / local.axes[a].n_tests, n_rows);
        }
    }
    return sparse < trees;
}

// Those in both.
std::vector<Run> common(const std::vector<Run>& some, const std::vector<Run>& others) {
    std::vector<Run> both;
    for (std::size_t k = 0, m = 0; k < some.size() && m < others.size();) {
        const Run run{std::max(some[k].from, others[m].from), std::min(some[k].to, others[m].to)};
        if (run.from < run.to) {
            both.push_back(run);
        }
        ++(some[k].to < others[m].to ? k : m);
    }
    return both;
}

// Runs of an axis with so few rows between them that it is faster to walk on than to begin anew; the tests between are
// looked at, too.
std::vector<Run> join(const std::vector<Run>& runs, const ActiveRows::Codes& active, const Local& local) {
    std::vector<Run> joined;
    for (const Run& run : runs) {
        const bool is_near =
            !joined.empty() &&
            forecast::is_walking_on_faster(
                static_cast<std::int32_t>(active.begin(run.from) - active.begin(joined.back().to)), local.n_rows);
        if (is_near) {
            joined.back().to = run.to;
        } else {
            joined.push_back(run);
        }
    }
    return joined;
}

std::int64_t count_tests(const Runs& runs) {
    std::int64_t n = 0;
    for (const std::vector<Run>& of_axis : runs) {
        for (const Run& run : of_axis) {
            n += run.to - run.from;
        }
    }
    return n;
}

}  // namespace

// Rounds and coarse tables leave fewer root tests, which are then looked at one after the other; rounds come first
// where they are likely to leave few. What tables rule out costs more than a tree whose root test is looked at, was
// looked at in a round, or was passed over there for no tree of it costs less than what is wanted.
void find_pair_gains(const Prepared& prepared, Gains& gains, Wanted& wanted) {
    const Local& local = prepared.local;
    Runs open;
    for (const LocalAxis& axis : local.axes) {
        open.push_back({{0, axis.n_tests}});
    }
    const bool are_rounds_first = rounds_outrun_tables(prepared);
    if (are_rounds_first) {
        open = look_in_rounds(prepared, gains, wanted);
    }
    const double share = static_cast<double>(count_tests(open)) / static_cast<double>(local.n_tests);
    if (const auto promising = find_promising_roots(prepared, share)) {
        for (std::size_t a = 0; a < open.size(); ++a) {
            open[a] = common(open[a], (*promising)[a]);
        }
        if (are_sparse(prepared, open)) {
            run_sparse(prepared, open, gains);
            return;
        }
    } else if (!are_rounds_first && rounds_pay(prepared)) {
        open = look_in_rounds(prepared, gains, wanted);
    }
    if (count_tests(open) == 0) {
        return;
    }
    const std::vector<std::int32_t> rows = list_rows(prepared);
    PairWorker worker(prepared, prepared.active, rows, gains, nullptr);
    for (std::size_t a = 0; a < open.size(); ++a) {
        if (open[a].empty()) {
            continue;  // and its rows need not be sorted
        }
        for (const Run& tests : join(open[a], prepared.active.of(a), local)) {
            worker.run(a, tests);
        }
    }
    std::sort(gains.looked_at.begin(), gains.looked_at.end());
    gains.looked_at.erase(std::unique(gains.looked_at.begin(), gains.looked_at.end()), gains.looked_at.end());
}

void find_all_pair_gains(const Prepared& prepared, const ActiveRows& active, std::span<const std::int32_t> rows,
                         Gains& gains, PairTable& table) {
    PairWorker worker(prepared, active, rows, gains, &table);
    for (std::size_t a = 0; a < prepared.local.axes.size(); ++a) {
        worker.run_all(a);
    }
}

void find_all_pair_gains(const Prepared& prepared, Gains& gains, PairTable& table) {
    find_all_pair_gains(prepared, prepared.active, list_rows(prepared), gains, table);
}

}  // namespace certree
