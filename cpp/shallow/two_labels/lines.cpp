#include "shallow/two_labels/lines.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "shallow/cost_model.hpp"

namespace certree {

namespace {

// Sums of sums must fit in 32 bits with a bit to spare. The coarse grid is for tests: it leaves the work to exact
// checks.
constexpr Amount fine_total = Amount{1} << 30;
constexpr Amount coarse_total = Amount{1} << 12;

constexpr std::int32_t most_byte_codes = 256;

}  // namespace

RoundedAmounts::RoundedAmounts(const Instance& instance, const RowSet& set, bool is_fine) {
    Amount sum = 0;
    Amount bits = 0;
    for (const std::int32_t row : set.rows) {
        const Amount balance = magnitude(instance.balance[static_cast<std::size_t>(row)]);
        sum += balance;
        bits |= balance;
    }
    shift = bits == 0 ? 0 : std::countr_zero(static_cast<std::uint64_t>(bits));
    // Rows are fewer than 2^29, so the fine grid is finer than 2^28, and no grid is coarser than the total by row: the
    // slack is in range.
    const auto n_rows = static_cast<Amount>(set.rows.size());
    const Amount most = is_fine ? fine_total - n_rows : std::max(coarse_total, n_rows);
    const bool is_exact = (sum >> shift) <= most;
    while ((sum >> shift) > most) {
        ++shift;
    }
    small.reserve(set.rows.size());
    const Amount half = is_exact ? 0 : Amount{1} << (shift - 1);
    for (const std::int32_t row : set.rows) {
        const Amount balance = instance.balance[static_cast<std::size_t>(row)];
        small.push_back(static_cast<std::int32_t>((balance + half) >> shift));
        slack += magnitude((Amount{small.back()} << shift) - balance);
        total += magnitude(small.back());
    }
}

LineBuilder::LineBuilder(const Local& local, const std::vector<std::int32_t>& amounts, const Kernels& kernels,
                         bool has_steps, bool has_bytes)
    : local_(local), amounts_(amounts), kernels_(kernels), has_steps_(has_steps) {
    first_single_ = local.axes.size() - static_cast<std::size_t>(local.n_single_axes);
    std::int64_t total = 0;
    for (const std::int32_t amount : amounts) {
        total += magnitude(amount);
    }
    is_short_ = total <= std::numeric_limits<std::int16_t>::max();
    single_width_ = (local.n_single_axes + 2 * Kernels::lanes - 1) / (2 * Kernels::lanes) * (2 * Kernels::lanes);
    std::vector<const std::int32_t*> codes;
    for (std::size_t c = first_single_; c < local.axes.size(); ++c) {
        codes.push_back(local.axes[c].codes);
    }
    const auto width = static_cast<std::size_t>(single_width_);
    is_short_ ? fill_lines(short_single_, width, codes, amounts) : fill_lines(single_, width, codes, amounts);
    if (has_bytes) {
        fill_bytes();
    }
}

void LineBuilder::fill_bytes() {
    constexpr std::size_t block = 64;
    std::int32_t start = 0;
    for (std::size_t c = 0; c < static_cast<std::size_t>(local_.n_step_axes); ++c) {
        const LocalAxis& axis = local_.axes[c];
        if (axis.n_codes <= most_byte_codes) {
            byte_axes_.push_back(c);
            byte_start_.push_back(start);
            start += axis.n_codes;
            most_byte_tests_ = std::max(most_byte_tests_, axis.n_tests);
        }
    }
    byte_start_.push_back(start);
    const std::size_t width = byte_axes_.size();
    const std::size_t n_rows = amounts_.size();
    bytes_.resize(n_rows * width);
    for (std::size_t from = 0; from < n_rows; from += block) {
        for (std::size_t k = 0; k < width; ++k) {
            const std::int32_t* codes = local_.axes[byte_axes_[k]].codes;
            for (std::size_t i = from; i < std::min(from + block, n_rows); ++i) {
                bytes_[i * width + k] = static_cast<std::uint8_t>(codes[i]);
            }
        }
    }
}

void LineBuilder::add_by_bytes(std::int32_t* line, const std::int32_t* rows, std::size_t n, const Layout& layout,
                               std::int32_t* scratch) const {
    const std::size_t width = byte_axes_.size();
    for (std::size_t k = 0; k < n; ++k) {
        const std::uint8_t* codes = bytes_.data() + static_cast<std::size_t>(rows[k]) * width;
        const std::int32_t amount = amounts_[static_cast<std::size_t>(rows[k])];
        for (std::size_t c = 0; c < width; ++c) {
            scratch[byte_start_[c] + codes[c]] += amount;
        }
    }
    for (std::size_t c = 0; c < width; ++c) {
        const std::int32_t offset = layout.offset[byte_axes_[c]];
        const std::int32_t* sums = scratch + byte_start_[c];
        std::int32_t sum = 0;
        for (std::int32_t t = 0; offset >= 0 && t < local_.axes[byte_axes_[c]].n_tests; ++t) {
            sum += sums[t];
            line[offset + t] += sum;
        }
    }
    std::fill_n(scratch, byte_start_.back(), 0);
}

std::size_t LineBuilder::scratch_size() const {
    std::int32_t most_codes = byte_start_.empty() ? 0 : byte_start_.back();
    for (const LocalAxis& axis : local_.axes) {
        most_codes = std::max(most_codes, axis.n_codes);
    }
    return 2 * (static_cast<std::size_t>(most_codes) + 1);
}

void LineBuilder::add(std::int32_t* line, const std::int32_t* rows, std::size_t n, const Layout& layout,
                      std::int32_t* scratch) const {
    if (n == 0) {
        return;
    }
    const auto n_step = static_cast<std::size_t>(local_.n_step_axes);
    const bool has_bytes = !byte_axes_.empty() && (!has_steps_ || forecast::are_sums_cheaper(n, most_byte_tests_));
    if (has_bytes) {
        add_by_bytes(line, rows, n, layout, scratch);
    }
    for (std::size_t c = 0; c < n_step; ++c) {
        const std::int32_t offset = layout.offset[c];
        const LocalAxis& axis = local_.axes[c];
        if (offset < 0 || (has_bytes && axis.n_codes <= most_byte_codes)) {
            continue;
        }
        if (!has_steps_ || forecast::are_sums_cheaper(n, axis.n_tests)) {
            // Two sums per code in turn: where most rows share one, each addition would wait for the one before.
            for (std::size_t k = 0; k < n; ++k) {
                scratch[2 * static_cast<std::size_t>(axis.codes[rows[k]]) + (k & 1)] +=
                    amounts_[static_cast<std::size_t>(rows[k])];
            }
            std::int32_t sum = 0;
            std::int32_t* at = line + offset;
            for (std::int32_t t = 0; t < axis.n_tests; ++t) {
                sum += scratch[2 * t] + scratch[2 * t + 1];
                scratch[2 * t] = scratch[2 * t + 1] = 0;
                at[t] += sum;
            }
            scratch[2 * axis.n_tests] = scratch[2 * axis.n_tests + 1] = 0;
        } else {
            kernels_.add_steps(line + offset, axis.n_tests, axis.codes, amounts_.data(), rows, n);
        }
    }
    for (std::size_t c = n_step; c < first_single_; ++c) {
        const LocalAxis& axis = local_.axes[c];
        std::int32_t* at = line + layout.offset[c];
        for (std::size_t k = 0; k < n; ++k) {
            const std::int32_t code = axis.codes[rows[k]];
            if (code < axis.n_tests) {
                at[code] += amounts_[static_cast<std::size_t>(rows[k])];
            }
        }
    }
    if (local_.n_single_axes > 0) {
        std::int32_t* at = line + layout.offset[first_single_];
        if (is_short_) {
            kernels_.add_short_rows(at, short_single_.data(), single_width_, rows, n);
        } else {
            kernels_.add_rows(at, single_.data(), single_width_, rows, n);
        }
    }
}

namespace {

// Without branches on codes, which no processor can foresee: rows of the last code are placed too, then cut off.
template <class RowAt>
void sort_rows(const LocalAxis& axis, std::int32_t n, RowAt row_at, ActiveRows::Codes& codes) {
    std::vector<std::int32_t>& start = codes.start;
    PooledVector<std::int32_t>& rows = codes.rows;
    rows.resize(static_cast<std::size_t>(n));
    if (axis.n_tests == 1) {
        std::int32_t n_active = 0;
        for (std::int32_t i = 0; i < n; ++i) {
            const std::int32_t row = row_at(i);
            rows[static_cast<std::size_t>(n_active)] = row;
            n_active += axis.codes[row] == 0 ? 1 : 0;
        }
        start = {0, n_active};
    } else {
        start.assign(static_cast<std::size_t>(axis.n_tests) + 2, 0);
        for (std::int32_t i = 0; i < n; ++i) {
            ++start[static_cast<std::size_t>(axis.codes[row_at(i)]) + 1];
        }
        start.pop_back();
        for (std::size_t c = 1; c < start.size(); ++c) {
            start[c] += start[c - 1];
        }
        std::vector<std::int32_t> next = start;
        for (std::int32_t i = 0; i < n; ++i) {
            const std::int32_t row = row_at(i);
            rows[static_cast<std::size_t>(next[static_cast<std::size_t>(axis.codes[row])]++)] = row;
        }
    }
    rows.resize(static_cast<std::size_t>(start.back()));
}

}  // namespace

ActiveRows::ActiveRows(const Local& local)
    : local_(&local), axes_(local.axes.size()), is_sorted_(std::make_unique<std::atomic<bool>[]>(local.axes.size())) {}

void ActiveRows::sort(std::size_t axis) const {
    const std::lock_guard lock(mutex_);
    if (!is_sorted_[axis].load(std::memory_order_relaxed)) {
        sort_rows(local_->axes[axis], local_->n_rows, [](std::int32_t i) { return i; }, axes_[axis]);
        is_sorted_[axis].store(true, std::memory_order_release);
    }
}

void ActiveRows::reset(const Local& local, std::span<const std::int32_t> some) {
    is_sorted_ = nullptr;
    axes_.resize(local.axes.size());
    for (std::size_t a = 0; a < axes_.size(); ++a) {
        sort_rows(
            local.axes[a], static_cast<std::int32_t>(some.size()),
            [&](std::int32_t i) { return some[static_cast<std::size_t>(i)]; }, axes_[a]);
    }
}

}  // namespace certree
