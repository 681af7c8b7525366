// Preparation: from the caller's table to the smallest instance with the same optimal trees.
#include "instance/problem.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <unordered_map>
#include <utility>

#include "pool.hpp"
#include "switches.hpp"

namespace certree {

namespace {

// For each row the number of its group of equal rows, groups numbered by first appearance, and a member of each group.
struct Groups {
    std::vector<std::int32_t> of_row;
    std::vector<std::int32_t> member;
};

// The rows that share their codes on the axis with the most of them: no others equal any. Ascending; not worth the look
// where most rows are sure to share.
std::vector<std::int32_t> rows_that_share(const Input& input) {
    const auto n = static_cast<std::size_t>(input.n_rows);
    const auto most = std::max_element(input.sizes.begin(), input.sizes.end());
    std::vector<std::int32_t> sharing;
    if (most == input.sizes.end() || 2 * static_cast<std::size_t>(*most) < n) {
        sharing.resize(n);
        std::iota(sharing.begin(), sharing.end(), 0);
        return sharing;
    }
    const std::int32_t* codes = input.codes.data() + static_cast<std::size_t>(most - input.sizes.begin()) * n;
    std::vector<std::uint8_t> n_rows(static_cast<std::size_t>(*most), 0);  // by code; 2 stands for more, too
    for (std::size_t i = 0; i < n; ++i) {
        std::uint8_t& of_code = n_rows[static_cast<std::size_t>(codes[i])];
        of_code = std::min<std::uint8_t>(of_code + 1, 2);
    }
    for (std::size_t i = 0; i < n; ++i) {
        if (n_rows[static_cast<std::size_t>(codes[i])] == 2) {
            sharing.push_back(static_cast<std::int32_t>(i));
        }
    }
    return sharing;
}

Groups group_equal_rows(const Input& input) {
    const auto n = static_cast<std::size_t>(input.n_rows);
    const std::size_t n_axes = input.sizes.size();
    const std::vector<std::int32_t> sharing = rows_that_share(input);
    std::vector<std::uint64_t> hash(sharing.size(), 0);
    const auto add_codes = [&](const std::int32_t* codes, auto row_at) {
        for (std::size_t k = 0; k < hash.size(); ++k) {
            hash[k] = (hash[k] ^ static_cast<std::uint64_t>(static_cast<std::uint32_t>(codes[row_at(k)]))) *
                      0x9fb21c651e98df25ULL;
            hash[k] ^= hash[k] >> 29;
        }
    };
    for (std::size_t a = 0; a < n_axes; ++a) {
        const std::int32_t* codes = input.codes.data() + a * n;
        if (hash.size() == n) {
            add_codes(codes, [](std::size_t k) { return k; });
        } else {
            add_codes(codes, [&](std::size_t k) { return static_cast<std::size_t>(sharing[k]); });
        }
    }
    const auto equal = [&](std::size_t i, std::size_t j) {
        for (std::size_t a = 0; a < n_axes; ++a) {
            if (input.codes[a * n + i] != input.codes[a * n + j]) {
                return false;
            }
        }
        return true;
    };
    Groups groups;
    groups.of_row.resize(n);
    const auto begin_group = [&](std::size_t i) {
        groups.of_row[i] = static_cast<std::int32_t>(groups.member.size());
        groups.member.push_back(static_cast<std::int32_t>(i));
    };
    const std::size_t n_slots = std::bit_ceil(std::max<std::size_t>(2 * sharing.size(), 16));
    std::vector<std::int32_t> slots(n_slots, -1);  // the first of equal rows, by its place among those that share
    std::size_t i = 0;
    for (std::size_t k = 0; k < sharing.size(); ++k, ++i) {
        const auto row = static_cast<std::size_t>(sharing[k]);
        for (; i < row; ++i) {
            begin_group(i);
        }
        std::size_t slot = mix(hash[k]) & (n_slots - 1);
        while (true) {
            if (slots[slot] < 0) {
                slots[slot] = static_cast<std::int32_t>(k);
                begin_group(row);
                break;
            }
            const auto first = static_cast<std::size_t>(slots[slot]);
            const auto other = static_cast<std::size_t>(sharing[first]);
            if (hash[k] == hash[first] && equal(row, other)) {
                groups.of_row[row] = groups.of_row[other];
                break;
            }
            slot = (slot + 1) & (n_slots - 1);
        }
    }
    for (; i < n; ++i) {
        begin_group(i);
    }
    return groups;
}

// A power of two that brings `total` just below 2^bits: scaling by it is exact, so amounts that were integers stay
// exact.
struct FixedPoint {
    int exponent = 0;
    double scale = 1.0;          // 2^exponent, where that is a finite number
    std::int64_t n_rounded = 0;  // amounts that did not fit the grid

