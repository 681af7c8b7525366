// The search: a certified optimal tree of an instance, or the best tree so far and a true lower bound.
#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "control.hpp"
#include "instance/judge.hpp"
#include "search/cache.hpp"
#include "search/elsewhere.hpp"
#include "search/frontier.hpp"
#include "search/polish.hpp"
#include "search/seen.hpp"
#include "search/witness.hpp"
#include "shallow/any_labels/any_labels.hpp"
#include "shallow/any_labels/cell_form.hpp"
#include "shallow/any_labels/stumps.hpp"
#include "shallow/two_labels/two_labels.hpp"

namespace certree {

struct Limits {
    std::int64_t memory_bytes = 0;  // 0: no limit
    int n_threads = 1;
    const Witness* witness = nullptr;      // for tests: a tree that no claim of the search may rule out
    const Elsewhere* elsewhere = nullptr;  // looks at root tests where that takes long; null: nobody but this search
    int n_elsewhere = 1;                   // at so many of them at a time
};

struct Statistics {
    std::atomic<std::int64_t> subproblems{0};
    std::atomic<std::int64_t> expansions{0};
    std::atomic<std::int64_t> probes{0};
    std::atomic<std::int64_t> elsewhere{0};
    std::atomic<std::int64_t> similar{0};
    std::atomic<std::int64_t> cache_hits{0};
    std::atomic<std::int64_t> triples{0};
    std::atomic<std::int64_t> pairs{0};
    std::atomic<std::int64_t> cells{0};
    std::int64_t cache_entries = 0;
    std::int64_t cache_forgotten = 0;
    int depth_reached = 0;
};

enum class Status { optimal, guessed, time_limit, memory_limit, interrupted };

struct Result {
    NodePtr tree;
    Amount cost = 0;  // without λ and offset
    int leaves = 1;
    Amount lower = 0;  // with λ, without offset
    Status status = Status::optimal;
};

class Search {
public:
    Search(const Instance& instance, const Settings& settings, const Limits& limits, const Control& control);

    Result run();

    // What no tree of this depth on these rows costs less than: where that is less than the budget, the optimum.
    Amount lower_bound(const RowSet& set, int depth, Amount budget);

    // Looks at a root test for another search of the same instance and settings. Safe to call from several threads. Of
    // no use if the control said stop meanwhile.
    Answer answer(const Question& question);

    // Safe to call while run() is under way in another thread.
    Amount upper_now() const { return upper_now_.load(std::memory_order_relaxed); }
    Amount lower_now() const { return lower_now_.load(std::memory_order_relaxed); }

    const Statistics& statistics() const { return statistics_; }

private:
    // What is asked at the root alone: it shares work between threads, reports bounds and offers trees as they come.
    struct Root {
        Amount beyond;  // no tree deeper than the depth at hand costs less
    };
    struct Subproblem {
        const RowSet& set;
        int depth;
        Amount budget;
        const Root* root = nullptr;  // null below the root
    };
    struct Solved {
        const RowSet& set;
        const Outcome& outcome;
    };
    // A root test: the set that it splits, the depth and the cap of trees that begin with it.
    struct Looked {
        const SetKey& whole;
        int depth;
        Amount cap;
        Amount spare;
        Amount deep;  // bounds::deep_sum
    };
    struct BothSides {
        Outcome left;
        Outcome right;
    };

    // A subproblem is solved by the first of these steps that can (search.cpp).
    Outcome solve(const Subproblem& problem);
    Outcome solve_shallower(const Subproblem& problem, int depth);
    bool settle_by_leaf(const Subproblem& problem, Outcome& outcome) const;
    bool recall(const Subproblem& problem, Outcome& outcome);
    bool settle_alike(const Subproblem& problem, const Local& local, Outcome& outcome) const;
    bool solve_by_cells(const Subproblem& problem, const Local& local, Outcome& outcome);
    bool solve_two_labels(const Subproblem& problem, const Local& local, Outcome& outcome);
    bool settle_relaxed(const Subproblem& problem, const Local& local, Outcome& outcome) const;
    bool solve_any_labels(const Subproblem& problem, const Local& local, Outcome& outcome);
    Amount deepen(const Subproblem& problem, Outcome& outcome);
    bool expand(const Subproblem& problem, const Local& local, Amount shallower, Outcome& outcome,
                std::vector<Amount>& axis_lower);
    void solve_closed(const Subproblem& problem, const Local& local, std::vector<Amount> axis_lower, Outcome& outcome);
    void remember(const Subproblem& problem, const Outcome& outcome);

