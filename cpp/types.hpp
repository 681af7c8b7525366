// Words shared by every room of the engine: amounts and row-set keys.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace certree {

// Costs are integers inside the engine (fixed point): sums are exact, associative, and the same for every thread count.
using Amount = std::int64_t;

// Larger than any cost the engine can meet, small enough to be added to itself.
//
// Why sums of amounts stay in range: preparation keeps Σ worst (and with it every sum of costs, gains and balances over
// disjoint rows) below 2^56 but for the rounding of half a unit per row, and the penalty no larger than that sum plus
// one. A subproblem is looked at only where its lone leaf is allowed, so every value that a search keeps is at most a
// leaf's: below 2^57 + 2^31. A few of these, added or multiplied by a small constant, stay below 2^60. What is
// multiplied by a number of leaves, rows or levels is not in range by itself: such a product says above it why it is,
// or goes through `times`.
inline constexpr Amount unreachable = std::numeric_limits<Amount>::max() / 8;

// The product of two amounts that are not negative, `unreachable` where it is no less than that.
inline Amount times(Amount a, Amount b) {
    Amount product = 0;
    return __builtin_mul_overflow(a, b, &product) || product > unreachable ? unreachable : product;
}

// The identity of a set of rows: the sum, modulo 2^128, of one random number per row. Incremental under splits and
// independent of the path that led to the set.
struct SetKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    SetKey& operator+=(const SetKey& other) {
        low += other.low;
        high += other.high + (low < other.low ? 1U : 0U);
        return *this;
    }
    SetKey& operator-=(const SetKey& other) {
        high -= other.high + (low < other.low ? 1U : 0U);
        low -= other.low;
        return *this;
    }
    friend SetKey operator-(SetKey a, const SetKey& b) { return a -= b; }
    friend bool operator==(const SetKey&, const SetKey&) = default;
    friend auto operator<=>(const SetKey& a, const SetKey& b) {
        return a.high != b.high ? a.high <=> b.high : a.low <=> b.low;
    }
};

// Every bit of the input moves every bit of the output.
inline std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// The random numbers of the rows, of which the first are held and the others computed: those of a million rows would
// take as much memory as five columns of codes.
class RowKeys {
public:
    RowKeys() = default;
    explicit RowKeys(std::size_t n) : held_(std::min(n, most_held)) {
        for (std::size_t r = 0; r < held_.size(); ++r) {
            held_[r] = compute(r);
        }
    }
    SetKey operator[](std::size_t row) const { return row < held_.size() ? held_[row] : compute(row); }

private:
    static constexpr std::size_t most_held = std::size_t{1} << 17;

    static SetKey compute(std::size_t row) { return {mix(2 * row + 1), mix(0x5851f42d4c957f2dULL + 2 * row)}; }

    std::vector<SetKey> held_;
};

}  // namespace certree
