// Neighbouring codes of an axis in groups of about equal mass: what coarse looks at an axis are made of.
#pragma once

#include <bit>
#include <numeric>
#include <vector>

#include "instance/subset.hpp"

namespace certree {

// Group g holds the codes after the end of g − 1 up to and including end[g]. An axis of a million codes is grouped by
// blocks of them, so that a number per block stays in a near cache, where one per code would not.
class Groups {
public:
    std::vector<std::int32_t> end;
    std::int32_t size() const { return static_cast<std::int32_t>(end.size()); }
    std::int32_t of(std::int32_t code) const { return of_block_[static_cast<std::size_t>(code >> block_bits_)]; }

    // Categories have no neighbours, so each stays alone. mass_of(i): of the row whose code is axis.codes[i]. Masses
    // are summed as floats: that may move the end of a group, and no more.
    template <class Mass>
    Groups(const LocalAxis& axis, std::size_t n_rows, std::int32_t most_groups, const Mass& mass_of) {
        if (axis.n_codes <= most_groups || axis.is_categorical) {
            end.resize(static_cast<std::size_t>(axis.n_codes));
            std::iota(end.begin(), end.end(), 0);
            of_block_ = end;
            return;
        }
        block_bits_ = std::bit_width(static_cast<unsigned>((axis.n_codes - 1) / many_codes));
        const std::int32_t n_blocks = ((axis.n_codes - 1) >> block_bits_) + 1;
        std::vector<float> mass(static_cast<std::size_t>(n_blocks), 0.0F);
        for (std::size_t i = 0; i < n_rows; ++i) {
            mass[static_cast<std::size_t>(axis.codes[i] >> block_bits_)] += mass_of(i);
        }
        const double step = std::accumulate(mass.begin(), mass.end(), 0.0) / most_groups;
        double passed = 0.0;
        double limit = step;
        for (std::int32_t b = 0; b < n_blocks; ++b) {
            const double here = mass[static_cast<std::size_t>(b)];
            if (passed > 0.0 && passed + 0.5 * here > limit) {
                end.push_back((b << block_bits_) - 1);
                while (passed + 0.5 * here > limit) {
                    limit += step;
                }
            }
            of_block_.push_back(size());
            passed += here;
        }
        end.push_back(axis.n_codes - 1);
    }

private:
    int block_bits_ = 0;
    std::vector<std::int32_t> of_block_;
};

}  // namespace certree
