// A tree made better before anything is proved: what a search that runs out of time falls back on, and what a proof has
// to beat.
//
// A part of a tree is what stands below one of its nodes. Parts of few levels are solved in closed form. A deeper part
// is made better by another test at its root: one that makes its sides pure, or one that suits the trees of its sides
// as they stand; the sides are then grown anew by looking ahead. What is found for a set of rows is kept.
#pragma once

#include <map>
#include <optional>
#include <tuple>

#include "search/greedy.hpp"
#include "search/rollouts.hpp"

namespace certree {

class Polish {
public:
    // The best trees of so many levels on these rows, or their root test where no more is wanted.
    using Solve = std::function<Choice(const RowSet& rows, int depth, bool is_whole_wanted)>;
    // Hears of every better tree of all rows as it is found.
    using Offer = std::function<void(const NodePtr& tree)>;

    // What is remembered of row sets takes at most so many bytes.
    Polish(const Instance& instance, const Settings& settings, const Stumps& stumps, int max_depth,
           std::size_t most_bytes, Solve solve, Offer offer);

    // Levels to look ahead, whether the tests of nodes above that are chosen by the trees that they grow, tests to try
    // at a node, and when to stop.
    struct Pass {
        int ahead;
        bool has_rollouts;
        std::size_t n_tests;
        const Control& control;
    };

    // A tree whose every test is the root test of the best tree of so many levels below it; with rollouts, closed forms
    // of so many levels stand below tests that were chosen by the trees they grow. Post: it was offered.
    void grow_whole(const RowSet& root, const Pass& pass);

    // Tries other tests at every node of a tree, from the root down. Pre: the tree keeps the limits. Post: each better
    // tree was offered. Returns whether there was one.
    bool improve(const RowSet& root, const NodePtr& tree, const Pass& pass);

    // Makes trees of their own for as many root tests, those first that grow the best trees. Post: each was offered
    // whenever it became better.
    void try_roots(const RowSet& root, const Pass& pass);

    // What is remembered takes so many.
    std::size_t bytes() const { return bytes_; }

private:
    using Put = std::function<void()>;  // tells those above that a part has become better
    struct Candidate {
        RootTest test;
        bool is_swapped = false;  // the tree of the left side suits the right one
    };

    template <class Map, class Value>
    void keep(Map& map, const typename Map::key_type& key, const Value& value);
    Part grow(const RowSet& rows, int depth, int most_leaves, const Pass& pass);
    bool refine(const RowSet& rows, int depth, Part& part, const Pass& pass, const Put& put);
    bool try_tests(const RowSet& rows, int depth, Part& part, const Pass& pass, const Put& put);
    Choice choose(const RowSet& rows, int depth, const Pass& pass);
    std::vector<Candidate> candidates(const RowSet& rows, int depth, const Node& node, const Pass& pass);
    std::vector<RootTest> ranked_tests(const RowSet& rows, int depth, const Pass& pass);
    std::vector<Candidate> suiting_tests(const RowSet& rows, const Node& node) const;
    Part fit_part(const RowSet& rows, const NodePtr& tree) const;
    bool is_kept(const RowSet& rows, const Part& part) const;
    int most_leaves_of(const Part& part) const;

    const Instance& instance_;
    Settings settings_;
    const Stumps& stumps_;
    std::size_t most_bytes_;
    std::size_t bytes_ = 0;  // what the three maps take
    Solve solve_;
    Offer offer_;
    Part whole_;
    std::optional<Rollouts> rollouts_;                                 // made when it is needed
    std::map<std::tuple<SetKey, int, bool>, Choice> looks_;            // by rows, levels and whether trees were wanted
    std::map<std::tuple<SetKey, int>, std::vector<RootTest>> ranked_;  // by rows and depth
    std::map<std::tuple<SetKey, int, int, int, bool>, Part> grown_;    // by rows, depth, leaves and the way of growing
};

}  // namespace certree
