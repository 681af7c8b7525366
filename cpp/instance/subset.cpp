#include "instance/subset.hpp"

#include <algorithm>
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

}  // namespace

Local::Local(const Instance& instance, const RowSet& set) : Local(instance, set, all_axes(instance)) {}

Local::Local(const Instance& instance, const RowSet& set, const std::vector<std::int32_t>& chosen)
    : n_rows(static_cast<std::int32_t>(set.rows.size())) {
    const std::size_t n = set.rows.size();
    const bool is_whole = n == static_cast<std::size_t>(instance.n_rows);
    std::vector<std::int32_t> rank;
    struct Draft {
        LocalAxis axis;
        std::vector<std::int32_t> test_code;
        std::size_t store = 0;
    };
    std::vector<Draft> drafts;
    drafts.reserve(chosen.size());
    code_store_.resize(chosen.size() * n);
    std::size_t used = 0;
    for (const std::int32_t number : chosen) {
        const Axis& axis = instance.axes[static_cast<std::size_t>(number)];
        std::int32_t* codes = code_store_.data() + used;
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
            Draft draft;
            draft.axis.axis = number;
            draft.axis.n_tests = 1;
            draft.axis.n_codes = 2;
            draft.axis.is_reversed = 2 * n_second < n;
            if (draft.axis.is_reversed) {
                for (std::size_t i = 0; i < n; ++i) {
                    codes[i] = 1 - codes[i];
                }
            }
            draft.test_code = {0};
            draft.store = used;
            used += n;
            drafts.push_back(std::move(draft));
            continue;
        }
        if (is_whole && !axis.is_categorical && has_frequent_end(axis)) {
            // All codes occur, in the order they have: there is nothing to renumber.
            Draft draft;
            draft.axis.axis = number;
            draft.axis.n_tests = axis.n_tests;
            draft.axis.n_codes = axis.n_codes;
            draft.axis.codes = axis.codes.data();
            drafts.push_back(std::move(draft));
            continue;
        }
        rank.assign(static_cast<std::size_t>(axis.n_codes), 0);
        for (std::size_t i = 0; i < n; ++i) {
            codes[i] = axis.codes[static_cast<std::size_t>(set.rows[i])];
            rank[static_cast<std::size_t>(codes[i])] = 1;
        }
        Draft draft;
        std::int32_t n_present = 0;
        for (const std::int32_t present : rank) {
            n_present += present;
        }
        if (n_present < 2) {
            continue;
        }
        draft.axis.axis = number;
        draft.axis.is_categorical = axis.is_categorical;
        draft.test_code.reserve(static_cast<std::size_t>(n_present));
        std::int32_t next = 0;
        if (axis.is_categorical) {
            // With two categories left the second test is the first one's complement.
            const std::int32_t most = n_present == 2 ? 1 : n_present;
            for (std::int32_t c = 0; c < axis.n_tests; ++c) {
                if (rank[static_cast<std::size_t>(c)] != 0 && next < most) {
                    rank[static_cast<std::size_t>(c)] = next++;
                    draft.test_code.push_back(c);
                } else {
                    rank[static_cast<std::size_t>(c)] = -1;
                }
            }
            for (std::size_t c = 0; c < rank.size(); ++c) {
                if (rank[c] < 0 || c >= static_cast<std::size_t>(axis.n_tests)) {
                    rank[c] = next;
                }
            }
            draft.axis.n_tests = next;
            draft.axis.n_codes = next + 1;
            // One test over two groups of rows reads the same as an ordered axis.
            draft.axis.is_categorical = next > 1;
        } else {
            for (std::size_t c = 0; c < rank.size(); ++c) {
                if (rank[c] != 0) {
                    rank[c] = next++;
                    draft.test_code.push_back(static_cast<std::int32_t>(c));
                }
            }
            draft.test_code.pop_back();
            draft.axis.n_tests = next - 1;
            draft.axis.n_codes = next;
        }
        std::int32_t at_ends = 0;
        for (std::size_t i = 0; i < n; ++i) {
            codes[i] = rank[static_cast<std::size_t>(codes[i])];
            at_ends += (codes[i] == 0 ? 1 : 0) - (codes[i] == draft.axis.n_tests ? 1 : 0);
        }
        if (at_ends > 0 && !draft.axis.is_categorical) {
            draft.axis.is_reversed = true;
            for (std::size_t i = 0; i < n; ++i) {
                codes[i] = draft.axis.n_tests - codes[i];
            }
            std::reverse(draft.test_code.begin(), draft.test_code.end());
        }
        draft.store = used;
        used += n;
        drafts.push_back(std::move(draft));
    }
    const auto group = [](const Draft& draft) {
        return draft.axis.is_categorical ? 1 : draft.axis.n_tests > 1 ? 0 : 2;
    };
    std::stable_sort(drafts.begin(), drafts.end(), [&](const Draft& x, const Draft& y) { return group(x) < group(y); });
    axes.reserve(drafts.size());
    std::size_t n_stored = 0;
    for (const Draft& draft : drafts) {
        n_stored += draft.test_code.size();
    }
    test_code_store_.reserve(n_stored);  // so that it stays where it is
    for (Draft& draft : drafts) {
        if (draft.axis.codes == nullptr) {
            draft.axis.codes = code_store_.data() + draft.store;
            draft.axis.test_codes = test_code_store_.data() + test_code_store_.size();
            test_code_store_.insert(test_code_store_.end(), draft.test_code.begin(), draft.test_code.end());
        }
        draft.axis.first_test = n_tests;
        n_tests += draft.axis.n_tests;
        n_step_axes += group(draft) == 0 ? 1 : 0;
        n_single_axes += group(draft) == 2 ? 1 : 0;
        axes.push_back(draft.axis);
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
