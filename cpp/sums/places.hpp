// Where values stand among the ends of brackets, and what the rows at each place weigh: one pass, for quantiles of a
// table that lies in parts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "types.hpp"

namespace certree::sums {

// A value is at place p where p of the ends, which ascend, are below it. Missing values are nowhere.
struct Places {
    std::vector<Amount> mass;          // by place: the amounts of its values
    std::vector<Amount> equal;         // by end: the amounts of the values that equal it
    std::vector<std::int64_t> rows;    // those at odd places, if they were asked for
    std::vector<std::int32_t> places;  // of these
};

// Pre: the ends ascend, and there are at most 2^20 of them.
Places find_places(std::span<const double> values, std::span<const Amount> amounts, std::span<const double> ends,
                   bool are_rows_asked);

// The place of every value, `missing` where there is none. Pre: as of find_places, and places are below 2^16.
std::vector<std::uint16_t> code_values(std::span<const double> values, std::span<const double> ends,
                                       std::uint16_t missing);

}  // namespace certree::sums
