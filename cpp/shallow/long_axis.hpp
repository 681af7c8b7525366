// Sums by the codes of an axis that has so many codes that a cell for each lies far from the processor: by groups of
// neighbouring codes first, whose cells stay in a near cache, then by code inside the few groups where it matters.
#pragma once

#include <algorithm>
#include <bit>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "control.hpp"
#include "instance/subset.hpp"
#include "shallow/cost_model.hpp"

namespace certree {

class LongAxis {
public:
    // Whether it pays: categories have no neighbours, and the cells of a few rows are few.
    static bool is_one(const Axis& axis, const RowSet& set, const Control& control) {
        return are_many(set, control) && !axis.is_categorical && axis.n_codes > most_short(control);
    }
    // Whether a pass over the rows takes so long that it is worth asking before it if it is time to stop.
    static bool are_many(const RowSet& set, const Control& control) {
        return set.rows.size() > static_cast<std::size_t>(most_short(control));
    }

    // What `add(row, cells)` adds of each row, in so many cells, summed over all rows up to the end of each group.
    template <class Add>
    LongAxis(const Instance& instance, std::int32_t number, const RowSet& set, std::size_t width,
             const Control& control, const Add& add)
        : axis_(instance.axes[static_cast<std::size_t>(number)]),
          number_(number),
          control_(control),
          width_(width),
          bits_(std::bit_width(static_cast<unsigned>((axis_.n_codes - 1) / most_groups(control, width)))),
          sums_((static_cast<std::size_t>((axis_.n_codes - 1) >> bits_) + 2) * width, 0) {
        for (const std::int32_t row : set.rows) {
            add(row, sums_.data() + (static_cast<std::size_t>(code_of(row) >> bits_) + 1) * width);
        }
        for (std::size_t at = width; at < sums_.size(); ++at) {
            sums_[at] += sums_[at - width];
        }
    }

    std::int32_t n_groups() const { return static_cast<std::int32_t>(sums_.size() / width_) - 1; }
    // Of the rows whose codes are before group g; those up to its end are those before the next one.
    const Amount* before(std::int32_t g) const { return sums_.data() + static_cast<std::size_t>(g) * width_; }

    // Asks `ask(sums, axis, code)` for the last code of each group that has a test: sums of the rows on which it holds.
    template <class Ask>
    void ask_ends(const Ask& ask) const {
        for (std::int32_t g = 0; g < n_groups() - 1; ++g) {
            ask(before(g + 1), number_, end_of(g));
        }
    }

