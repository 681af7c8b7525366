// What is summed of rows: by code of an axis for a set of rows, and for the sides of one test after another.
#pragma once

#include <cstdint>
#include <vector>

#include "instance/problem.hpp"
#include "instance/subset.hpp"

namespace certree::good {

// The channels of a row: its key, one, its worst cost, what each label saves, and where leaves have minima what they
// count. Sums are modulo 2^64, as keys are; the others are far from that.
class RowSums {
public:
    using Channel = std::uint64_t;
    using Sums = std::vector<Channel>;
    static constexpr std::size_t rows_at = 2, worst_at = 3, saved_at = 4;

    RowSums(const Instance& instance, bool has_minimum);

    std::size_t width() const { return width_; }
    std::size_t counts_at() const { return saved_at + static_cast<std::size_t>(instance_.n_labels); }
    const Instance& instance() const { return instance_; }

    // The sums of some rows, code after code of an axis, on top of what is there.
    void add_by_code(const Axis& axis, const std::int32_t* rows, std::size_t n, Sums& to) const;

    Sums of(const RowSet& set) const;

private:
    template <std::size_t fixed>
    void add(const Axis& axis, const std::int32_t* rows, std::size_t n, Sums& to) const;
    void fill(std::int32_t row, Channel* channels, bool has_minimum) const;

    const Instance& instance_;
    std::size_t width_;
    Sums channels_;  // of every row
};

// Sums by code for the sides of the tests of one ordered axis at one set of rows, thresholds ascending. The left sides
// of two thresholds differ by the rows in between, and a right side is the whole less the left: what is known of one
// threshold is not summed again for the next.
class Sweep {
public:
    explicit Sweep(const RowSums& sums);

    // From now on: the tests of this axis at these rows, `number` being the name of the set.
    void move_to(std::int32_t number, const RowSet& whole, std::int32_t along);

    // The sums by code of an axis for one side of a test. False where it is cheaper to go over the rows of the side,
    // of which there are so many.
    bool fill(std::int32_t code, bool is_left, std::size_t n_side, std::int32_t axis, RowSums::Sums& to);

private:
    struct Part {
        RowSums::Sums sums;
        std::size_t n_rows = 0;   // of the order, that are in the sums
        std::int64_t stamp = -1;  // of the sweep that they belong to
    };
    void extend(Part& part, std::int64_t stamp, std::size_t n_rows, std::int32_t axis);

    const RowSums& sums_;
    std::int32_t number_ = -1;
    std::int32_t along_ = -1;
    std::int64_t set_stamp_ = 0;
    std::int64_t sweep_stamp_ = 0;
    std::vector<std::int32_t> order_;  // the rows by their code on the axis
    std::vector<std::size_t> start_;   // of each code in the order, and the end
    std::vector<Part> left_;           // by axis: a first part of the order
    std::vector<Part> whole_;          // by axis: all rows of the set
};

}  // namespace certree::good