    explicit FixedPoint(double total, int bits = 56)
        : exponent(bits - 1 - (total > 0.0 ? std::ilogb(total) : 0)), scale(std::ldexp(1.0, exponent)) {}

    // The nearest amount to a value that is not negative.
    Amount operator()(double value) {
        const double scaled = std::isfinite(scale) ? value * scale : std::ldexp(value, exponent);
        // From 2^52 on a double is whole, and a half added to it would be rounded.
        const auto whole = static_cast<Amount>(scaled < 0x1p52 ? scaled + 0.5 : scaled);
        n_rounded += static_cast<double>(whole) != scaled ? 1 : 0;
        return whole;
    }
};

// Keeps only the tests of an axis that tell the rows apart, and renumbers the codes. Keys of rows are added up: no row
// at all has a sum of zero, and only all rows together have the sum of all. `is_first` says whether no kept test parts
// the rows as one does whose rows have this sum; `has_all` says of an axis that all of its tests are kept.
template <class Key, class KeyOfRow, class IsFirst, class HasAll>
void keep_tests(const Input& input, const std::vector<std::int32_t>& rows, Instance& instance, const KeyOfRow& row_key,
                const IsFirst& is_first, const HasAll& has_all) {
    const auto n_input = static_cast<std::size_t>(input.n_rows);
    const std::size_t n_rows = rows.size();
    Key all{};
    for (std::size_t r = 0; r < n_rows; ++r) {
        all += row_key(r);
    }
    std::vector<Key> key_of_code;
    std::vector<std::int32_t> new_code;
    for (std::size_t a = 0; a < input.sizes.size(); ++a) {
        const std::int32_t* codes = input.codes.data() + a * n_input;
        const auto n_codes = static_cast<std::size_t>(input.sizes[a]);
        if (has_all(a)) {
            Axis axis;
            axis.original_axis = static_cast<std::int32_t>(a);
            axis.n_codes = input.sizes[a];
            axis.n_tests = input.sizes[a] - 1;
            if (input.stays) {
                axis.codes = input.codes.subspan(a * n_input, n_input);
            } else {
                axis.own_codes.assign(codes, codes + n_input);
                axis.codes = axis.own_codes;
            }
            instance.n_tests += axis.n_tests;
            instance.axes.push_back(std::move(axis));
            continue;
        }
        key_of_code.assign(n_codes, Key{});
        for (std::size_t r = 0; r < n_rows; ++r) {
            key_of_code[static_cast<std::size_t>(codes[rows[r]])] += row_key(r);
        }
        Axis axis;
        axis.original_axis = static_cast<std::int32_t>(a);
        axis.is_categorical = input.categorical[a] != 0;
        new_code.assign(n_codes, 0);
        const auto is_new = [&](const Key& key) {
            return !(key == Key{}) && !(key == all) && is_first(key, all, axis);
        };
        if (axis.is_categorical) {
            for (std::size_t c = 0; c < n_codes; ++c) {
                const bool kept = is_new(key_of_code[c]);
                new_code[c] = kept ? static_cast<std::int32_t>(axis.original_codes.size()) : -1;
                if (kept) {
                    axis.original_codes.push_back(static_cast<std::int32_t>(c));
                }
            }
            axis.n_tests = static_cast<std::int32_t>(axis.original_codes.size());
            bool has_rest = false;
            for (std::size_t c = 0; c < n_codes; ++c) {
                if (new_code[c] < 0) {
                    new_code[c] = axis.n_tests;
                    has_rest = has_rest || !(key_of_code[c] == Key{});
                }
            }
            axis.n_codes = axis.n_tests + (has_rest ? 1 : 0);
        } else {
            Key below{};
            std::int32_t current = 0;
            for (std::size_t c = 0; c < n_codes; ++c) {
                new_code[c] = current;
                below += key_of_code[c];
                if (key_of_code[c] == Key{}) {
                    continue;
                }
                if (c + 1 < n_codes && is_new(below)) {
                    axis.original_codes.push_back(static_cast<std::int32_t>(c));
                    ++current;
                }
            }
            axis.n_tests = current;
            axis.n_codes = current + 1;
        }
        if (axis.n_tests == 0) {
            continue;
        }
        if (axis.original_codes.back() == axis.n_tests - 1) {
            release(axis.original_codes);  // ascending, so each is its own place
        }
        // Rows and codes are numbered by appearance and by order, so where none is left out they are the caller's.
        const bool are_kept =
            n_rows == n_input && (axis.is_categorical ? axis.n_tests : axis.n_codes) == input.sizes[a];
        if (are_kept && input.stays) {
            axis.codes = input.codes.subspan(a * n_input, n_input);
        } else {
            axis.own_codes.resize(n_rows);
            for (std::size_t r = 0; r < n_rows; ++r) {
                axis.own_codes[r] = new_code[static_cast<std::size_t>(codes[rows[r]])];
            }
            axis.codes = axis.own_codes;
        }
        instance.n_tests += axis.n_tests;
        instance.axes.push_back(std::move(axis));
    }
}

// Whether an axis is ordered, has a test, and every code of it has a row.
bool has_all_codes(const Input& input, std::size_t axis) {
    const auto n = static_cast<std::size_t>(input.n_rows);
    const auto n_codes = static_cast<std::size_t>(input.sizes[axis]);
    if (input.categorical[axis] != 0 || n_codes < 2 || n_codes > n) {
        return false;
    }
    std::vector<std::uint64_t> bits(n_codes / 64 + 1, 0);
    for (const std::int32_t code : input.codes.subspan(axis * n, n)) {
        bits[static_cast<std::size_t>(code) / 64] |= std::uint64_t{1} << (static_cast<unsigned>(code) % 64);
    }
    const auto add = [](std::size_t sum, std::uint64_t word) {
        return sum + static_cast<std::size_t>(std::popcount(word));
    };
    return std::accumulate(bits.begin(), bits.end(), std::size_t{0}, add) == n_codes;
}

// Of tests that part the rows alike only the first is kept, if `is_merging`.
void keep_distinct_tests(const Input& input, const std::vector<std::int32_t>& rows, Instance& instance,
                         bool is_merging) {
    // Thousands of thresholds per axis are hardly ever doubled, and comparing them all would cost more than it saves.
    constexpr std::int64_t most_compared = 20000;
    if (!is_merging || std::accumulate(input.sizes.begin(), input.sizes.end(), std::int64_t{0}) > most_compared) {
        // Whether a test tells rows apart, numbers of rows say, in a quarter of the memory; and where every code has a
        // row, all thresholds do.
        keep_tests<std::int32_t>(
            input, rows, instance, [](std::size_t) { return 1; }, [](auto&&...) { return true; },
            [&](std::size_t a) {
                return rows.size() == static_cast<std::size_t>(input.n_rows) && has_all_codes(input, a);
            });
        return;
    }
    struct KeyHash {
        std::size_t operator()(const SetKey& key) const { return static_cast<std::size_t>(key.low); }
    };
    std::unordered_map<SetKey, std::pair<std::int32_t, std::int32_t>, KeyHash> seen;  // axis and test
    keep_tests<SetKey>(
        input, rows, instance, [&](std::size_t r) { return instance.row_key[r]; },
        [&](const SetKey& key, const SetKey& all, const Axis& axis) {
            const std::pair here(static_cast<std::int32_t>(instance.axes.size()),
                                 static_cast<std::int32_t>(axis.original_codes.size()));
            const auto [place, is_first] = seen.try_emplace(std::min(key, all - key), here);
            if (!is_first) {
                instance.doubles.push_back({place->second.first, place->second.second, axis.original_axis});
            }
            return is_first;
        },
        [](std::size_t) { return false; });
}

}  // namespace

Instance prepare(const Input& input, bool has_leaf_minimum, std::uint32_t switches) {
    const auto n = static_cast<std::size_t>(input.n_rows);
    const auto n_labels = static_cast<std::size_t>(input.n_labels);
    const bool is_classification = input.costs.empty();

    const auto worst_cost = [&](std::size_t i) {
        const double* costs = input.costs.data() + i * n_labels;
        return *std::max_element(costs, costs + n_labels);
    };
    double total = 0.0;
    if (is_classification) {
        total = std::accumulate(input.weights.begin(), input.weights.end(), 0.0);
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            total += worst_cost(i);
        }
    }
    // Parts of one table have amounts of one unit, so that those of their trees add up.
    FixedPoint to_amount(input.total > 0.0 ? input.total : total);

