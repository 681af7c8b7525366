#include "search/seen.hpp"

#include <algorithm>
#include <bit>
#include <mutex>

#include "bounds.hpp"
#include "shallow/cost_model.hpp"

namespace certree {

RowBits bits_of(const Instance& instance, const RowSet& set) {
    RowBits bits((static_cast<std::size_t>(instance.n_rows) + 63) / 64, 0);
    for (const std::int32_t row : set.rows) {
        bits[static_cast<std::size_t>(row) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(row) % 64);
    }
    return bits;
}

// The bound by one set, or what is known, if that is no less: no more is summed than it takes to see it.
Amount SeenSets::compared(std::size_t place, const RowSet& set, const RowBits& bits, Amount lower) const {
    const Known& other = known_[place];
    // The other set has at least so much that this one does not have.
    if (other.lower <= lower || bounds::similar(other.lower, other.worst - set.worst) <= lower) {
        return lower;
    }
    const RowBits& rows = rows_[place];
    Amount only_in_other = 0;
    const auto bound = [&] { return bounds::similar(other.lower, only_in_other); };
    for (std::size_t w = 0; w < bits.size() && bound() > lower; ++w) {
        for (std::uint64_t rest = rows[w] & ~bits[w]; rest != 0; rest &= rest - 1) {
            only_in_other += instance_.worst[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
        }
    }
    return std::max(lower, bound());
}

// The newest ones first: they are often the most alike.
Amount SeenSets::lower_of(const RowSet& set, const RowBits& bits, Amount lower, Amount enough) const {
    const std::shared_lock lock(mutex_);
    const std::size_t n = known_.size();
    const auto look_through = [&](std::size_t from, std::size_t to) {
        for (std::size_t age = from; age < to && lower < enough; ++age) {
            const std::size_t place = next_ + n - 1 - age;
            lower = compared(place < n ? place : place - n, set, bits, lower);
        }
    };
    look_through(0, std::min(n, size_.newest));
    if (lower < enough && n > size_.newest && forecast::do_old_sets_pay(n_asked_, n_found_)) {
        look_through(size_.newest, n);
        n_asked_.fetch_add(1, std::memory_order_relaxed);
        n_found_.fetch_add(lower >= enough ? 1 : 0, std::memory_order_relaxed);
    }
    return lower;
}

void SeenSets::add(const RowSet& set, RowBits bits, Amount lower) {
    const std::unique_lock lock(mutex_);
    if (known_.size() < size_.all) {
        known_.push_back({lower, set.worst});
        rows_.push_back(std::move(bits));
    } else {
        known_[next_] = {lower, set.worst};
        rows_[next_] = std::move(bits);
        next_ = (next_ + 1) % size_.all;
    }
}

}  // namespace certree
