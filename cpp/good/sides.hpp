// What the sides of root tests cost at least: for a set of rows and a budget, every test whose two sides may be part of
// a tree within it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "control.hpp"
#include "instance/subset.hpp"
#include "search/search.hpp"
#include "shallow/two_labels/gains.hpp"
#include "shallow/two_labels/two_labels.hpp"

namespace certree::good {

// A test on an axis of the instance, and a bound for each of its sides: either of what a tree of the side that splits
// costs, or of what it gains (two labels, section 4 of docs/method.md), as `RootTests` says. Left is where the
// instance's test holds.
struct SidesOfTest {
    std::int32_t axis;
    std::int32_t code;
    Amount left;
    Amount right;
    Amount total = 0;  // of gains: what the best tree under the test gains, leaves included
};

// A test on an axis of the instance.
struct Stump {
    std::int32_t axis;
    std::int32_t code;
};

struct RootTests {
    std::vector<SidesOfTest> tests;
    bool are_gains = false;
    Amount slack = 0;  // of gains: what rounding may have taken off
    bool is_complete = true;

    // What a tree that splits costs at least on a side with this bound and these amounts.
    Amount split_cost(Amount bound, Amount worst) const {
        return are_gains ? std::max<Amount>(0, (worst - bound - slack) >> 1) : bound;
    }
};

// Where every axis has two codes: what a set of rows adds up to under every test, and as a whole.
struct Line {
    std::vector<std::int32_t> sums;
    std::int32_t all = 0;

    // The sums of `set` less those of `some`, which are among its rows.
    void set_rest(const Line& set, const Line& some);
};

// Limits on leaves play no part: lifting them only adds trees, so the bounds hold with them too.
class RootTestFinder {
public:
    RootTestFinder(const Instance& instance, const Settings& settings, const Limits& limits, const Control& control);

    // Of all trees of this depth, where a closed form finds that at once: no tree costs less than `lower`, and one
    // costs no more than `upper`. What it found of the root tests is kept for `find`, if that is asked next.
    struct Range {
        Amount lower;
        Amount upper;
    };
    std::optional<Range> bound(const RowSet& set, int depth);

    // Pre: depth >= 2. Every test whose sides, at a depth less, cost no more than the budget together, and perhaps
    // some others.
    RootTests find(const RowSet& set, int depth, Amount budget);

    // The same for a side of a root test of all rows, at depth two: read off what the closed form of all rows found,
    // where that was asked for depth three first. `worst` are the amounts of the side.
    bool has_seconds() const { return stumps_.has_value(); }
    RootTests find_seconds(std::int32_t axis, std::int32_t code, bool is_left, Amount worst, Amount budget);

    // Tests of some rows whose two sides, as leaves, may cost no more than the budget, by their line: added up row by
    // row or, where `has_seconds`, known of the sides of the root tests of all rows.
    bool has_lines() const { return whole_ && are_all_two_valued(whole_->local); }
    void add_line(std::span<const std::int32_t> rows, Line& line);
    void find_line(std::int32_t axis, std::int32_t code, bool is_left, Line& line);
    RootTests find_stumps(const Line& line, Amount worst, Amount budget) const;

    // Of one side of a test of the set that `find` or `bound` was last asked for: appends its tests whose two sides, as
    // leaves, may cost no more than the budget. `worst` are the amounts of the side. The closed forms have the sums
    // under every pair of tests; where none was used, `has_pairs` is false.
    bool has_pairs() const { return table_.has_value(); }
    void add_stumps(std::int32_t axis, std::int32_t code, bool is_left, Amount worst, Amount budget,
                    std::vector<Stump>& to) const;

private:
    // What a closed form works on.
    struct Ground {
        Local local;
        Prepared prepared;

        Ground(const Instance& instance, Amount penalty, const RowSet& set, Local&& of_set, const Kernels& kernels,
               const Control& control)
            : local(std::move(of_set)), prepared(instance, penalty, set, local, kernels, control) {}
    };
    // And the sums that it leaves.
    struct Table {
        std::shared_ptr<const Ground> ground;
        PairTable pairs;
    };

    void leave_table();
    bool has_closed_form(const Local& local, int depth) const;
    std::shared_ptr<const Ground> make_ground(const RowSet& set, Local&& local) const;
    RootTests find_closed(const RowSet& set, std::shared_ptr<const Ground> ground, int depth, Amount budget);
    static std::int32_t test_at(const Local& local, std::int32_t axis, std::int32_t code);
    static Amount least(Amount worst, const RootTests& found, const SidesOfTest& test);
    Amount least_gain_of_stump(const RoundedAmounts& amounts, Amount worst, Amount budget) const;
    RootTests find_by_intervals(const RowSet& set, const Local& local, int depth, Amount budget);

    const Instance& instance_;
    const Control& control_;
    const Kernels& kernels_;
    Settings unlimited_;
    std::size_t table_bytes_;
    Search search_;
    TwoLabels two_labels_;
    std::optional<RootTests> kept_;  // of `bound`
    bool is_two_valued_;
    std::shared_ptr<const Ground> whole_;  // of all rows, where every axis has two codes
    std::optional<PairStumps> stumps_;     // of all rows, where depth three was asked for, too,
    std::optional<Table> whole_table_;     // and its sums, once another set was asked for
    std::optional<Table> table_;           // of the set asked for last
    ActiveRows active_;                    // of a part of `whole_`
    Line line_;                            // of the side looked at
    std::vector<std::int32_t> scratch_;
};

}  // namespace certree::good
