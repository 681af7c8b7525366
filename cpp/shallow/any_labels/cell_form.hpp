// Depth two and three in closed form by sums over cells, for any labels and any minimum per leaf: where rows are many
// and codes are few. Every row is added once for every two or three axes; whatever follows costs the same for any
// number of rows.
//
// The sums are those that travel where a table lies in parts (cpp/sums), in 64 bits, so that nothing is rounded.
#pragma once

#include <functional>

#include "control.hpp"
#include "kernels/kernels.hpp"
#include "shallow/any_labels/stumps.hpp"
#include "shallow/outcome.hpp"
#include "sums/stumps.hpp"

namespace certree {

class CellForm {
public:
    // table_bytes: what the rows and tables of one closed form may take, all threads together.
    CellForm(const Instance& instance, const Settings& settings, const Stumps& stumps, const Control& control,
             std::size_t table_bytes);

    // Whether the tables of this depth have room.
    bool fits(const Local& local, int depth, int n_threads) const;

    // Amounts per cell: with two labels one, else one for each label; and one for each minimum.
    std::size_t n_channels() const { return rule_.n_channels(); }

    // Pre: no limit but a depth of two or three, λ and minima per leaf; the outcome holds the set's leaf and a true
    // bound. Post: the outcome is the optimum, and so is its bound. On a stop the bound is as it was, and the tree the
    // best of the root axes that are done. `report`, unless it is empty, hears of every better tree as it is found.
    void solve(const RowSet& set, const Local& local, int depth, int n_threads,
               const std::function<void(const Outcome&)>& report, Outcome& outcome) const;

private:
    // The best tree on one side of a root test: its gain, the price of its leaves taken off, and the test below the
    // root, −1: a leaf.
    struct Side {
        Amount gain;
        std::int32_t child = -1;
    };
    struct Root {
        Side sides[2];
    };
    struct Tables;
    template <class Code>
    void solve_coded(const RowSet& set, const Local& local, int depth, int n_threads,
                     const std::function<void(const Outcome&)>& report, Outcome& outcome) const;
    template <class Code>
    sums::SortedRows<Code> sort_rows(const RowSet& set, const Local& local, const Tables& tables) const;
    template <class Code>
    bool add_axis(const sums::SortedRows<Code>& rows, std::int32_t axis, int depth, Tables& tables) const;
    std::vector<Root> find_roots(const Local& local, std::int32_t axis, const Tables& tables) const;
    Amount less_price(Amount gain, int n_leaves) const;
    NodePtr read_tree(const RowSet& set, const Local& local, const Tables& tables, std::int32_t root_test,
                      const Root& root) const;

    const Instance& instance_;
    const Stumps& stumps_;
    const Control& control_;
    std::size_t table_bytes_;
    sums::LeafRule rule_;
    Amount price_;  // of a leaf: λ, as often as gains are counted
    bool has_weights_;
    bool has_arms_;
};

}  // namespace certree
