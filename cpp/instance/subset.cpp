#include "instance/subset.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace certree {

void RowSet::sum(const Instance& instance, std::int32_t row) {
    const auto r = static_cast<std::size_t>(row);
    key += instance.row_key[r];
    worst += instance.worst[r];
    if (!instance.balance.empty()) {
        balance += instance.balance[r];
    }
    if (!instance.reference.empty()) {
        reference += instance.reference[r];
    }
    if (!instance.count.empty()) {
        count += instance.count[r];
    }
}

RowSet all_rows(const Instance& instance) {
    RowSet set;
    set.rows.reserve(static_cast<std::size_t>(instance.n_rows));
    for (std::int32_t r = 0; r < instance.n_rows; ++r) {
        set.rows.push_back(r);
        set.sum(instance, r);
    }
    return set;
}

namespace {

std::vector<std::int32_t> all_axes(const Instance& instance) {
    std::vector<std::int32_t> numbers(instance.axes.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

// Whether no more rows of the instance have the first code of an ordered axis than the last one.
bool has_frequent_end(const Axis& axis) {
    std::int64_t at_ends = 0;
    for (const std::int32_t code : axis.codes) {
        at_ends += (code == 0 ? 1 : 0) - (code == axis.n_codes - 1 ? 1 : 0);
    }
    return at_ends <= 0;
}

// The places, among the codes that occur, of the codes of a long axis: a bit per code and a number per word of bits
// stay in a near cache, where a number per code would not.
class Places {
public:
    explicit Places(std::int32_t n_codes)
        : bits_(static_cast<std::size_t>(n_codes) / 64 + 1, 0), before_(bits_.size()) {}

    void add(std::int32_t code) { bits_[word(code)] |= bit(code); }

    // Writes the codes that occur, in order; how many there are. Places can then be asked for.
    std::int32_t list(std::int32_t* codes) {
        std::int32_t n = 0;
        for (std::size_t w = 0; w < bits_.size(); ++w) {
            before_[w] = n;
            for (std::uint64_t rest = bits_[w]; rest != 0; rest &= rest - 1) {
                codes[n++] = static_cast<std::int32_t>(64 * w) + std::countr_zero(rest);
            }
        }
        return n;
    }

    std::int32_t place(std::int32_t code) const {
        return before_[word(code)] + std::popcount(bits_[word(code)] & (bit(code) - 1));
    }

private:
    static std::size_t word(std::int32_t code) { return static_cast<std::size_t>(code) / 64; }
    static std::uint64_t bit(std::int32_t code) { return std::uint64_t{1} << (static_cast<unsigned>(code) % 64); }

    std::vector<std::uint64_t> bits_;
    std::vector<std::int32_t> before_;  // codes that occur before the word
};

}  // namespace

Local::Local(const Instance& instance, const RowSet& set) : Local(instance, set, all_axes(instance)) {}

Local::Local(const Instance& instance, const RowSet& set, const std::vector<std::int32_t>& chosen)
    : n_rows(static_cast<std::int32_t>(set.rows.size())) {
    const std::size_t n = set.rows.size();
    const bool is_whole = n == static_cast<std::size_t>(instance.n_rows);
    std::vector<std::int32_t> rank;
    axes.reserve(chosen.size());
    std::size_t most_tests = 0;
    for (const std::int32_t number : chosen) {
        most_tests += std::min(n, static_cast<std::size_t>(instance.axes[static_cast<std::size_t>(number)].n_codes));
    }
    // Room for all there may be, so that both stay where they are; what is never written to takes no memory.
    code_store_.resize(chosen.size() * n);
    test_code_store_.resize(most_tests);
    std::int32_t* codes = code_store_.data();
    std::int32_t* test_codes = test_code_store_.data();
    const auto keep = [&](LocalAxis& local) {
        local.codes = codes;
        local.test_codes = test_codes;
        codes += n;
        test_codes += local.n_tests;
        axes.push_back(local);
    };
    // The order of an axis is reversed where more rows have the first code than the last one.
    const auto turn = [&](LocalAxis& local) {
        std::int32_t at_ends = 0;
        for (std::size_t i = 0; i < n; ++i) {
            at_ends += (codes[i] == 0 ? 1 : 0) - (codes[i] == local.n_tests ? 1 : 0);
        }
        if (at_ends > 0) {
            local.is_reversed = true;
            for (std::size_t i = 0; i < n; ++i) {
                codes[i] = local.n_tests - codes[i];
            }
            std::reverse(test_codes, test_codes + local.n_tests);
        }
    };
    for (const std::int32_t number : chosen) {
        const Axis& axis = instance.axes[static_cast<std::size_t>(number)];
        LocalAxis local;
        local.axis = number;
        if (axis.n_codes == 2 && !axis.is_categorical) {
            // One test, and no ranks: the rows of the second code are counted.
            std::size_t n_second = 0;
            for (std::size_t i = 0; i < n; ++i) {
                codes[i] = axis.codes[static_cast<std::size_t>(set.rows[i])];
                n_second += static_cast<std::size_t>(codes[i]);
            }
            if (n_second == 0 || n_second == n) {
                continue;
            }
            local.n_tests = 1;
            local.n_codes = 2;
            local.is_reversed = 2 * n_second < n;
            if (local.is_reversed) {
                for (std::size_t i = 0; i < n; ++i) {
                    codes[i] = 1 - codes[i];
                }
            }
            test_codes[0] = 0;
            keep(local);
            continue;
        }
        if (is_whole && !axis.is_categorical && has_frequent_end(axis)) {
            // All codes occur, in the order they have: there is nothing to renumber.
            local.n_tests = axis.n_tests;
            local.n_codes = axis.n_codes;
            local.codes = axis.codes.data();
            axes.push_back(local);
            continue;
        }
        if (axis.n_codes > many_codes && !axis.is_categorical) {
            Places places(axis.n_codes);
            for (std::size_t i = 0; i < n; ++i) {
                codes[i] = axis.codes[static_cast<std::size_t>(set.rows[i])];
                places.add(codes[i]);
            }
            local.n_codes = places.list(test_codes);
            local.n_tests = local.n_codes - 1;  // the last code has none
            if (local.n_tests >= 1) {
                for (std::size_t i = 0; i < n; ++i) {
                    codes[i] = places.place(codes[i]);
                }
                turn(local);
                keep(local);
            }
            continue;
        }
        rank.assign(static_cast<std::size_t>(axis.n_codes), 0);
        for (std::size_t i = 0; i < n; ++i) {
            codes[i] = axis.codes[static_cast<std::size_t>(set.rows[i])];
            rank[static_cast<std::size_t>(codes[i])] = 1;
        }
        std::int32_t n_present = 0;
        for (const std::int32_t present : rank) {
            n_present += present;
        }
        if (n_present < 2) {
            continue;
        }
        std::int32_t next = 0;
        if (axis.is_categorical) {
            // With two categories left the second test is the first one's complement.
            const std::int32_t most = n_present == 2 ? 1 : n_present;
            for (std::int32_t c = 0; c < axis.n_tests; ++c) {
                if (rank[static_cast<std::size_t>(c)] != 0 && next < most) {
                    test_codes[next] = c;
                    rank[static_cast<std::size_t>(c)] = next++;
                } else {
                    rank[static_cast<std::size_t>(c)] = -1;
                }
            }
            for (std::size_t c = 0; c < rank.size(); ++c) {
                if (rank[c] < 0 || c >= static_cast<std::size_t>(axis.n_tests)) {
                    rank[c] = next;
                }
            }
            local.n_tests = next;
            local.n_codes = next + 1;
            // One test over two groups of rows reads the same as an ordered axis.
            local.is_categorical = next > 1;
        } else {
            for (std::size_t c = 0; c < rank.size(); ++c) {
                if (rank[c] != 0) {
                    test_codes[next] = static_cast<std::int32_t>(c);
                    rank[c] = next++;
                }
            }
            local.n_tests = next - 1;  // the last code has none
            local.n_codes = next;
        }
        for (std::size_t i = 0; i < n; ++i) {
            codes[i] = rank[static_cast<std::size_t>(codes[i])];
        }
        if (!local.is_categorical) {
            turn(local);
        }
        keep(local);
    }
    const auto group = [](const LocalAxis& axis) { return axis.is_categorical ? 1 : axis.n_tests > 1 ? 0 : 2; };
    std::stable_sort(axes.begin(), axes.end(),
                     [&](const LocalAxis& x, const LocalAxis& y) { return group(x) < group(y); });
    for (LocalAxis& axis : axes) {
        axis.first_test = n_tests;
        n_tests += axis.n_tests;
        n_step_axes += group(axis) == 0 ? 1 : 0;
        n_single_axes += group(axis) == 2 ? 1 : 0;
    }
}

std::size_t Local::axis_of(std::int32_t test) const {
    const auto after = std::upper_bound(axes.begin(), axes.end(), test, [](std::int32_t value, const LocalAxis& axis) {
        return value < axis.first_test;
    });
    return static_cast<std::size_t>(after - axes.begin()) - 1;
}

namespace {

// The rows are dealt without branches, which no processor could foresee. Only the smaller side is summed: the rest of
// the whole is the other's.
template <class Holds>
Split deal_rows(const Instance& instance, const RowSet& set, Holds holds) {
    const std::size_t n = set.rows.size();
    std::vector<std::int32_t> sides[2] = {std::vector<std::int32_t>(n), std::vector<std::int32_t>(n)};
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i) {
        sides[0][n_left] = set.rows[i];
        sides[1][i - n_left] = set.rows[i];
        n_left += holds(i) ? 1 : 0;
    }
    sides[0].resize(n_left);
    sides[1].resize(n - n_left);
    Split split;
    RowSet& small = 2 * n_left <= n ? split.left : split.right;
    RowSet& large = 2 * n_left <= n ? split.right : split.left;
    small.rows = std::move(sides[2 * n_left <= n ? 0 : 1]);
    large.rows = std::move(sides[2 * n_left <= n ? 1 : 0]);
    for (const std::int32_t row : small.rows) {
        small.sum(instance, row);
    }
    large.key = set.key - small.key;
    large.worst = set.worst - small.worst;
    large.balance = set.balance - small.balance;
    large.reference = set.reference - small.reference;
    large.count = set.count - small.count;
    return split;
}

}  // namespace

Split split_rows(const Instance& instance, const RowSet& set, const LocalAxis& axis, std::int32_t test) {
    return deal_rows(instance, set, [&](std::size_t i) { return axis.holds(axis.codes[i], test); });
}

Split split_rows(const Instance& instance, const RowSet& set, std::int32_t axis, std::int32_t code) {
    const Axis& full = instance.axes[static_cast<std::size_t>(axis)];
    return deal_rows(instance, set, [&](std::size_t i) {
        const std::int32_t c = full.codes[static_cast<std::size_t>(set.rows[i])];
        return full.is_categorical ? c == code : c <= code;
    });
}

std::size_t count_nodes(const Node& node) {
    return node.is_leaf() ? 1 : 1 + count_nodes(*node.left) + count_nodes(*node.right);
}

NodePtr make_leaf(std::int32_t label) {
    auto node = std::make_shared<Node>();
    node->label = label;
    return node;
}

NodePtr make_split(std::int32_t axis, std::int32_t code, NodePtr left, NodePtr right) {
    auto node = std::make_shared<Node>();
    node->axis = axis;
    node->code = code;
    node->left = std::move(left);
    node->right = std::move(right);
    return node;
}

}  // namespace certree