    // The same for all other codes of some groups, which ascend. The last group has no test at its end. False: it was
    // stopped, and some were not asked for.
    template <class Add, class Ask>
    bool ask_inside(const RowSet& set, const std::vector<std::int32_t>& groups, const Add& add, const Ask& ask) const {
        if (!groups.empty() && control_.should_stop()) {
            return false;
        }
        // Batches of blocks of codes have cells at a time. A group is one block, unless its codes are too many.
        const std::size_t most_codes = control_.is_off(no_cost_model) ? 2 : forecast::most_codes_at_once(width_);
        const int block_bits = std::min(bits_, static_cast<int>(std::bit_width(most_codes)) - 1);
        const std::size_t at_once = most_codes >> block_bits;
        const std::size_t n_blocks = groups.size() << (bits_ - block_bits);
        const std::size_t n_batches = (n_blocks + at_once - 1) / at_once;
        std::vector<std::int32_t> slot(static_cast<std::size_t>(n_groups()), -1);
        for (std::size_t k = 0; k < groups.size(); ++k) {
            slot[static_cast<std::size_t>(groups[k])] = static_cast<std::int32_t>(k);
        }
        // The place of a row's code in all blocks, or none.
        const std::int32_t inside = (std::int32_t{1} << bits_) - 1;
        const auto place_of = [&](std::int32_t row) {
            const std::int32_t code = code_of(row);
            const std::int32_t at = slot[static_cast<std::size_t>(code >> bits_)];
            return at < 0 ? -1 : (std::int64_t{at} << bits_) + (code & inside);
        };
        const Batches batches(set, n_batches, [&](std::int32_t row) {
            const std::int64_t place = place_of(row);
            return place < 0 ? n_batches : (static_cast<std::size_t>(place) >> block_bits) / at_once;
        });
        std::vector<Amount> cells;
        std::vector<Amount> left(width_);
        for (std::size_t batch = 0; batch < n_batches; ++batch) {
            if (control_.should_stop()) {
                return false;
            }
            const std::size_t first = batch * at_once;
            const std::size_t end = std::min(first + at_once, n_blocks);
            cells.assign(((end - first) << block_bits) * width_, 0);
            for (const std::int32_t row : batches.rows_of(batch)) {
                if (const std::int64_t place = place_of(row); place >= 0) {
                    add(row, cells.data() + (static_cast<std::size_t>(place) - (first << block_bits)) * width_);
                }
            }
            for (std::size_t block = first; block < end; ++block) {
                const std::int32_t g = groups[block >> (bits_ - block_bits)];
                const auto place = static_cast<std::int64_t>(block << block_bits);
                const auto begin = static_cast<std::int32_t>((std::int64_t{g} << bits_) + (place & inside));
                const std::int64_t behind = std::min<std::int64_t>(end_of(g), begin + (std::int64_t{1} << block_bits));
                const Amount* cell = cells.data() + ((block - first) << block_bits) * width_;
                if ((place & inside) == 0) {  // else all before it in the group is on the left
                    std::copy_n(before(g), width_, left.begin());
                }
                for (std::int32_t code = begin; code < behind; ++code, cell += width_) {
                    std::transform(left.begin(), left.end(), cell, left.begin(), std::plus<>());
                    ask(left.data(), number_, code);
                }
            }
        }
        return true;
    }

private:
    // The rows of each batch, or all of them where there is but one: what is left out is then told by its row.
    class Batches {
    public:
        template <class BatchOf>
        Batches(const RowSet& set, std::size_t n_batches, const BatchOf& batch_of) : all_(set.rows) {
            if (n_batches < 2) {
                return;
            }
            start_.assign(n_batches + 2, 0);  // the last batch is of the rows that are left out
            for (const std::int32_t row : all_) {
                ++start_[batch_of(row) + 1];
            }
            std::partial_sum(start_.begin(), start_.end(), start_.begin());
            dealt_.resize(all_.size());
            std::vector<std::size_t> next = start_;
            for (const std::int32_t row : all_) {
                dealt_[next[batch_of(row)]++] = row;
            }
        }
        std::span<const std::int32_t> rows_of(std::size_t batch) const {
            return start_.empty() ? all_ : std::span(dealt_).subspan(start_[batch], start_[batch + 1] - start_[batch]);
        }

    private:
        std::span<const std::int32_t> all_;
        std::vector<std::int32_t> dealt_;
        std::vector<std::size_t> start_;
    };

    // Without a cost model the axes of small tables are long ones too, and their groups are asked inside one by one.
    static constexpr std::int32_t few_groups = 4;

    static std::int32_t most_short(const Control& control) {
        return control.is_off(no_cost_model) ? few_groups : many_codes;
    }
    static std::int32_t most_groups(const Control& control, std::size_t width) {
        return control.is_off(no_cost_model) ? few_groups : forecast::most_groups_of_long_axis(width);
    }
    std::int32_t code_of(std::int32_t row) const { return axis_.codes[static_cast<std::size_t>(row)]; }
    std::int32_t end_of(std::int32_t g) const {
        return static_cast<std::int32_t>(std::min(std::int64_t{axis_.n_codes}, (std::int64_t{g} + 1) << bits_)) - 1;
    }

    const Axis& axis_;
    std::int32_t number_;
    const Control& control_;
    std::size_t width_;
    int bits_;
    std::vector<Amount> sums_;
};

}  // namespace certree
