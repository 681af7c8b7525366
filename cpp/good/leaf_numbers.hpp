// Leaves by what they cost and say, numbered as they appear.
//
// With real weights there are nearly as many leaves as sides of tests, and a map with a node per leaf took a tenth of a
// whole set. A slot of this table has part of the hash beside the number, so that a new leaf touches one of them.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "types.hpp"

namespace certree::good {

struct LeafKey {
    Amount value;
    std::int32_t label;
    bool operator==(const LeafKey&) const = default;
};

class LeafNumbers {
public:
    // Of this leaf, which may be new.
    std::int32_t number(const LeafKey& leaf) {
        if (2 * leaves_.size() >= slots_.size()) {
            grow();
        }
        const std::uint64_t hash = hash_of(leaf);
        std::size_t at = first_place(hash);
        for (; slots_[at].number >= 0; at = (at + 1) & (slots_.size() - 1)) {
            if (slots_[at].tag == tag_of(hash) && leaves_[static_cast<std::size_t>(slots_[at].number)] == leaf) {
                return slots_[at].number;
            }
        }
        slots_[at] = {tag_of(hash), static_cast<std::int32_t>(leaves_.size())};
        leaves_.push_back(leaf);
        return slots_[at].number;
    }

    const std::vector<LeafKey>& leaves() const { return leaves_; }
    std::size_t bytes() const { return leaves_.capacity() * sizeof(LeafKey) + slots_.capacity() * sizeof(Slot); }

private:
    struct Slot {
        std::uint32_t tag = 0;
        std::int32_t number = -1;  // none
    };

    static std::uint64_t hash_of(const LeafKey& leaf) {
        std::uint64_t x = static_cast<std::uint64_t>(leaf.value) +
                          0x9e3779b97f4a7c15ULL * (static_cast<std::uint64_t>(leaf.label) + 1);
        x = (x ^ (x >> 32)) * 0xbf58476d1ce4e5b9ULL;
        return x ^ (x >> 29);
    }
    static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash); }
    std::size_t first_place(std::uint64_t hash) const { return static_cast<std::size_t>(hash >> shift_); }

    void grow() {
        const std::size_t n_slots = std::max<std::size_t>(1024, 4 * slots_.size());
        slots_.assign(n_slots, Slot{});
        shift_ = 64 - std::countr_zero(n_slots);
        for (std::size_t i = 0; i < leaves_.size(); ++i) {
            const std::uint64_t hash = hash_of(leaves_[i]);
            std::size_t at = first_place(hash);
            while (slots_[at].number >= 0) {
                at = (at + 1) & (n_slots - 1);
            }
            slots_[at] = {tag_of(hash), static_cast<std::int32_t>(i)};
        }
    }

    std::vector<LeafKey> leaves_;
    std::vector<Slot> slots_;  // a power of two of them, at least half of them free
    int shift_ = 64;
};

}  // namespace certree::good