    const Groups groups = group_equal_rows(input);
    const std::size_t n_groups = groups.member.size();
    std::vector<Amount> saved(n_groups * n_labels, 0);  // what a label saves; only differences within a row matter
    Amount spent = 0;                                   // what the worst choice would cost, to go with `saved`
    Instance instance;
    instance.n_labels = input.n_labels;
    instance.whole = FixedPoint(to_amount)(input.total);
    if (is_classification) {
        for (std::size_t i = 0; i < n; ++i) {
            const Amount amount = to_amount(input.weights[i]);
            spent += amount;
            saved[static_cast<std::size_t>(groups.of_row[i]) * n_labels + static_cast<std::size_t>(input.labels[i])] +=
                amount;
        }
    } else {
        for (std::size_t i = 0; i < n; ++i) {
            for (std::size_t k = 0; k < n_labels; ++k) {
                saved[static_cast<std::size_t>(groups.of_row[i]) * n_labels + k] -=
                    to_amount(input.costs[i * n_labels + k]);
            }
        }
    }
    instance.offset = spent;

    // No prediction costs more than the row's worst label; what does would not be in range.
    std::vector<Amount> reference(input.reference_costs.empty() ? 0 : n_groups, 0);
    for (std::size_t i = 0; i < input.reference_costs.size(); ++i) {
        const double most = is_classification ? input.weights[i] : worst_cost(i);
        reference[static_cast<std::size_t>(groups.of_row[i])] += to_amount(std::min(input.reference_costs[i], most));
    }

