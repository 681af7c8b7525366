// Depth three in closed form for two labels where every axis has one test, as two-valued columns have.
//
// Three tests a, b and c have one sum x of the rows on which they all hold, and x serves three pairs: it is a stump c
// in the quadrants of (a, b), a stump b in those of (a, c), and a stump a in those of (b, c). So a sum is taken once,
// for a before b before c, and the extremes of all pairs are kept until their last third test has been seen. Tests that
// hold on few rows come first: the long lines are then summed over the fewest rows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "shallow/two_labels/lines.hpp"

namespace certree {

struct Gains;
struct PairTable;
struct Prepared;

inline bool are_all_two_valued(const Local& local) {
    return static_cast<std::size_t>(local.n_single_axes) == local.axes.size();
}

// Of any two tests, the largest Σ |d(leaf)| of a stump in each quadrant: both hold, the first alone, the second alone,
// neither.
class PairStumps {
public:
    explicit PairStumps(std::size_t n_tests) : n_tests_(n_tests), gains_(n_tests * n_tests * 4, 0) {}

    const std::int32_t* at(std::size_t first, std::size_t second) const {
        return gains_.data() + (first * n_tests_ + second) * 4;
    }
    void put(std::size_t first, std::size_t second, const std::int32_t (&gains)[4]) {
        std::copy_n(gains, 4, gains_.data() + (first * n_tests_ + second) * 4);
    }

private:
    std::size_t n_tests_;
    PooledVector<std::int32_t> gains_;
};

class TwoValuedTriples {
public:
    // Pre: all are two-valued. `stumps`: where given, what was found of every two tests is put there.
    TwoValuedTriples(const Prepared& prepared, const PairTable& table, PairStumps* stumps = nullptr);

    // The axes in the order in which they take part.
    const std::vector<std::int32_t>& order() const { return order_; }

    // The next one with all after it. Post: the gains of the axes up to it are known, unless it was stopped.
    void run_next(Gains& gains);

    // What is kept of so many tests.
    static std::size_t bytes(std::size_t n_tests);

private:
    // What is kept in lanes of 16 bits where every sum fits, else of 32; the tests stand in order.
    template <class Lane>
    struct Kept {
        std::size_t width = 0;
        PooledVector<Lane> lines;     // by row
        PooledVector<Lane> pairs;     // by test: sums of the rows on which it and another one hold
        PooledVector<Lane> total;     // by test
        PooledVector<Lane> extremes;  // by test: of the pairs with another one, as in ThreeTests
    };
    template <class Lane>
    void fill(Kept<Lane>& kept, const PairTable& table) const;
    template <class Lane>
    void run(Kept<Lane>& kept, Gains& gains);

    const Prepared& prepared_;
    PairStumps* stumps_;
    std::int32_t all_;
    std::vector<std::int32_t> order_;
    std::size_t next_ = 0;
    std::size_t n_words_;
    PooledVector<std::uint64_t> holds_;  // by test: a bit for every row
    PooledVector<std::int32_t> rows_;    // on which both of two tests hold
    Kept<std::int16_t> short_;
    Kept<std::int32_t> long_;
};

}  // namespace certree
