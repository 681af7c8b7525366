// Depth two for root tests that are few and far between: what coarse tables leave of a million rows, or rounding leaves
// in doubt.
//
// From one of them to the next, rows join the left side; to move one is an addition for each axis. The sums of both
// sides by code stand at the bottom of a tree of wide blocks with the extremes of their prefix sums, and blocks are
// summed anew only when a test is looked at and only where a row has moved. In 64 bits, so that amounts need not be
// rounded.
#include "shallow/two_labels/gains.hpp"

namespace certree {

namespace {

// The sums of both sides by the codes of one axis, and the largest and smallest over its tests.
class SidesByCode {
public:
    SidesByCode(const LocalAxis& axis, const std::vector<Amount>& amounts)
        : axis_(axis), amounts_(amounts), n_tests_(static_cast<std::size_t>(axis.n_tests)) {
        for (std::size_t n = n_tests_; levels_.empty() || n > 1;) {
            n = (n + fan_out - 1) / fan_out;
            levels_.emplace_back(n);
        }
    }

    // The rows on which a test of an ordered axis holds stand on the left; returns their sum. Row by row in the order
    // they have: in the order of the test's axis, each would be waited for.
    Amount stand_at(const LocalAxis& asked, std::int32_t test) {
        sums_[0].assign(n_tests_, 0);
        sums_[1].assign(n_tests_, 0);
        Amount left = 0;
        for (std::size_t i = 0; i < amounts_.size(); ++i) {
            const std::size_t side = asked.codes[i] <= test ? 0 : 1;
            left += side == 0 ? amounts_[i] : 0;
            const auto code = static_cast<std::size_t>(axis_.codes[i]);
            if (code < n_tests_) {
                sums_[side][code] += amounts_[i];
            }
        }
        forget_extremes();
        return left;
    }

    // All rows on the right.
    void clear() {
        if (all_.empty()) {
            all_.assign(n_tests_, 0);
            for (std::size_t i = 0; i < amounts_.size(); ++i) {
                const auto code = static_cast<std::size_t>(axis_.codes[i]);
                if (code < n_tests_) {
                    all_[code] += amounts_[i];
                }
            }
        }
        sums_[0].assign(n_tests_, 0);
        sums_[1] = all_;
        forget_extremes();
    }

    void move_left(std::int32_t row, Amount amount) {
        auto place = static_cast<std::size_t>(axis_.codes[row]);
        if (place >= n_tests_) {
            return;
        }
        sums_[0][place] += amount;
        sums_[1][place] -= amount;
        for (std::vector<Block>& level : levels_) {
            place /= fan_out;
            if (level[place].is_stale) {
                return;  // and so is all above it
            }
            level[place].is_stale = true;
        }
    }

    void widen(WideExtremes& extremes) {
        const Block& top = refreshed(levels_.size() - 1, 0);
        for (std::size_t side = 0; side < 2; ++side) {
            extremes.high[side] = std::max(extremes.high[side], top.high[side]);
            extremes.low[side] = std::min(extremes.low[side], top.low[side]);
        }
    }

private:
    static constexpr std::size_t fan_out = 32;

    // Sums of tests relative to what stands before the block; the empty prefix counts (zero).
    struct Block {
        Amount sum[2];
        Amount high[2];
        Amount low[2];
        bool is_stale;
    };

    void forget_extremes() {
        for (std::vector<Block>& level : levels_) {
            for (Block& block : level) {
                block.is_stale = true;
            }
        }
    }

    const Block& refreshed(std::size_t level, std::size_t place) {
        Block& block = levels_[level][place];
        if (!block.is_stale) {
            return block;
        }
        block = {};
        const std::size_t n_below = level == 0 ? n_tests_ : levels_[level - 1].size();
        for (std::size_t below = place * fan_out; below < std::min(n_below, (place + 1) * fan_out); ++below) {
            if (level == 0) {
                add(block, {{sums_[0][below], sums_[1][below]},
                            {sums_[0][below], sums_[1][below]},
                            {sums_[0][below], sums_[1][below]},
                            false});
            } else {
                add(block, refreshed(level - 1, below));
            }
        }
        return block;
    }

    void add(Block& block, const Block& next) const {
        for (std::size_t side = 0; side < 2; ++side) {
            // A category is a test by itself, and its sum no part of the next one's.
            const Amount before = axis_.is_categorical ? 0 : block.sum[side];
            block.high[side] = std::max(block.high[side], before + next.high[side]);
            block.low[side] = std::min(block.low[side], before + next.low[side]);
            block.sum[side] = before + next.sum[side];
        }
    }

    const LocalAxis& axis_;
    const std::vector<Amount>& amounts_;
    std::size_t n_tests_;
    std::vector<Amount> all_;                 // made when categories ask for it
    std::vector<Amount> sums_[2];             // left, right
    std::vector<std::vector<Block>> levels_;  // from the blocks of codes to one block of all
};

}  // namespace

std::vector<SideSums> find_side_sums(const Prepared& prepared, const std::vector<Amount>& amounts,
                                     const std::vector<std::int32_t>& tests) {
    const Local& local = prepared.local;
    std::vector<SideSums> found(tests.size());
    for (const LocalAxis& child : local.axes) {
        SidesByCode sides(child, amounts);
        std::size_t root = local.axes.size();  // none
        Amount left = 0;
        std::int32_t n_moved = 0;
        for (std::size_t k = 0; k < tests.size(); ++k) {
            if (prepared.control.should_stop()) {
                return {};
            }
            const std::size_t axis = local.axis_of(tests[k]);
            const LocalAxis& asked = local.axes[axis];
            const ActiveRows::Codes& active = prepared.active.of(axis);
            const auto test = static_cast<std::size_t>(tests[k] - asked.first_test);
            // Sides of an ordered axis grow from test to test; a category stands alone.
            if (axis != root || asked.is_categorical) {
                root = axis;
                if (asked.is_categorical) {
                    sides.clear();
                    left = 0;
                    n_moved = active.start[test];
                } else {
                    left = sides.stand_at(asked, static_cast<std::int32_t>(test));
                    n_moved = active.start[test + 1];
                }
            }
            for (; n_moved < active.start[test + 1]; ++n_moved) {
                const std::int32_t row = active.rows[static_cast<std::size_t>(n_moved)];
                sides.move_left(row, amounts[static_cast<std::size_t>(row)]);
                left += amounts[static_cast<std::size_t>(row)];
            }
            found[k].left = left;
            sides.widen(found[k].extremes);
        }
    }
    return found;
}

}  // namespace certree