    // A row whose labels all cost the same takes no part in any decision; it stays only where rows are counted, or
    // where the tests that part the rows alike are to be told from others.
    std::vector<std::int32_t> kept_groups;
    std::vector<Amount> common;
    std::vector<Amount> total_saved(n_labels, 0);
    std::vector<Amount> row_spent(reference.empty() ? 0 : n_groups, 0);
    if (!reference.empty() && is_classification) {
        for (std::size_t i = 0; i < n; ++i) {
            row_spent[static_cast<std::size_t>(groups.of_row[i])] += FixedPoint(to_amount)(input.weights[i]);
        }
    }
    for (std::size_t g = 0; g < n_groups; ++g) {
        Amount* row = saved.data() + g * n_labels;
        for (std::size_t k = 0; k < n_labels; ++k) {
            total_saved[k] += row[k];
        }
        const auto [least, most] = std::minmax_element(row, row + n_labels);
        const Amount low = *least;
        const Amount high = *most;
        instance.offset -= high;
        if (!reference.empty()) {
            // Never above the row's worst cost, so that a row that joins a set moves the guess by at most D of it.
            reference[g] = std::clamp<Amount>(reference[g] - (row_spent[g] - high), 0, high - low);
        }
        for (std::size_t k = 0; k < n_labels; ++k) {
            row[k] -= low;
        }
        if (high > low || has_leaf_minimum || (switches & no_row_dropping) != 0) {
            kept_groups.push_back(static_cast<std::int32_t>(g));
            common.push_back(low);
        }
    }
    instance.best_label_of_all =
        static_cast<std::int32_t>(std::max_element(total_saved.begin(), total_saved.end()) - total_saved.begin());

