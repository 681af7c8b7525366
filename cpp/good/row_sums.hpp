// What is summed of rows: by code of an axis for a set of rows, and for the sides of one test after another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "instance/problem.hpp"
#include "instance/subset.hpp"

namespace certree::good {

// The channels of a row: its key, in 96 bits, and one, in the 32 bits below; what each label saves; its worst cost,
// which with two labels is what both save together; and where leaves have minima what they count. Sums are modulo 2^64,
// as keys are; the others are far from that.
class RowSums {
public:
    using Channel = std::uint64_t;
    using Sums = std::vector<Channel>;
    static constexpr std::size_t saved_at = 2;

    RowSums(const Instance& instance, bool has_minimum);

    std::size_t width() const { return width_; }
    std::size_t worst_at() const { return saved_at + static_cast<std::size_t>(instance_.n_labels); }
    std::size_t counts_at() const { return worst_at() + (has_worst() ? 1 : 0); }
    static std::int64_t n_rows(const Channel* sums) { return static_cast<std::int64_t>(sums[1] & ~std::uint32_t{0}); }
    Amount worst(const Channel* sums) const {
        return static_cast<Amount>(has_worst() ? sums[worst_at()] : sums[saved_at] + sums[saved_at + 1]);
    }
    const Instance& instance() const { return instance_; }

    // The sums of some rows, code after code of an axis, on top of what is there.
    void add_by_code(const Axis& axis, const std::int32_t* rows, std::size_t n, Sums& to) const;

    // Of all of them together.
    void add(std::span<const std::int32_t> rows, Channel* to) const;

private:
    bool has_worst() const { return instance_.n_labels != 2; }
    void add_by_half(const Axis& axis, const std::int32_t* rows, std::size_t n, Sums& to) const;
    template <std::size_t fixed>
    void add_together(std::span<const std::int32_t> rows, Channel* to) const;
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

    // The sums by code of an axis for one side of a test. False where it is cheaper to go over the rows of the side.
    bool fill(std::int32_t code, bool is_left, std::int32_t axis, RowSums::Sums& to);

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
    bool is_swapped_ = false;          // of two codes, the second stands first in the order, having fewer rows
    std::vector<std::int32_t> order_;  // the rows by their code on the axis
    std::vector<std::size_t> start_;   // of each code in the order, and the end
    std::vector<Part> first_;          // by axis: a first part of the order
    std::vector<Part> whole_;          // by axis: all rows of the set
};

}  // namespace certree::good
