// Row sets whose trees of one depth are known to cost at least so much, and what that says of other sets
// (bounds::similar).
#pragma once

#include <atomic>
#include <cstdint>
#include <shared_mutex>
#include <vector>

#include "instance/subset.hpp"

namespace certree {

// A bit for every row of the instance.
using RowBits = std::vector<std::uint64_t>;
RowBits bits_of(const Instance& instance, const RowSet& set);

// A new set takes the place of the one that was seen the longest ago, once there are as many as may be kept. Safe to
// use from several threads.
class SeenSets {
public:
    // The newest sets are always looked through, all of them as long as that pays.
    struct Size {
        std::size_t newest;
        std::size_t all;
    };
    SeenSets(const Instance& instance, const Size& size) : instance_(instance), size_(size) {}

    // What no tree of the set costs less than, by the sets that were seen; `lower` is known already, and more than
    // `enough` is not asked for.
    Amount lower_of(const RowSet& set, const RowBits& bits, Amount lower, Amount enough) const;

    // Pre: no tree of the set costs less than `lower`, leaf minima lifted.
    void add(const RowSet& set, RowBits bits, Amount lower);

private:
    struct Known {
        Amount lower = 0;
        Amount worst = 0;  // D of the set
    };
    Amount compared(std::size_t place, const RowSet& set, const RowBits& bits, Amount lower) const;

    const Instance& instance_;
    Size size_;
    std::size_t next_ = 0;  // the oldest, once all places are taken
    std::vector<Known> known_;
    std::vector<RowBits> rows_;  // of the same sets
    mutable std::shared_mutex mutex_;
    mutable std::atomic<std::int64_t> n_asked_{0};  // how often more than the newest were looked through
    mutable std::atomic<std::int64_t> n_found_{0};  // and had enough to say
};

}  // namespace certree
