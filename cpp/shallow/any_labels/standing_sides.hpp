// Both sides of a root test in 64 bits, without splitting the rows off: by side, the sums of the codes of one other
// axis that are asked about, of those before them and of those behind.
//
// Every root test that may be the best is judged by it, and those are settled that rounding leaves in doubt. They lie
// close together, and so do the tests below them. From one to the next only the rows between them move, if the other
// axes are the same and their codes are still in reach.
#pragma once

#include "shallow/any_labels/cost_tables.hpp"
#include "shallow/any_labels/stumps.hpp"

namespace certree {

// Neighbouring tests below one side of a root test, first to last; no axis: none.
struct SideCuts {
    const LocalAxis* axis = nullptr;
    std::int32_t first = 0;
    std::int32_t last = -1;
};

class StandingSides {
public:
    // order: of the rows by the codes of the root axis; most_kept: so many numbers may stand until the next test.
    StandingSides(const Stumps& exact, const RowSet& set, const LocalAxis& root, const Order& order,
                  const Control& control, std::size_t most_kept);

    // Puts the leaf of each side of the root test, and the best stump by one of the cuts, where they are better.
    void put(std::int32_t test, const SideCuts cuts[2], Outcome sides[2]);

private:
    bool can_walk(std::int32_t test, const SideCuts cuts[2]) const;
    void walk(std::int32_t test);
    void stand(std::int32_t test, const SideCuts cuts[2]);
    void put_side(std::size_t side, const SideCuts& cuts, Outcome& outcome);
    Amount* cell(std::size_t side, std::size_t row);
    std::size_t n_cells(std::size_t side) const {
        return static_cast<std::size_t>(held_[side].last - held_[side].first) + 3;
    }

    const Stumps& exact_;
    const RowSet& set_;
    const LocalAxis& root_;
    const Order& order_;
    const Control& control_;
    std::size_t most_kept_;
    std::size_t width_;
    bool stands_ = false;
    std::int32_t test_ = 0;
    SideCuts held_[2];              // the codes that have cells of their own
    std::vector<Amount> cells_[2];  // before them, theirs, behind them
};

}  // namespace certree
