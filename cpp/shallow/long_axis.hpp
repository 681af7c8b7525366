// Sums by the codes of an axis that has so many codes that a cell for each lies far from the processor: by groups of
// neighbouring codes first, whose cells stay in a near cache, then by code inside the few groups where it matters.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "control.hpp"
#include "instance/subset.hpp"
#include "shallow/cost_model.hpp"

namespace certree {

class LongAxis {
public:
    // Whether it pays: categories have no neighbours, and the cells of a few rows are few.
    static bool is_one(const Axis& axis, const RowSet& set, const Control& control) {
        const std::int32_t least = control.is_off(no_cost_model) ? most_groups(control) : forecast::long_axis;
        return !axis.is_categorical && axis.n_codes > least && set.rows.size() > static_cast<std::size_t>(least);
    }

    // What `add(row, cells)` adds of each row, in so many cells, summed over all rows up to the end of each group.
    template <class Add>
    LongAxis(const Axis& axis, const RowSet& set, std::size_t width, const Control& control, const Add& add)
        : axis_(axis),
          width_(width),
          bits_(std::bit_width(static_cast<unsigned>((axis.n_codes - 1) / most_groups(control)))),
          sums_((static_cast<std::size_t>((axis.n_codes - 1) >> bits_) + 2) * width, 0) {
        for (const std::int32_t row : set.rows) {
            const std::int32_t group = axis.codes[static_cast<std::size_t>(row)] >> bits_;
            add(row, sums_.data() + (static_cast<std::size_t>(group) + 1) * width);
        }
        for (std::size_t at = width; at < sums_.size(); ++at) {
            sums_[at] += sums_[at - width];
        }
    }

    std::int32_t n_groups() const { return static_cast<std::int32_t>(sums_.size() / width_) - 1; }
    // Of the rows whose codes are before group g; those up to its end are those before the next one.
    const Amount* before(std::int32_t g) const { return sums_.data() + static_cast<std::size_t>(g) * width_; }

    // Asks for the last code of each group that has a test, given the sums of the rows on which it holds.
    template <class Ask>
    void ask_ends(const Ask& ask) const {
        for (std::int32_t g = 0; g < n_groups() - 1; ++g) {
            ask(before(g + 1), end_of(g));
        }
    }

    // The same for all other codes of some groups, which ascend. The last group has no test at its end.
    template <class Add, class Ask>
    void ask_inside(const RowSet& set, const std::vector<std::int32_t>& groups, const Add& add, const Ask& ask) const {
        // Only so many cells at a time: those of a million codes would take more memory than the table.
        const std::size_t at_once = std::max<std::size_t>(1, (std::size_t{1} << 17) >> bits_);
        std::vector<std::int32_t> slot(static_cast<std::size_t>(n_groups()));
        std::vector<Amount> cells;
        std::vector<Amount> left(width_);
        const std::int32_t inside = (std::int32_t{1} << bits_) - 1;
        for (std::size_t from = 0; from < groups.size(); from += at_once) {
            const std::size_t n = std::min(at_once, groups.size() - from);
            std::fill(slot.begin(), slot.end(), -1);
            for (std::size_t k = 0; k < n; ++k) {
                slot[static_cast<std::size_t>(groups[from + k])] = static_cast<std::int32_t>(k);
            }
            cells.assign((n << bits_) * width_, 0);
            for (const std::int32_t row : set.rows) {
                const std::int32_t code = axis_.codes[static_cast<std::size_t>(row)];
                const std::int32_t at = slot[static_cast<std::size_t>(code >> bits_)];
                if (at >= 0) {
                    const auto cell = (static_cast<std::size_t>(at) << bits_) + static_cast<std::size_t>(code & inside);
                    add(row, cells.data() + cell * width_);
                }
            }
            for (std::size_t k = 0; k < n; ++k) {
                const std::int32_t g = groups[from + k];
                const Amount* cell = cells.data() + (k << bits_) * width_;
                std::copy_n(before(g), width_, left.begin());
                for (std::int32_t code = g << bits_; code < end_of(g); ++code, cell += width_) {
                    std::transform(left.begin(), left.end(), cell, left.begin(), std::plus<>());
                    ask(left.data(), code);
                }
            }
        }
    }

private:
    static std::int32_t most_groups(const Control& control) {
        return control.is_off(no_cost_model) ? 4 : forecast::most_groups_of_long_axis;
    }
    std::int32_t end_of(std::int32_t g) const {
        return static_cast<std::int32_t>(std::min(std::int64_t{axis_.n_codes}, (std::int64_t{g} + 1) << bits_)) - 1;
    }

    const Axis& axis_;
    std::size_t width_;
    int bits_;
    std::vector<Amount> sums_;
};

}  // namespace certree