    if (is_classification && std::any_of(common.begin(), common.end(), [](Amount low) { return low > 0; })) {
        instance.common = std::move(common);
    }
    instance.n_rows = static_cast<std::int32_t>(kept_groups.size());
    std::vector<std::int32_t> rows(kept_groups.size());
    instance.gain_start.reserve(kept_groups.size() + 1);
    instance.gain_start.push_back(0);
    instance.gains.reserve(
        static_cast<std::size_t>(std::count_if(saved.begin(), saved.end(), [](Amount amount) { return amount > 0; })));
    instance.worst.reserve(kept_groups.size());
    instance.balance.reserve(n_labels == 2 ? kept_groups.size() : 0);
    instance.row_key = RowKeys(kept_groups.size());
    std::vector<std::int32_t> new_row(n_groups, -1);
    for (std::size_t r = 0; r < kept_groups.size(); ++r) {
        const auto g = static_cast<std::size_t>(kept_groups[r]);
        new_row[g] = static_cast<std::int32_t>(r);
        rows[r] = groups.member[g];
        const Amount* row = saved.data() + g * n_labels;
        Amount worst = 0;
        for (std::size_t k = 0; k < n_labels; ++k) {
            worst = std::max(worst, row[k]);
            if (row[k] > 0) {
                instance.gains.push_back({static_cast<std::int32_t>(k), row[k]});
            }
        }
        instance.gain_start.push_back(static_cast<std::int32_t>(instance.gains.size()));
        instance.worst.push_back(worst);
        if (n_labels == 2) {
            instance.balance.push_back(row[0] - row[1]);
        }
        if (!reference.empty()) {
            instance.reference.push_back(reference[g]);
        }
    }
    if (has_leaf_minimum) {
        // Weights are only summed and compared, so their grid may be as fine as 64 bits allow. Whole numbers below
        // 2^61 in all stay what they are.
        constexpr int weight_bits = 62;
        const std::span<const double> leaf_weights = input.leaf_weights.empty() ? input.weights : input.leaf_weights;
        FixedPoint to_weight(std::accumulate(leaf_weights.begin(), leaf_weights.end(), 0.0), weight_bits);
        instance.n_arms = input.arms.empty() ? 0 : input.n_arms;
        instance.count.assign(kept_groups.size(), 0);
        instance.weight.assign(kept_groups.size(), 0);
        instance.arm_count.assign(kept_groups.size() * static_cast<std::size_t>(instance.n_arms), 0);
        for (std::size_t i = 0; i < n; ++i) {
            const auto r = static_cast<std::size_t>(new_row[static_cast<std::size_t>(groups.of_row[i])]);
            const std::int64_t count = input.counts.empty() ? 1 : input.counts[i];
            instance.count[r] += count;
            instance.weight[r] += to_weight(leaf_weights[i]);
            if (instance.n_arms > 0) {
                instance.arm_count[r * static_cast<std::size_t>(instance.n_arms) +
                                   static_cast<std::size_t>(input.arms[i])] += static_cast<std::int32_t>(count);
            }
        }
        instance.to_weight = {1.0, to_weight.exponent};
    }
    release(saved);
    keep_distinct_tests(input, rows, instance, (switches & no_test_merging) == 0);

    // The normaliser as a number near 1 and a power of two: 2^-exponent alone need not be a float.
    const int power = std::ilogb(input.normaliser);
    const double normaliser = std::ldexp(input.normaliser, -power);
    instance.to_value = {1.0 / normaliser, -to_amount.exponent - power};
    instance.to_penalty = {normaliser, to_amount.exponent + power};
    instance.cost_rounding = instance.to_value(0.5 * static_cast<double>(to_amount.n_rounded));
    return instance;
}

Settings Instance::settings(const Constraints& constraints, double regularization) const {
    Settings asked;
    asked.max_depth = constraints.max_depth;
    asked.max_leaves = constraints.max_leaves;
    asked.min_samples_leaf = constraints.min_samples_leaf;
    asked.min_samples_arm = constraints.min_samples_arm;
    // A minimum above the total weight admits no leaf but the forced lone one; the clamp keeps it representable.
    const double minimum = to_weight(constraints.min_weight_leaf);
    asked.min_weight_leaf = minimum >= 0x1p62 ? Amount{1} << 62 : static_cast<Amount>(std::floor(minimum));
    // With λ above the whole cost no split can pay, whatever λ is beyond that; the clamp keeps sums in range.
    const double lambda = to_penalty(regularization);
    const Amount largest = std::max(whole, std::accumulate(worst.begin(), worst.end(), Amount{1}));
    asked.penalty = lambda >= static_cast<double>(largest) ? largest : static_cast<Amount>(std::nearbyint(lambda));
    return asked;
}

