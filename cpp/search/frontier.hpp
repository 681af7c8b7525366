// The root tests of one row set that may still be worth a look, best bound first.
//
// Tests of an ordered axis stand in intervals between two that were looked at. A worker takes the middle test of the
// interval with the least bound, looks at both sides (without the lock), and hands back what the sides cost at least:
// that bounds the tests between, and the two halves of the interval go back into the queue. It ends where the least
// bound reaches the cap: what was never looked at is then shown to be no better.
#pragma once

#include <condition_variable>
#include <functional>
#include <limits>
#include <mutex>
#include <optional>
#include <queue>

#include "bounds.hpp"
#include "control.hpp"
#include "search/seen.hpp"
#include "search/witness.hpp"
#include "shallow/two_labels/two_labels.hpp"

namespace certree {

class Frontier {
public:
    struct Goal {
        int depth = 0;
        Amount penalty = 0;           // λ
        Amount budget = unreachable;  // a tree that costs so much is of no use
        Amount guess = -unreachable;  // with guesses: a tree that costs no more is good enough
        Amount shallower = 0;         // no tree of a depth less costs less, leaf minima lifted
        Amount deep = 0;              // bounds::deep_sum, where all trees of less depth are known; else 0
        std::size_t entry = 0;        // of the outcome: a test matters only below what it holds
        const TwoLabels* two_labels =
            nullptr;                  // bounds sides by their leaves, where nothing but depth and λ limits a tree
        SeenSets* seen = nullptr;     // sets of the sides' depth that others have looked at, too; null: none
        bool is_spare_asked = false;  // whether a bound above the cap has to be asked for; see Look::spare
        double patience = std::numeric_limits<double>::infinity();  // so many looks, then it gives up
        std::function<void(Amount)> report;                         // told of the least bound as it rises; may be empty
    };
    // The outcome is written under the frontier's lock while workers are about.
    Frontier(const Instance& instance, const Control& control, const Witness* witness, const RowSet& set,
             const Local& local, const Goal& goal, Outcome& outcome);

    // A run of thresholds of one axis that are still to be looked at, between two that were (or the ends).
    struct Interval {
        Amount bound = 0;
        std::int32_t axis = 0;
        std::int32_t low = 0;
        std::int32_t high = 0;
        std::int32_t below_at = -1;  // tests whose sides are known
        std::int32_t above_at = 0;
        bounds::Sides below;
        bounds::Sides above;

        bool operator<(const Interval& other) const {
            return bound > other.bound;
        }  // a heap with the least bound on top
    };

    // A test to look at. Whoever does raises the bounds of its sides, with leaf minima lifted, to what was learned.
    struct Look {
        Interval interval;
        std::int32_t test = 0;
        Split split;
        bounds::Sides sides;
        Amount cap = 0;  // a tree must cost less
        // A test that is too expensive is worth a bound above the cap, which rules out its neighbours: as far above as
        // it takes to rule out all of them.
        Amount spare = 0;
        RowBits bits[2];
        bounds::Sides before;  // what was known of the sides when the look began
    };

    // The next test that no bound rules out; waits while others may still open one. None: all is done, or patience is
    // at its end, or the control says stop.
    std::optional<Look> next();

    // What the look has learned. Incomplete: it was stopped, and the test stays open.
    void close(Look& look, bool is_complete);

    // Lets nobody wait for a look that will never be closed.
    void abandon();

    // Puts a tree of this value into the entries from this one on where it is better, and returns it; it is made only
    // then, else the answer is null.
    NodePtr offer(std::size_t entry, Amount value, const std::function<NodePtr()>& make_tree);

    // Once the workers are done. No tree costs less than `lower`.
    Amount lower() const;
    std::vector<Amount> axis_lower() const;  // by local axis: the same of trees with their root there
    bool was_stopped() const { return was_stopped_; }
    bool has_given_up() const { return has_given_up_; }
    Amount relaxed() const { return relaxed_; }  // least sum of the bounds of a test's sides, of those looked at
    std::int64_t n_similar() const { return n_similar_; }

private:
    void fill();
    void watch();
    bounds::Sides heard(Claim by, std::int32_t axis, std::int32_t test, bounds::Sides sides) const;
    Amount cap() const;
    bounds::Sides sides_at(const Interval& interval, std::int32_t test) const;
    Amount bound_of(std::int32_t axis, std::int32_t test, const bounds::Sides& sides) const;
    bool narrow(Interval& interval, Amount cap) const;
    bool is_ruled_out(Look& look);
    bool renew_patience();
    void split_interval(const Look& look);

    const Instance& instance_;
    const Control& control_;
    const Witness* witness_;
    const RowSet& set_;
    const Local& local_;
    const Goal& goal_;
    Outcome& outcome_;
    bool has_intervals_;
    bool has_similarity_;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::priority_queue<Interval> queue_;
    std::vector<Amount> in_flight_;
    std::vector<std::vector<Amount>>
        mass_;  // by local axis: D of the rows up to (ordered) or at (categorical) each test
    Amount relaxed_ = unreachable;
    double looks_left_;
    int n_renewals_ = 0;
    bool was_stopped_ = false;
    bool has_given_up_ = false;
    std::int64_t n_similar_ = 0;

    SeenSets own_seen_;  // row sets that were looked at here
    SeenSets& seen_;     // or wherever sides have this depth

    // With a witness: the tests that split the rows as its part does, and the rows of their sides.
    struct Watched {
        std::int32_t axis;
        std::int32_t test;
        SetKey left;
        SetKey right;
    };
    std::vector<Watched> watched_;
};

}  // namespace certree
