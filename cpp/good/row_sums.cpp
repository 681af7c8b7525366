#include "good/row_sums.hpp"

#include <algorithm>
#include <functional>

namespace certree::good {

namespace {

constexpr std::size_t usual_width = RowSums::saved_at + 2;  // two labels, no minima
constexpr std::size_t uses_of_a_whole = 4;                  // so many second sides are expected to need it

}  // namespace

RowSums::RowSums(const Instance& instance, bool has_minimum)
    : instance_(instance),
      width_(counts_at() + (has_minimum ? 2 + static_cast<std::size_t>(instance.n_arms) : 0)),
      channels_(static_cast<std::size_t>(instance.n_rows) * width_, 0) {
    for (std::int32_t row = 0; row < instance.n_rows; ++row) {
        fill(row, channels_.data() + static_cast<std::size_t>(row) * width_, has_minimum);
    }
}

void RowSums::fill(std::int32_t row, Channel* channels, bool has_minimum) const {
    const auto r = static_cast<std::size_t>(row);
    const auto put = [](Channel& channel, Amount value) { channel = static_cast<Channel>(value); };
    channels[0] = instance_.row_key[r].low;
    channels[1] = (instance_.row_key[r].high << 32) + 1;
    if (has_worst()) {
        put(channels[worst_at()], instance_.worst[r]);
    }
    for (auto g = static_cast<std::size_t>(instance_.gain_start[r]);
         g < static_cast<std::size_t>(instance_.gain_start[r + 1]); ++g) {
        put(channels[saved_at + static_cast<std::size_t>(instance_.gains[g].label)], instance_.gains[g].amount);
    }
    if (has_minimum) {
        Channel* counts = channels + counts_at();
        put(counts[0], instance_.count[r]);
        put(counts[1], instance_.weight[r]);
        const auto n_arms = static_cast<std::size_t>(instance_.n_arms);
        for (std::size_t arm = 0; arm < n_arms; ++arm) {
            put(counts[2 + arm], instance_.arm_count[r * n_arms + arm]);
        }
    }
}

// The usual number of channels is known to the compiler.
template <std::size_t fixed>
void RowSums::add(const Axis& axis, const std::int32_t* rows, std::size_t n, Sums& to) const {
    const std::size_t width = fixed > 0 ? fixed : width_;
    for (std::size_t i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(rows[i]);
        Channel* sums = to.data() + static_cast<std::size_t>(axis.codes[row]) * width;
        const Channel* own = channels_.data() + row * width;
        for (std::size_t k = 0; k < width; ++k) {
            sums[k] += own[k];
        }
    }
}

void RowSums::add_by_code(const Axis& axis, const std::int32_t* rows, std::size_t n, Sums& to) const {
    if (width_ != usual_width) {
        add<0>(axis, rows, n, to);
    } else if (axis.n_codes == 2) {
        add_by_half(axis, rows, n, to);
    } else {
        add<usual_width>(axis, rows, n, to);
    }
}

// Two codes: sums that stay in registers, where each addition to memory would wait for the one before.
void RowSums::add_by_half(const Axis& axis, const std::int32_t* rows, std::size_t n, Sums& to) const {
    Channel all[usual_width] = {};
    Channel second[usual_width] = {};
    for (std::size_t i = 0; i < n; ++i) {
        const auto row = static_cast<std::size_t>(rows[i]);
        const Channel mask = Channel{0} - static_cast<Channel>(axis.codes[row]);
        const Channel* own = channels_.data() + row * usual_width;
        for (std::size_t k = 0; k < usual_width; ++k) {
            all[k] += own[k];
            second[k] += own[k] & mask;
        }
    }
    for (std::size_t k = 0; k < usual_width; ++k) {
        to[k] += all[k] - second[k];
        to[usual_width + k] += second[k];
    }
}

void RowSums::add(std::span<const std::int32_t> rows, Channel* to) const {
    width_ == usual_width ? add_together<usual_width>(rows, to) : add_together<0>(rows, to);
}

template <std::size_t fixed>
void RowSums::add_together(std::span<const std::int32_t> rows, Channel* to) const {
    const std::size_t width = fixed > 0 ? fixed : width_;
    Channel near[std::max<std::size_t>(fixed, 1)] = {};
    Channel* sums = fixed > 0 ? near : to;
    for (const std::int32_t row : rows) {
        const Channel* own = channels_.data() + static_cast<std::size_t>(row) * width;
        for (std::size_t k = 0; k < width; ++k) {
            sums[k] += own[k];
        }
    }
    for (std::size_t k = 0; k < fixed; ++k) {
        to[k] += near[k];
    }
}

Sweep::Sweep(const RowSums& sums)
    : sums_(sums), first_(sums.instance().axes.size()), whole_(sums.instance().axes.size()) {}

void Sweep::move_to(std::int32_t number, const RowSet& whole, std::int32_t along) {
    if (number == number_ && along == along_) {
        return;
    }
    set_stamp_ += number == number_ ? 0 : 1;
    ++sweep_stamp_;
    number_ = number;
    along_ = along;
    const Axis& axis = sums_.instance().axes[static_cast<std::size_t>(along)];
    start_.assign(static_cast<std::size_t>(axis.n_codes) + 1, 0);
    for (const std::int32_t row : whole.rows) {
        ++start_[static_cast<std::size_t>(axis.codes[static_cast<std::size_t>(row)]) + 1];
    }
    for (std::size_t c = 1; c < start_.size(); ++c) {
        start_[c] += start_[c - 1];
    }
    is_swapped_ = axis.n_codes == 2 && 2 * start_[1] > whole.rows.size();
    std::vector<std::size_t> next(start_.begin(), start_.end() - 1);
    if (is_swapped_) {
        next = {whole.rows.size() - start_[1], 0};
    }
    order_.resize(whole.rows.size());
    for (const std::int32_t row : whole.rows) {
        order_[next[static_cast<std::size_t>(axis.codes[static_cast<std::size_t>(row)])]++] = row;
    }
}

void Sweep::extend(Part& part, std::int64_t stamp, std::size_t n_rows, std::int32_t axis) {
    const Axis& summed = sums_.instance().axes[static_cast<std::size_t>(axis)];
    if (part.stamp != stamp) {
        part.sums.assign(static_cast<std::size_t>(summed.n_codes) * sums_.width(), 0);
        part.n_rows = 0;
        part.stamp = stamp;
    }
    sums_.add_by_code(summed, order_.data() + part.n_rows, n_rows - part.n_rows, part.sums);
    part.n_rows = n_rows;
}

bool Sweep::fill(std::int32_t code, bool is_left, std::int32_t axis, RowSums::Sums& to) {
    Part& first = first_[static_cast<std::size_t>(axis)];
    Part& whole = whole_[static_cast<std::size_t>(axis)];
    const std::size_t n_left = start_[static_cast<std::size_t>(code) + 1];
    const std::size_t end = is_swapped_ ? order_.size() - n_left : n_left;
    const bool is_first = is_left != is_swapped_;
    const std::size_t n_side = is_first ? end : order_.size() - end;
    const std::size_t known = first.stamp == sweep_stamp_ ? first.n_rows : 0;
    const std::size_t cost_of_whole = is_first || whole.stamp == set_stamp_ ? 0 : order_.size() / uses_of_a_whole;
    if (known > end || end - known + cost_of_whole > n_side) {
        return false;
    }
    extend(first, sweep_stamp_, end, axis);
    if (is_first) {
        to = first.sums;
        return true;
    }
    extend(whole, set_stamp_, order_.size(), axis);
    to.resize(whole.sums.size());
    std::transform(whole.sums.begin(), whole.sums.end(), first.sums.begin(), to.begin(), std::minus<>());
    return true;
}

}  // namespace certree::good
