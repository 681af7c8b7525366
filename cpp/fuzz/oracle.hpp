// The optimum of a table by enumeration, from the caller's numbers: nothing is merged, shifted, scaled or bounded, and
// no line is shared with the engine. It exists to disagree with it.
//
// Three ways, whichever the table is small enough for: sets of at most twelve rows as bit masks, every one solved once;
// a single ordered axis as a partition into intervals; lists of rows down to depth three.
#pragma once

#include <optional>

#include "tests/test_tables.hpp"

namespace certree::fuzz {

using test::Table;
using Real = long double;

// Least cost with a penalty per leaf, in the unit of the costs. They differ only where some leaf's weight is as near to
// its minimum as rounded weights can tell: then `least` allows such leaves and `most` forbids them.
struct Optimum {
    Real least = 0;
    Real most = 0;
};

// Empty where the table is too large for every way.
std::optional<Optimum> enumerate(const Table& table, const Constraints& constraints, Real penalty);

// How near two weights may be and still change order when they are rounded: 0 where all are on a coarse grid.
Real doubt_of_weights(const Table& table, const Constraints& constraints);

}  // namespace certree::fuzz