std::size_t Instance::bytes() const {
    std::size_t sum =
        gain_start.size() * sizeof(std::int32_t) + gains.size() * sizeof(Gain) +
        static_cast<std::size_t>(n_rows) * sizeof(SetKey) +
        (worst.size() + balance.size() + common.size() + count.size() + weight.size() + reference.size()) *
            sizeof(Amount) +
        arm_count.size() * sizeof(std::int32_t);
    for (const Axis& axis : axes) {
        sum += (axis.codes.size() + axis.original_codes.size()) * sizeof(std::int32_t);
    }
    return sum;
}

namespace {

// One or two values and none missing, as flags have: by comparisons alone. False where there are more, which the first
// rows show of most columns; the codes are then still to be found.
bool bin_flags(std::span<const double> values, std::span<std::int32_t> codes, std::vector<double>& distinct) {
    constexpr std::size_t block = 256;
    if (values.empty() || std::isnan(values[0])) {
        return false;
    }
    const auto other = std::find_if(values.begin(), values.end(), [&](double value) { return value != values[0]; });
    if (other == values.end()) {
        std::fill(codes.begin(), codes.end(), 0);
        distinct.assign(1, values[0] + 0.0);
        return true;
    }
    const double low = std::min(values[0], *other);
    const double high = std::max(values[0], *other);
    for (std::size_t from = 0; from < values.size(); from += block) {
        std::int32_t n_strange = 0;
        for (std::size_t i = from; i < std::min(from + block, values.size()); ++i) {
            codes[i] = values[i] == high ? 1 : 0;
            n_strange += values[i] == high || values[i] == low ? 0 : 1;
        }
        if (n_strange > 0) {
            return false;
        }
    }
    distinct = {low + 0.0, high + 0.0};  // a negative zero is a zero
    return true;
}

// In three parts, so that no bytes are lost to alignment: a million of them are moved about several times.
struct Item {
    std::uint32_t high;
    std::uint32_t low;
    std::uint32_t row;

    std::uint64_t key() const { return std::uint64_t{high} << 32 | low; }
};

constexpr int digit_bits = 11;

// Sorts by the bits from `low` up to `top`, by radix, least digit first. Equal ones stay in order.
void sort_by_radix(std::span<Item>& items, std::span<Item>& other, int low, int top) {
    constexpr std::size_t n_digits = std::size_t{1} << digit_bits;
    std::vector<std::uint32_t> start(n_digits);
    for (int bit = low; bit < top; bit += digit_bits) {
        const auto digit = [&](const Item& item) {
            return static_cast<std::size_t>(item.key() >> bit) & (n_digits - 1);
        };
        std::fill(start.begin(), start.end(), 0);
        for (const Item& item : items) {
            ++start[digit(item)];
        }
        std::uint32_t sum = 0;
        for (std::uint32_t& count : start) {
            sum += std::exchange(count, sum);
        }
        for (const Item& item : items) {
            other[start[digit(item)]++] = item;
        }
        std::swap(items, other);
    }
}

// The upper three digits of the bits in which keys differ put nearly all of them in order, and what is left moves few
// places. Where keys differ in further bits and would move far, they are sorted by all bits. Equal keys stay in order.
void sort_by_key(std::span<Item>& items, std::span<Item>& other) {
    std::uint64_t in_some = 0;
    std::uint64_t in_all = ~std::uint64_t{0};
    for (const Item& item : items) {
        in_some |= item.key();
        in_all &= item.key();
    }
    const std::uint64_t differing = in_some & ~in_all;
    if (differing == 0) {
        return;
    }
    const int low = std::countr_zero(differing);
    const int top = static_cast<int>(std::bit_width(differing));
    sort_by_radix(items, other, std::max(low, top - 3 * digit_bits), top);
    std::size_t n_moves = 0;
    for (std::size_t k = 1; k < items.size(); ++k) {
        if (items[k].key() >= items[k - 1].key()) {
            continue;
        }
        const Item item = items[k];
        std::size_t place = k;
        for (; place > 0 && items[place - 1].key() > item.key(); --place) {
            items[place] = items[place - 1];
        }
        items[place] = item;
        n_moves += k - place;
        if (n_moves > 2 * items.size()) {
            sort_by_radix(items, other, low, top);
            return;
        }
    }
}

}  // namespace

