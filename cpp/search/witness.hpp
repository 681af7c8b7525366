// A tree that is known to be good, handed to a search for tests: the search stops at the first bound, cache entry or
// closed form that would rule it out, and says which. A search without a witness pays one look at a null pointer.
//
// What is compared are row sets and costs, never tests: the engine merges rows and tests that are equal. Wherever the
// search looks at the rows of a node of the witness with enough depth left, the part of the witness below that node is
// a tree of the subproblem. So
//   - no lower bound may exceed what that part costs, nor may a bound of a side of the part's root test exceed what its
//     child costs;
//   - where the part costs less than the budget, the answer must cost no more.
// The tree must keep the constraints, but it need not be optimal.
#pragma once

#include <stdexcept>
#include <string>
#include <unordered_map>

#include "shallow/outcome.hpp"

namespace certree {

// Whatever can rule out a tree.
enum class Claim {
    leaf,          // the set's lone leaf is its best tree
    split,         // a tree with a split costs at least two penalties
    cache,         // what is remembered of the row set
    stump_form,    // depth one in closed form, two labels
    pair_form,     // depth two
    triple_form,   // depth three
    cell_form,     // either by sums over cells, for any labels and minima
    relaxed_form,  // closed forms of two labels with every limit on leaves lifted
    kept_form,     // its tree keeps the limits
    stumps,        // depth one for any labels and limits
    any_labels,    // depth two for any labels and limits
    shallower,     // sides are no cheaper than a shallower tree of the whole
    interval,      // bounds between neighbouring thresholds
    side_leaf,     // a side costs a leaf or two penalties
    deep_side,     // a side of a tree of just this depth has many leaves
    similarity,    // bounds between any two row sets
    side_budget,   // what a side may cost, given what the other does
    depth_cap,     // a tree below the budget is no deeper than its leaves allow
    expansion,     // no root test is left
    price,         // optima at another price of leaves
    deeper,        // trees deeper than the depth at hand
    frontier,      // the bound that is reported while root tests are looked at
    slice,         // and between slices of depth three in closed form
    result,        // what the search ends with
};
const char* name_of(Claim claim);

// Thrown at the first claim that would rule out the witness.
class WitnessPruned : public std::logic_error {
public:
    WitnessPruned(Claim by, const std::string& what) : std::logic_error(what), claim(by) {}
    Claim claim;
};

class Witness {
public:
    // Pre: a tree of the instance that keeps the constraints of the search.
    Witness(const Instance& instance, Amount penalty, NodePtr tree);

    // The part of the tree below one of its nodes.
    struct Part {
        int depth = 0;
        std::size_t leaves = 1;
        Amount value = 0;  // with λ
        SetKey side[2];    // rows of its children, where it is no leaf
        Amount side_value[2] = {0, 0};
        int side_depth[2] = {0, 0};
    };

    // Null where no part of the tree stands on these rows, or only a deeper one.
    const Part* find(const SetKey& key, int depth) const;

    // A claim that no tree of the subproblem costs less. Returns the bound, made false where a test asked for it.
    Amount hear(Claim by, const SetKey& key, int depth, Amount lower) const;

    // A claim that the subproblem is solved for trees cheaper than the budget; `is_last_asked`: of its entries only the
    // last one counts.
    void hear_answer(Claim by, const SetKey& key, int depth, Amount budget, const Outcome& answer,
                     bool is_last_asked) const;

    // A claim that no tree with this side is cheaper than the cap where the side costs `budget` or more. `whole`: the
    // row set with `depth` left that the side is of.
    void hear_budget(const SetKey& whole, int depth, Amount cap, const SetKey& side, Amount budget) const;

    const NodePtr& tree() const { return tree_; }

    // For tests of the witness itself: bounds by this claim are raised by so much wherever the witness hears of them,
    // and it says nothing where it is told to be silent.
    struct Lie {
        Claim about = Claim::leaf;
        Amount by = 0;
        bool is_silent = false;
    };
    Lie lie;

private:
    const Part& add(const Instance& instance, Amount penalty, const Node& node, const RowSet& set);
    void complain(Claim by, Amount claimed, Amount value) const;

    struct KeyHash {
        std::size_t operator()(const SetKey& key) const { return static_cast<std::size_t>(key.low); }
    };
    NodePtr tree_;
    std::unordered_map<SetKey, Part, KeyHash> parts_;
};

}  // namespace certree
