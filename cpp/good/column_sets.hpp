// Which of the given tests part a set of rows in the same way, and which columns they are on. Preparation keeps one of
// the tests that part all rows alike and remembers the others; inside a smaller set more of them fall together.
#pragma once

#include <span>
#include <unordered_map>
#include <vector>

#include "instance/problem.hpp"

namespace certree::good {

class ColumnSets {
public:
    ColumnSets(const Instance& instance, std::span<const std::int32_t> column_of_axis, std::int32_t n_columns);

    // Tests that part some rows alike.
    struct Class {
        std::int32_t n_tests = 0;
        std::vector<std::uint64_t> columns;
    };
    Class begin() const { return {0, std::vector<std::uint64_t>(n_words_, 0)}; }

    // A test of the instance joins: on an ordered axis with all others up to the next code that occurs, on a
    // categorical one with that of the other category where there are two; `next` is no test where there is none.
    void add(std::int32_t axis, std::int32_t code, std::int32_t next, Class& to) const;

    // The number of a set of columns. One column alone has its own number.
    std::int32_t number(const Class& of);

    std::size_t n_words() const { return n_words_; }
    const std::vector<std::uint64_t>& sets() const { return sets_; }

private:
    struct SetHash {
        std::size_t operator()(const std::vector<std::uint64_t>& words) const;
    };

    const Instance& instance_;
    std::size_t n_words_;
    std::vector<std::int32_t> column_of_axis_;                           // of the instance's axes
    std::vector<std::vector<std::int32_t>> n_alike_;                     // by axis and test: itself and its doubles
    std::vector<std::vector<std::vector<std::int32_t>>> columns_alike_;  // of its doubles
    std::vector<std::uint64_t> sets_;
    std::unordered_map<std::vector<std::uint64_t>, std::int32_t, SetHash> numbers_;
};

}  // namespace certree::good
