// Lines: one signed 32-bit sum per test, over all axes, and how rows are added to them. The closed forms of two labels
// are made of lines.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "instance/subset.hpp"
#include "kernels/kernels.hpp"

namespace certree {

inline std::int32_t padded(std::int32_t n) {
    return (n + Kernels::lanes - 1) / Kernels::lanes * Kernels::lanes;
}

inline Amount magnitude(Amount x) {
    return x < 0 ? -x : x;
}

// The rows' balances on a 32-bit grid of 2^shift. Where it is not fine enough for every balance they are rounded, and a
// sum over leaves may be off by `slack`: by what all of them were rounded.
struct RoundedAmounts {
    std::vector<std::int32_t> small;
    Amount total = 0;  // of their magnitudes
    int shift = 0;
    Amount slack = 0;

    RoundedAmounts(const Instance& instance, const RowSet& set, bool is_fine);
};

// Where the tests of each axis stand in a line; −1 for an axis that is left out.
struct Layout {
    std::vector<std::int32_t> offset;
    std::int32_t size = 0;  // padded

    Layout() = default;
    // All axes but the ordered ones given (−1: none). Axes with one test stay last, as in Local.
    Layout(const Local& local, std::int32_t without_a, std::int32_t without_b) {
        offset.reserve(local.axes.size());
        std::int32_t next = 0;
        for (std::size_t c = 0; c < local.axes.size(); ++c) {
            const bool is_out = static_cast<std::int32_t>(c) == without_a || static_cast<std::int32_t>(c) == without_b;
            offset.push_back(is_out ? -1 : next);
            next += is_out ? 0 : local.axes[c].n_tests;
        }
        size = padded(next);
    }
};

// A line for every row over some axes of one test, `width` sums each: its amount where the test holds, else 0. Rows go
// by blocks, whose lines stay in a near cache while the axes pass.
template <class Lane>
void fill_lines(PooledVector<Lane>& lines, std::size_t width, const std::vector<const std::int32_t*>& codes,
                const std::vector<std::int32_t>& amounts) {
    constexpr std::size_t block = 32;
    lines.resize(width * amounts.size());
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        std::fill_n(lines.data() + i * width + codes.size(), width - codes.size(), Lane{0});
    }
    for (std::size_t from = 0; from < amounts.size(); from += block) {
        const std::size_t to = std::min(from + block, amounts.size());
        for (std::size_t c = 0; c < codes.size(); ++c) {
            const std::int32_t* own = codes[c];
            Lane* at = lines.data() + from * width + c;
            for (std::size_t i = from; i < to; ++i, at += width) {
                *at = static_cast<Lane>(amounts[i] & (own[i] - 1));  // a code is 0, where the test holds, or 1
            }
        }
    }
}

// Adds rows to a line: what every test of the layout's axes gains when these rows join the set.
class LineBuilder {
public:
    LineBuilder(const Local& local, const std::vector<std::int32_t>& amounts, const Kernels& kernels, bool has_steps,
                bool has_bytes);

    // scratch is zero before and after.
    void add(std::int32_t* line, const std::int32_t* rows, std::size_t n, const Layout& layout,
             std::int32_t* scratch) const;

    // Whether every sum fits in 16 bits.
    bool is_short() const { return is_short_; }

    // The length of a scratch for `add`.
    std::size_t scratch_size() const;

    // Kernels may touch up to two vectors beyond the padded tests.
    static std::size_t line_size(const Layout& layout) {
        return static_cast<std::size_t>(layout.size + 2 * Kernels::lanes);
    }

private:
    void fill_bytes();
    void add_by_bytes(std::int32_t* line, const std::int32_t* rows, std::size_t n, const Layout& layout,
                      std::int32_t* scratch) const;

    const Local& local_;
    const std::vector<std::int32_t>& amounts_;
    const Kernels& kernels_;
    bool has_steps_;
    // Where rows are many: their codes on the ordered axes with at most 256 of them, side by side, so that a row that
    // is added is fetched once and not once for every axis.
    std::vector<std::size_t> byte_axes_;
    std::vector<std::int32_t> byte_start_;  // of each of them in a scratch
    PooledVector<std::uint8_t> bytes_;      // by row
    std::int32_t most_byte_tests_ = 0;
    std::size_t first_single_ = 0;
    // A line of its own for every row, over the axes with one test; in 16 bits where all sums fit.
    std::int32_t single_width_ = 0;
    bool is_short_ = false;
    PooledVector<std::int32_t> single_;
    PooledVector<std::int16_t> short_single_;
};

// By axis, the rows on which some test may hold, in the order of their codes. Rows with the last code of an ordered
// axis are left out: they never join a side. An axis is sorted when it is first asked for, by whichever thread: of the
// axes of a million rows few may have a root test that is looked at.
class ActiveRows {
public:
    struct Codes {
        PooledVector<std::int32_t> rows;
        std::vector<std::int32_t> start;  // of each test's code in rows

        const std::int32_t* begin(std::int32_t test) const {
            return rows.data() + start[static_cast<std::size_t>(test)];
        }
        std::size_t size(std::int32_t test) const {
            return static_cast<std::size_t>(start[static_cast<std::size_t>(test) + 1] -
                                            start[static_cast<std::size_t>(test)]);
        }
    };

    ActiveRows() = default;
    explicit ActiveRows(const Local& local);
    // From now on those of some rows alone, given by their places in `local`. What was held is used again.
    void reset(const Local& local, std::span<const std::int32_t> some);

    const Codes& of(std::size_t axis) const {
        if (is_sorted_ && !is_sorted_[axis].load(std::memory_order_acquire)) {
            sort(axis);
        }
        return axes_[axis];
    }

private:
    void sort(std::size_t axis) const;

    const Local* local_ = nullptr;
    mutable std::vector<Codes> axes_;
    mutable std::mutex mutex_;
    std::unique_ptr<std::atomic<bool>[]> is_sorted_;  // by axis; none: all of them are
};

}  // namespace certree
