// Best trees of depth at most three in closed form for two labels, where nothing but depth and λ limits a tree.
//
// With two labels the cost of a leaf on rows Q is (D(Q) − |d(Q)|) / 2, d the signed sum of the rows' balances. So a
// tree is judged by its gain G = Σ |d(leaf)| − 2λ · leaves: cost = (D(S) − G) / 2, and one signed sum per cell is all
// that is needed, whatever the weights. The best stump in Q needs only the largest and the smallest d over all tests:
//     |x| + |y − x| = max(|y|, |2x − y|),   x = d(Q and test), y = d(Q),
// which is largest at an extreme x. Closed forms therefore keep running maxima and minima, nothing else.
//
// The inner loops use 32-bit amounts. Where the instance's amounts do not fit exactly they are rounded to a grid of 2^s
// and a gain may be off by at most rows · 2^(s−1); every root test within that of the best is then solved exactly, in
// 64 bits, so the answer does not depend on the rounding.
#pragma once

#include <array>
#include <functional>

#include "control.hpp"
#include "kernels/kernels.hpp"
#include "shallow/outcome.hpp"

namespace certree {

struct Prepared;
struct Gains;
struct Wanted;

class TwoLabels {
public:
    // table_bytes: what the tables of one closed form may take.
    TwoLabels(const Instance& instance, const Settings& settings, const Control& control, std::size_t table_bytes);

    struct Answer {
        Amount lower = 0;            // no tree costs less
        Amount value = unreachable;  // the optimum, where it is below the budget
        std::int32_t axis = -1;      // root test of an optimal tree, −1: a leaf
        std::int32_t code = 0;
        NodePtr tree;  // an optimal tree, where finding the value found one; else to be extracted
    };
    // Depth three takes a while: what is known beforehand of its root tests, and who hears of it between two slices.
    struct Slices {
        std::vector<Amount> axis_lower;             // by local axis: no tree with its root there costs less
        std::function<void(const Answer&)> report;  // the best tree so far, where there is one, and a true bound
    };
    // depth 1, 2 or 3. On a stop the bound is still true, and the value is that of the best tree found.
    Answer solve(const RowSet& set, const Local& local, int depth, Amount budget, int n_threads = 1,
                 const Slices* slices = nullptr) const;

    // An optimal tree of the set; or one below a root test that is known to be optimal. On a stop it is some tree,
    // which may cost more: what is said of it has to be judged by itself.
    NodePtr extract(const RowSet& set, int depth) const;
    NodePtr extract_below(const RowSet& set, const ClosedRoot& root) const;

    // How many looks at a root test, by closed forms of depth two on its sides, cost as much as depth three in closed
    // form; infinity where its tables do not fit. And whether so many are to be expected, or, where patience was lost
    // before, to be feared.
    double looks_in_triples(const Local& local) const;
    bool triples_pay(const Local& local, bool is_patient) const;

    Amount leaf_value(const RowSet& set) const {
        return (set.worst - (set.balance < 0 ? -set.balance : set.balance)) / 2 + penalty_;
    }
    static std::int32_t leaf_label(const RowSet& set) { return set.balance >= 0 ? 0 : 1; }

private:
    bool find_triples(const Prepared& prepared, const RowSet& set, Amount budget, int n_threads, const Slices* slices,
                      Gains& gains, Wanted& wanted, Answer& answer) const;
    bool try_root(const RowSet& set, const Local& local, std::int32_t test, std::array<int, 2> depths, Amount& goal,
                  Answer& answer) const;
    void settle_exactly(const Prepared& prepared, const RowSet& set, const std::vector<std::int32_t>& doubts,
                        Amount goal, Answer& answer) const;
    NodePtr tree_of(const RowSet& set, int depth, const Answer& answer) const;
    Answer solve_stump(const RowSet& set, const Local* local) const;
    Answer solve_side(const RowSet& set, int depth, Amount budget) const;

    const Instance& instance_;
    Amount penalty_;
    const Control& control_;
    const Kernels& kernels_;
    std::size_t table_bytes_;
};

}  // namespace certree
