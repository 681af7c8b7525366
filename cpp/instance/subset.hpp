// A set of rows, and the same set with every axis renumbered to the codes that occur in it.
#pragma once

#include <memory>
#include <vector>

#include "instance/problem.hpp"
#include "pool.hpp"

namespace certree {

struct RowSet {
    std::vector<std::int32_t> rows;  // ascending
    SetKey key;
    Amount worst = 0;      // D(S): the sum of the rows' largest costs
    Amount balance = 0;    // two labels: gain(0) − gain(1)
    Amount reference = 0;  // cost of the reference's predictions
    std::int64_t count = 0;

    void sum(const Instance& instance, std::int32_t row);  // its amounts join
};

RowSet all_rows(const Instance& instance);

// What keeps a number for each of more codes than this keeps it in far memory, where each row waits for its own.
inline constexpr std::int32_t many_codes = 1 << 14;

// One axis as seen from inside a row set. Test j holds where code <= j (ordered) or code == j (categorical).
// Ordered codes run so that the last one is the more frequent end: rows with the last code satisfy no test, so closed
// forms never touch them. On an axis turned round for that, a test holds where the instance's test fails.
struct LocalAxis {
    std::int32_t axis = 0;  // in the instance
    std::int32_t n_codes = 0;
    std::int32_t n_tests = 0;
    std::int32_t first_test = 0;  // tests of all axes are numbered through
    bool is_categorical = false;
    bool is_reversed = false;
    const std::int32_t* codes = nullptr;       // of each row of the set, in its order
    const std::int32_t* test_codes = nullptr;  // see code_of; nullptr: the tests are numbered as in the instance

    // A test's code in the instance (with sides swapped on a reversed axis).
    std::int32_t code_of(std::int32_t test) const { return test_codes == nullptr ? test : test_codes[test]; }
    bool holds(std::int32_t code, std::int32_t test) const { return is_categorical ? code == test : code <= test; }
};

// Ordered axes with many tests come first, then categorical ones, then those with a single test: closed forms treat the
// groups differently.
struct Local {
    std::int32_t n_rows = 0;
    std::int32_t n_tests = 0;
    std::int32_t n_step_axes = 0;    // ordered axes with at least two tests
    std::int32_t n_single_axes = 0;  // axes with one test
    std::vector<LocalAxis> axes;

    Local(const Instance& instance, const RowSet& set);
    // Of some axes only, by their numbers in the instance.
    Local(const Instance& instance, const RowSet& set, const std::vector<std::int32_t>& chosen);

    // The place in `axes` of a test that is numbered through; not for inner loops.
    std::size_t axis_of(std::int32_t test) const;

private:
    PooledVector<std::int32_t> code_store_;
    PooledVector<std::int32_t> test_code_store_;
};

struct Split {
    RowSet left;
    RowSet right;
};
Split split_rows(const Instance& instance, const RowSet& set, const LocalAxis& axis, std::int32_t test);
Split split_rows(const Instance& instance, const RowSet& set, std::int32_t axis, std::int32_t code);

// A tree over instance axes. Shared, immutable; a leaf has axis −1.
struct Node {
    std::int32_t axis = -1;
    std::int32_t code = 0;
    std::int32_t label = 0;
    std::shared_ptr<const Node> left;
    std::shared_ptr<const Node> right;

    bool is_leaf() const { return axis < 0; }
};
using NodePtr = std::shared_ptr<const Node>;

std::size_t count_nodes(const Node& node);
// What a tree takes, allocator included; none takes nothing.
inline std::size_t tree_bytes(const NodePtr& tree) {
    return tree ? 112 * count_nodes(*tree) : 0;
}
NodePtr make_leaf(std::int32_t label);
NodePtr make_split(std::int32_t axis, std::int32_t code, NodePtr left, NodePtr right);

}  // namespace certree
