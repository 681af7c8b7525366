// Builds the graph of all good trees, level by level from the root down.
//
// A node is a set of rows, the depth left and the budget that the best trees of its siblings leave it. Nodes of one
// depth are looked at together once all nodes above are done: by then each has the largest budget that any parent
// gives it, and is looked at once. Bounds decide what is looked at; what is a good tree is decided by the leaves alone,
// which are exact, when the graph is done and pruned.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <span>

#include "control.hpp"
#include "good/graph.hpp"
#include "instance/problem.hpp"
#include "search/search.hpp"

namespace certree::good {

// How far the work is, for whoever watches it: nodes that are known, and how many of them were looked at.
struct Progress {
    std::atomic<std::int64_t> n_known{1};
    std::atomic<std::int64_t> n_looked_at{0};
};

struct Wish {
    double tolerance = 0.0;  // in units of R
    double share = 0.0;      // and so much of the optimum on top
    bool has_idle = false;
    std::span<const std::int32_t> column_of_axis;  // the caller's
    std::int32_t n_columns = 0;
    Progress* progress = nullptr;
    // Called once, with the rest of the graph, where that is not done in so short a time; none: it is just done.
    std::chrono::milliseconds brief{5};
    std::function<void(const std::function<void()>&)> carry_on;
};

struct Found {
    Graph graph;
    std::vector<std::uint64_t> column_sets;  // bits, `n_words` for each number in `graph.columns`
    std::size_t n_words = 0;
    Amount tolerance = 0;
    Amount optimum = 0;            // what the best tree that is known costs
    Amount lower = 0;              // and what no tree costs less than
    Amount missing = unreachable;  // a good tree that the graph lacks costs at least so much
    bool is_complete = true;
    bool is_out_of_memory = false;
    std::int64_t n_looked_at = 0;  // nodes
    std::size_t bytes = 0;         // of the graph while it was built
};

Found find_good_trees(const Instance& instance, const Settings& settings, const Limits& limits, const Control& control,
                      const Wish& wish);

}  // namespace certree::good