void bin_numeric(std::span<const double> values, std::span<std::int32_t> codes, std::vector<double>& distinct) {
    const std::size_t n = values.size();
    distinct.clear();
    if (bin_flags(values, codes, distinct)) {
        return;
    }
    // Whole numbers in a narrow range, the usual case, need no sort.
    double low = 0.0;
    double high = 0.0;
    bool is_narrow = false;
    {
        bool is_first = true;
        is_narrow = true;
        for (std::size_t i = 0; i < n; ++i) {
            const double value = values[i];
            if (std::isnan(value)) {
                continue;
            }
            if (!(value >= -1e9 && value <= 1e9) || value != static_cast<double>(static_cast<std::int64_t>(value))) {
                is_narrow = false;
                break;
            }
            low = is_first ? value : std::min(low, value);
            high = is_first ? value : std::max(high, value);
            is_first = false;
        }
        is_narrow = is_narrow && !is_first && high - low <= 4.0 * static_cast<double>(n) + 1024.0;
    }
    if (is_narrow) {
        const auto first = static_cast<std::int64_t>(low);
        std::vector<std::int32_t> code(static_cast<std::size_t>(static_cast<std::int64_t>(high) - first + 1), -1);
        for (std::size_t i = 0; i < n; ++i) {
            if (!std::isnan(values[i])) {
                code[static_cast<std::size_t>(static_cast<std::int64_t>(values[i]) - first)] = 0;
            }
        }
        for (std::size_t v = 0; v < code.size(); ++v) {
            if (code[v] == 0) {
                code[v] = static_cast<std::int32_t>(distinct.size());
                distinct.push_back(static_cast<double>(first + static_cast<std::int64_t>(v)));
            }
        }
        for (std::size_t i = 0; i < n; ++i) {
            codes[i] = std::isnan(values[i])
                           ? -1
                           : code[static_cast<std::size_t>(static_cast<std::int64_t>(values[i]) - first)];
        }
        return;
    }
    // Bits of a double, turned so that unsigned order is the order of values.
    constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    // One block for both: what the allocator gets back it hands out again for the next column, page for page.
    const std::unique_ptr<Item[]> room(new Item[2 * n]);
    std::size_t n_items = 0;
    for (std::size_t i = 0; i < n; ++i) {
        codes[i] = -1;
        if (!std::isnan(values[i])) {
            const auto bits = std::bit_cast<std::uint64_t>(values[i] + 0.0);  // one zero
            const std::uint64_t key = (bits & sign) != 0 ? ~bits : bits | sign;
            room[n_items++] = {static_cast<std::uint32_t>(key >> 32), static_cast<std::uint32_t>(key),
                               static_cast<std::uint32_t>(i)};
        }
    }
    std::span<Item> items(room.get(), n_items);
    std::span<Item> other(room.get() + n, n_items);
    sort_by_key(items, other);
    const auto is_first = [&](std::size_t k) { return k == 0 || items[k].key() != items[k - 1].key(); };
    std::size_t n_distinct = 0;
    for (std::size_t k = 0; k < items.size(); ++k) {
        n_distinct += is_first(k) ? 1 : 0;
    }
    distinct.reserve(n_distinct);
    for (std::size_t k = 0; k < items.size(); ++k) {
        if (is_first(k)) {
            // Read off the key: the row lies anywhere in memory. Only the sign of a zero is not in it.
            const std::uint64_t key = items[k].key();
            const auto value = std::bit_cast<double>((key & sign) != 0 ? key ^ sign : ~key);
            distinct.push_back(value == 0.0 ? values[items[k].row] : value);
        }
        codes[items[k].row] = static_cast<std::int32_t>(distinct.size()) - 1;
    }
}

}  // namespace certree