    Frontier::Goal goal_of(const Subproblem& problem, const Local& local, Amount shallower, const Outcome& outcome);
    int shallow_depth(int depth) const;
    bool is_shallow_look_worthwhile(int depth, Amount cap) const;
    Amount shallow_lower(const RowSet& side, int depth, Amount budget);
    bool is_elsewhere(const Subproblem& problem) const;
    void look_at(const Subproblem& problem, const Local& local, Amount deep, Frontier::Look& look, Frontier& frontier);
    void look_elsewhere(const Subproblem& problem, const RootTest& test, bool is_reversed, Frontier::Look& look,
                        Frontier& frontier);
    std::optional<BothSides> solve_sides(const Looked& looked, const Split& split, bounds::Sides& lower);
    void combine(const Subproblem& problem, const RootTest& test, const Solved& left, const Solved& right,
                 Frontier& frontier);
    void read_off(const Frontier& frontier, const Frontier::Goal& goal, Outcome& outcome) const;
    void hear(Claim by, const Subproblem& problem, Outcome& outcome) const;
    void hear_answer(Claim by, const Subproblem& problem, const Outcome& outcome) const;
    bool is_remembered(const Subproblem& problem) const;
    int n_threads_at(const Subproblem& problem) const;
    NodePtr tree_of(const RowSet& set, const Outcome& outcome, std::size_t entry) const;
    bool do_cells_pay(const Subproblem& problem, const Local& local) const;
    bool is_fast(const Subproblem& problem, const Local& local) const;
    void report(const Subproblem& problem, Claim by, Amount lower);
    double patience(int depth, const Local& local) const;
    std::size_t width_at(int depth) const;

    // A whole search goes through these (run.cpp).
    int deepest() const;
    bool is_shallow(int most_depth) const;
    bool is_quick(int most_depth) const;
    void plant(const RowSet& root, int most_depth);
    bool is_three_quick() const;
    Choice choose(const RowSet& rows, int depth, bool is_whole_wanted);
    Polish& polish(int most_depth);
    void look_ahead(const RowSet& root, int ahead, int most_depth);
    int most_ahead(int most_depth) const;
    void polish_best(const RowSet& root, int most_depth, int ahead, const Control& control);
    void use_time_left(const RowSet& root, int depth, int most_depth, double seconds);
    bool is_looked_ahead(int depth, int most_depth) const;
    Amount relax_limits(const RowSet& root);
    int first_depth(int most_depth) const;
    Amount solve_depth(const RowSet& root, int depth, int most_depth);
    Result conclude(const RowSet& root, int most_depth, Amount lower, bool has_memory) const;
    bool offer(const NodePtr& tree);
    void raise_lower(Amount value);

    const Instance& instance_;
    std::size_t spare_bytes_;  // what memory_limit leaves beside the instance
    Settings settings_;
    const Limits& limits_;
    const Control& control_;
    Stumps stumps_;
    TwoLabels two_labels_;
    AnyLabels any_labels_;
    CellForm cell_form_;
    Cache cache_;
    std::deque<SeenSets> seen_;  // by depth, from the least on that has them
    const Witness* witness_;     // null but in tests, and where guesses make no claims
    bool is_two_labels_;         // and nothing but depth and λ to keep to
    bool has_relaxation_;        // limits on leaves whose lifting gives cheap bounds
    bool is_bounded_;            // Monotone, Difference and Interval hold as they stand
    Statistics statistics_;
    std::optional<Polish> polish_;
    NodePtr best_tree_;
    Amount best_value_ = unreachable;
    std::atomic<Amount> upper_now_{unreachable};
    std::atomic<Amount> lower_now_{0};
    std::mutex best_mutex_;
    std::atomic<std::int64_t> given_up_{0};  // expansions that a closed form ended, less those that it did not
};

}  // namespace certree
