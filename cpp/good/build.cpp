#include "good/build.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <unordered_map>
#include <utility>

#include "bounds.hpp"
#include "good/bit_sums.hpp"
#include "good/column_sets.hpp"
#include "good/leaf_numbers.hpp"
#include "good/row_sums.hpp"
#include "good/sides.hpp"

namespace certree::good {

namespace {

constexpr std::int32_t none = -1;

// The identity of a set of rows: a sum modulo 2^64 of one random number per row, and 32 bits of another above the
// number of rows.
struct RowsKey {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    friend auto operator<=>(const RowsKey&, const RowsKey&) = default;
};

struct KeyHash {
    std::size_t operator()(const RowsKey& key) const { return static_cast<std::size_t>(key.low); }
};

// A side of a test at a set of rows.
struct Side {
    RowsKey key;
    Amount worst = 0;
    Amount leaf = unreachable;       // `unreachable` where it would miss a minimum
    Amount lone_leaf = unreachable;  // what it costs all the same
    std::int32_t label = 0;
    std::int64_t n_rows = 0;
    std::size_t sums = 0;  // where they stand among those of the look at hand
};

// A node that may have splits.
struct Draft {
    Amount budget = 0;
    Amount split = 0;  // what its trees that split cost at least
    Amount worst = 0;
    Amount leaf = unreachable;
    std::int32_t label = 0;
    // How to get its rows: those of another node on one side of a test.
    std::int32_t parent = none;
    std::int32_t axis = none;
    std::int32_t code = 0;
    bool is_left = true;
    bool is_looked_at = false;
    std::int32_t number = none;  // in the graph
    std::int64_t first_edge = 0;
    std::int64_t end_edge = 0;
    // Of a node with one split at most: the tests that may keep its budget, where its parent knows them.
    bool has_stumps = false;
    std::size_t first_stump = 0;
    std::size_t end_stump = 0;
};

// Sides are drafts by their number, or leaves by ~number.
struct Edge {
    std::int32_t axis;
    std::int32_t code;
    std::int32_t left;
    std::int32_t right;
    std::int32_t columns;
    std::int32_t ways;
};

class Builder {
public:
    Builder(const Instance& instance, const Settings& settings, const Limits& limits, const Control& control,
            const Wish& wish, RootTestFinder& finder, Amount budget, int depth)
        : instance_(instance),
          settings_(settings),
          limits_(limits),
          control_(control),
          wish_(wish),
          finder_(finder),
          tests_(instance, wish.column_of_axis, wish.n_columns),
          n_labels_(static_cast<std::size_t>(instance.n_labels)),
          has_minimum_(settings.has_leaf_minimum()),
          sums_(instance, has_minimum_),
          sweep_(sums_),
          levels_(static_cast<std::size_t>(depth) + 1) {
        if (std::all_of(instance.axes.begin(), instance.axes.end(),
                        [](const Axis& axis) { return axis.n_codes == 2; })) {
            bits_.emplace(sums_, choose_kernels(!control.is_off(no_simd)));
        }
        Draft root;
        root.budget = budget;
        root.split = bounds::split(settings.penalty);
        levels_.back().push_back(0);
        drafts_.push_back(root);
    }

    Found run() {
        Found found;
        const RowSet all = all_rows(instance_);
        Sums of_all(sums_.width(), 0);
        sums_.add(all.rows, of_all.data());
        const Side whole = side_of(of_all.data());
        if (bits_) {
            sums_of_drafts_ = of_all;
        }
        drafts_[0].worst = whole.worst;
        drafts_[0].leaf = whole.lone_leaf;  // a lone leaf is always allowed
        drafts_[0].label = whole.label;
        if (!work_until(Control::Clock::now() + wish_.brief, found)) {
            wish_.carry_on([&] { work_until(Control::Clock::time_point::max(), found); });
        }
        return found;
    }

private:
    Amount penalty() const { return settings_.penalty; }

    // False: the time is over, and there is work left. Where nobody carries on there is no such time.
    bool work_until(Control::Clock::time_point end, Found& found) {
        for (; !levels_.empty(); levels_.pop_back(), next_in_level_ = 0) {
            // Nodes of this depth are known by now: those looked at here only add to smaller depths.
            const std::size_t depth = levels_.size() - 1;
            const std::vector<std::int32_t>& level = levels_.back();
            for (; next_in_level_ < level.size(); ++next_in_level_) {
                if (wish_.carry_on && Control::Clock::now() >= end) {
                    return false;
                }
                const std::int32_t number = level[next_in_level_];
                is_stopped_ = is_stopped_ || control_.should_stop() || is_full(found);
                if (!is_stopped_ && depth > 0) {
                    is_stopped_ = !look_at(number, static_cast<int>(depth));
                    found.n_looked_at += is_stopped_ ? 0 : 1;
                    report(found.n_looked_at);
                }
                order_of_nodes_.push_back(number);
            }
        }
        found.is_complete = !is_stopped_;
        found.bytes = bytes();
        flatten(order_of_nodes_, found);
        return true;
    }

    void report(std::int64_t n_looked_at) const {
        if (wish_.progress != nullptr) {
            wish_.progress->n_known.store(static_cast<std::int64_t>(drafts_.size()), std::memory_order_relaxed);
            wish_.progress->n_looked_at.store(n_looked_at, std::memory_order_relaxed);
        }
    }

    std::size_t bytes() const {
        return drafts_.capacity() * (sizeof(Draft) + 64) + edges_.capacity() * sizeof(Edge) + leaves_.bytes() +
               stumps_.capacity() * sizeof(Stump) + sums_of_drafts_.capacity() * sizeof(Channel);
    }
    // Half of what may be used: the graph is copied when it is done.
    bool is_full(Found& found) const {
        if (limits_.memory_bytes > 0 &&
            2 * bytes() + instance_.bytes() > static_cast<std::size_t>(limits_.memory_bytes)) {
            found.is_out_of_memory = true;
        }
        return found.is_out_of_memory;
    }

    using Channel = RowSums::Channel;
    using Sums = RowSums::Sums;
    static Amount amount(Channel channel) { return static_cast<Amount>(channel); }

    bool is_enough(const Channel* sums) const {
        if (!has_minimum_) {
            return true;
        }
        const Channel* counts = sums + sums_.counts_at();
        return amount(counts[0]) >= settings_.min_samples_leaf && amount(counts[1]) >= settings_.min_weight_leaf &&
               std::all_of(counts + 2, counts + 2 + instance_.n_arms,
                           [&](Channel n) { return amount(n) >= settings_.min_samples_arm; });
    }
    Side side_of(const Channel* sums) const {
        Side side;
        side.key = {sums[0], sums[1]};
        side.n_rows = RowSums::n_rows(sums);
        side.worst = sums_.worst(sums);
        // The first of the best labels. What they save is not negative.
        const Channel* saved = sums + RowSums::saved_at;
        side.label = static_cast<std::int32_t>(std::max_element(saved, saved + n_labels_) - saved);
        side.lone_leaf = side.worst - amount(saved[side.label]) + penalty();
        side.leaf = is_enough(sums) ? side.lone_leaf : unreachable;
        return side;
    }

    // The rows of a draft's parent. Those of the last parent asked for are kept: its children stand side by side.
    const RowSet& rows_of_parent(const Draft& draft) {
        if (parent_ != draft.parent) {
            parent_rows_ = rows_of(draft.parent);
            parent_ = draft.parent;
        }
        return parent_rows_;
    }
    RowSet rows_of(std::int32_t number) {
        const Draft& draft = drafts_[static_cast<std::size_t>(number)];
        if (draft.parent == none) {
            return all_rows(instance_);
        }
        rows_of_parent(draft);
        Split split = split_rows(instance_, parent_rows_, draft.axis, draft.code);
        return std::move(draft.is_left ? split.left : split.right);
    }

    bool look_at(std::int32_t number, int depth);
    const Channel* sums_of(std::int32_t number) const {
        return sums_of_drafts_.data() + static_cast<std::size_t>(number) * sums_.width();
    }
    void place_bits(std::int32_t number);
    const Line& line_of(std::int32_t number);
    RootTests find_stumps(const RowSet& set, Amount budget);
    void note_stumps(Draft& draft, const Side& side, const Draft& made);
    void sum_by_code(std::int32_t number, int depth, std::int32_t axis);
    void join(std::int32_t number, int depth, const RootTests& found);
    std::int32_t draft_number(const Side& side, int depth, Amount budget, Amount split, const Draft& made);
    void flatten(const std::vector<std::int32_t>& order, Found& found);

    const Instance& instance_;
    const Settings& settings_;
    const Limits& limits_;
    const Control& control_;
    const Wish& wish_;
    RootTestFinder& finder_;
    ColumnSets tests_;
    std::size_t n_labels_;
    bool has_minimum_;
    RowSums sums_;
    Sweep sweep_;
    // Of the node looked at, where every axis has two codes, and the sums of all drafts.
    std::optional<BitSums> bits_;
    Sums sums_of_drafts_;
    std::vector<Draft> drafts_;
    std::vector<std::vector<std::int32_t>> levels_;  // drafts by depth, up to the one that is looked at
    std::vector<std::unordered_map<RowsKey, std::int32_t, KeyHash>> by_key_{levels_.size()};
    const bool has_tests_ = levels_.size() > 1;
    std::size_t next_in_level_ = 0;
    std::vector<std::int32_t> order_of_nodes_;
    bool is_stopped_ = false;
    LeafNumbers leaves_;
    std::vector<Edge> edges_;
    std::vector<Stump> stumps_;
    std::int32_t parent_ = none;
    RowSet parent_rows_;
    std::optional<RowSet> rows_;  // of the node looked at, where they were needed
    // What the two sides of a test add up to, of the one asked for last: the set that it parts, axis, code.
    struct {
        std::int32_t parent = none;
        std::int32_t axis = none;
        std::int32_t code = 0;
        Line whole;
        Line left;
        Line right;
    } lines_;

    // Of the look at hand.
    Sums by_code_;
    Sums sums_of_sides_;
    std::vector<Amount> saved_;
    std::vector<std::int32_t> next_;
    struct Parted {
        RowsKey key;  // the lesser one of the two sides'
        std::int32_t axis;
        std::int32_t code;
        std::int32_t next;  // the next code that occurs: on an ordered axis, or where it is the only other category
        Side left;
        Side right;
        Amount split_left;
        Amount split_right;
    };
    struct Class {
        std::size_t from, to;
    };
    std::vector<Parted> parted_;
    std::vector<std::int32_t> order_;
    std::vector<Class> classes_;
    bool comes_before(std::int32_t one, std::int32_t two) const {
        const Parted& x = parted_[static_cast<std::size_t>(one)];
        const Parted& y = parted_[static_cast<std::size_t>(two)];
        return std::pair(x.axis, x.code) < std::pair(y.axis, y.code);
    }
};

bool Builder::look_at(std::int32_t number, int depth) {
    const Draft& draft = drafts_[static_cast<std::size_t>(number)];
    rows_.reset();
    RootTests found;
    if (depth == 2 && draft.parent == 0 && finder_.has_seconds()) {
        found = finder_.find_seconds(draft.axis, draft.code, draft.is_left, draft.worst, draft.budget);
    } else if (depth > 1) {
        rows_ = rows_of(number);
        found = finder_.find(*rows_, depth, draft.budget);
    } else if (draft.has_stumps) {
        for (std::size_t i = draft.first_stump; i < draft.end_stump; ++i) {
            found.tests.push_back({stumps_[i].axis, stumps_[i].code, 0, 0});
        }
    } else if (bits_ && finder_.has_lines()) {
        found = finder_.find_stumps(line_of(number), draft.worst, draft.budget);
    } else {
        rows_ = rows_of(number);
        found = find_stumps(*rows_, draft.budget);
    }
    if (!found.is_complete) {
        return false;
    }
    if (bits_) {
        place_bits(number);
    }
    join(number, depth, found);
    drafts_[static_cast<std::size_t>(number)].is_looked_at = true;
    return true;
}

void Builder::place_bits(std::int32_t number) {
    bits_->start();
    for (const Draft* draft = &drafts_[static_cast<std::size_t>(number)]; draft->parent != none;
         draft = &drafts_[static_cast<std::size_t>(draft->parent)]) {
        bits_->keep(draft->axis, draft->code, draft->is_left);
    }
    bits_->close(sums_of(number));
}

// Where the sides of root tests are known, only the rows of one side of a test of theirs are added up, the smaller one:
// what the other side adds up to is the rest, and its node is often the next one.
const Line& Builder::line_of(std::int32_t number) {
    const Draft& draft = drafts_[static_cast<std::size_t>(number)];
    // Such a side itself hardly ever comes here, as its tests are known.
    if (!finder_.has_seconds() || draft.parent == 0) {
        place_bits(number);
        finder_.add_line(bits_->rows(), lines_.whole);
        return lines_.whole;
    }
    if (lines_.parent != draft.parent || lines_.axis != draft.axis || lines_.code != draft.code) {
        const Draft& parent = drafts_[static_cast<std::size_t>(draft.parent)];
        finder_.find_line(parent.axis, parent.code, parent.is_left, lines_.whole);
        const bool is_smaller = 2 * RowSums::n_rows(sums_of(number)) <= RowSums::n_rows(sums_of(draft.parent));
        const bool is_left = draft.is_left == is_smaller;
        Line& added = is_left ? lines_.left : lines_.right;
        place_bits(draft.parent);
        finder_.add_line(bits_->side(draft.axis, draft.code, is_left), added);
        (is_left ? lines_.right : lines_.left).set_rest(lines_.whole, added);
        lines_.parent = draft.parent;
        lines_.axis = draft.axis;
        lines_.code = draft.code;
    }
    return draft.is_left ? lines_.left : lines_.right;
}

// Every test of every axis, in one pass over the rows of each.
RootTests Builder::find_stumps(const RowSet& set, Amount budget) {
    RootTests found;
    const std::size_t n = set.rows.size();
    const bool is_signed = instance_.n_labels == 2;
    const std::size_t width = is_signed ? 1 : n_labels_;
    std::vector<Amount> all(width, 0);
    const auto add = [&](std::int32_t row, Amount* sums) {
        const auto r = static_cast<std::size_t>(row);
        for (auto g = static_cast<std::size_t>(instance_.gain_start[r]);
             g < static_cast<std::size_t>(instance_.gain_start[r + 1]); ++g) {
            sums[instance_.gains[g].label] += instance_.gains[g].amount;
        }
    };
    if (!is_signed) {
        for (const std::int32_t row : set.rows) {
            add(row, all.data());
        }
    }
    std::vector<Amount> left(width);
    std::vector<std::uint8_t> occurs;
    for (std::size_t a = 0; a < instance_.axes.size(); ++a) {
        const Axis& axis = instance_.axes[a];
        const auto n_codes = static_cast<std::size_t>(axis.n_codes);
        saved_.assign(n_codes * width, 0);
        occurs.assign(n_codes, 0);
        if (is_signed) {
            for (std::size_t i = 0; i < n; ++i) {
                const auto r = static_cast<std::size_t>(set.rows[i]);
                const auto c = static_cast<std::size_t>(axis.codes[r]);
                saved_[c] += instance_.balance[r];
                occurs[c] = 1;
            }
        } else {
            for (std::size_t i = 0; i < n; ++i) {
                const auto c = static_cast<std::size_t>(axis.codes[static_cast<std::size_t>(set.rows[i])]);
                add(set.rows[i], saved_.data() + c * width);
                occurs[c] = 1;
            }
        }
        const auto last =
            static_cast<std::size_t>(occurs.rend() - std::find(occurs.rbegin(), occurs.rend(), std::uint8_t{1}) - 1);
        const bool is_alone = std::find(occurs.begin(), occurs.end(), std::uint8_t{1}) - occurs.begin() ==
                              static_cast<std::ptrdiff_t>(last);
        if (is_alone) {
            continue;
        }
        std::fill(left.begin(), left.end(), 0);
        const std::size_t end = axis.is_categorical ? static_cast<std::size_t>(axis.n_tests) : last;
        for (std::size_t c = 0; c < end; ++c) {
            if (occurs[c] == 0) {
                continue;
            }
            Amount value = set.worst + 2 * penalty();
            if (is_signed) {
                left[0] = saved_[c] + (axis.is_categorical ? 0 : left[0]);
                // (D − |x|) / 2 + (D' − |y − x|) / 2
                const Amount x = left[0];
                const Amount y = set.balance;
                value = (set.worst - std::abs(x) - std::abs(y - x)) / 2 + 2 * penalty();
            } else {
                Amount most_left = 0;
                Amount most_right = 0;
                for (std::size_t k = 0; k < width; ++k) {
                    left[k] = saved_[c * width + k] + (axis.is_categorical ? 0 : left[k]);
                    most_left = std::max(most_left, left[k]);
                    most_right = std::max(most_right, all[k] - left[k]);
                }
                value -= most_left + most_right;
            }
            if (value <= budget) {
                found.tests.push_back({static_cast<std::int32_t>(a), static_cast<std::int32_t>(c), 0, 0});
            }
        }
    }
    return found;
}

std::int32_t Builder::draft_number(const Side& side, int depth, Amount budget, Amount split, const Draft& made) {
    const auto level = static_cast<std::size_t>(depth);
    const auto [place, is_new] = by_key_[level].try_emplace(side.key, static_cast<std::int32_t>(drafts_.size()));
    if (is_new) {
        drafts_.push_back(made);
        if (bits_) {
            const Channel* sums = sums_of_sides_.data() + side.sums;
            sums_of_drafts_.insert(sums_of_drafts_.end(), sums, sums + sums_.width());
        }
        drafts_.back().budget = -unreachable;
        drafts_.back().worst = side.worst;
        drafts_.back().leaf = side.leaf;
        drafts_.back().label = side.label;
        levels_[level].push_back(place->second);
    }
    Draft& known = drafts_[static_cast<std::size_t>(place->second)];
    known.split = std::max(known.split, split);
    if (budget > known.budget) {
        known.budget = budget;
        if (depth == 1) {
            note_stumps(known, side, made);
        }
    }
    return place->second;
}

// What the look at the parent knows of the node's tests; it is noted anew where another parent leaves a larger budget.
void Builder::note_stumps(Draft& draft, const Side& side, const Draft& made) {
    draft.has_stumps = finder_.has_pairs();
    if (draft.has_stumps) {
        draft.first_stump = stumps_.size();
        finder_.add_stumps(made.axis, made.code, made.is_left, side.worst, draft.budget, stumps_);
        draft.end_stump = stumps_.size();
    }
}

// Nodes with one split at most stand side by side with those of the neighbouring thresholds of their parent.
void Builder::sum_by_code(std::int32_t number, int depth, std::int32_t axis) {
    if (bits_) {
        bits_->fill(axis, by_code_);
        return;
    }
    const Draft& draft = drafts_[static_cast<std::size_t>(number)];
    const bool is_swept =
        depth == 1 && draft.parent != none && !instance_.axes[static_cast<std::size_t>(draft.axis)].is_categorical;
    if (is_swept) {
        sweep_.move_to(draft.parent, rows_of_parent(draft), draft.axis);
        if (sweep_.fill(draft.code, draft.is_left, axis, by_code_)) {
            return;
        }
    }
    if (!rows_) {
        rows_ = rows_of(number);
    }
    const Axis& summed = instance_.axes[static_cast<std::size_t>(axis)];
    by_code_.assign(static_cast<std::size_t>(summed.n_codes) * sums_.width(), 0);
    sums_.add_by_code(summed, rows_->rows.data(), rows_->rows.size(), by_code_);
}

// From tests and bounds of their sides to edges.
void Builder::join(std::int32_t number, int depth, const RootTests& found) {
    const Amount budget = drafts_[static_cast<std::size_t>(number)].budget;
    const std::size_t width = sums_.width();
    Sums all;  // of the node, from the first axis that is summed
    Sums right(width);
    parted_.clear();
    sums_of_sides_.clear();
    bool is_one_axis = true;
    for (std::size_t i = 0; i < found.tests.size();) {
        const std::int32_t number_of_axis = found.tests[i].axis;
        const Axis& axis = instance_.axes[static_cast<std::size_t>(number_of_axis)];
        const auto n_codes = static_cast<std::size_t>(axis.n_codes);
        is_one_axis = is_one_axis && number_of_axis == found.tests[0].axis;
        sum_by_code(number, depth, number_of_axis);
        if (all.empty()) {
            all.assign(width, 0);
            for (std::size_t c = 0; c < n_codes; ++c) {
                for (std::size_t k = 0; k < width; ++k) {
                    all[k] += by_code_[c * width + k];
                }
            }
        }
        // The next code that occurs, or none; a code that does not occur points to itself.
        next_.assign(n_codes, axis.n_codes);
        std::int32_t seen = axis.n_codes;
        std::int32_t n_seen = 0;
        for (std::size_t c = n_codes; c-- > 0;) {
            const bool occurs = RowSums::n_rows(by_code_.data() + c * width) > 0;
            next_[c] = occurs ? seen : static_cast<std::int32_t>(c);
            seen = occurs ? static_cast<std::int32_t>(c) : seen;
            n_seen += occurs ? 1 : 0;
        }
        if (!axis.is_categorical) {
            for (std::size_t c = 1; c < n_codes; ++c) {
                for (std::size_t k = 0; k < width; ++k) {
                    by_code_[c * width + k] += by_code_[(c - 1) * width + k];
                }
            }
        }
        for (; i < found.tests.size() && found.tests[i].axis == number_of_axis; ++i) {
            const SidesOfTest& test = found.tests[i];
            const auto c = static_cast<std::size_t>(test.code);
            // A threshold at a code that does not occur parts the rows as the one before does, and the second of two
            // categories as the first.
            const bool is_second = axis.is_categorical && n_seen == 2 && test.code != seen;
            if (next_[c] == test.code || (next_[c] == axis.n_codes && !axis.is_categorical) || n_seen < 2 ||
                is_second) {
                continue;
            }
            const Channel* left = by_code_.data() + c * width;
            for (std::size_t k = 0; k < width; ++k) {
                right[k] = all[k] - left[k];
            }
            Parted parted;
            parted.axis = test.axis;
            parted.code = test.code;
            parted.next = axis.is_categorical && n_seen > 2 ? axis.n_codes : next_[c];
            parted.left = side_of(left);
            parted.right = side_of(right.data());
            if (bits_) {
                parted.left.sums = sums_of_sides_.size();
                sums_of_sides_.insert(sums_of_sides_.end(), left, left + width);
                parted.right.sums = sums_of_sides_.size();
                sums_of_sides_.insert(sums_of_sides_.end(), right.begin(), right.end());
            }
            parted.key = std::min(parted.left.key, parted.right.key);
            parted.split_left = std::max(bounds::split(penalty()), found.split_cost(test.left, parted.left.worst));
            parted.split_right = std::max(bounds::split(penalty()), found.split_cost(test.right, parted.right.worst));
            parted_.push_back(parted);
        }
    }
    // Tests that part the rows in the same way stand side by side, the first of the caller's tests first. Two tests of
    // one axis never do.
    order_.resize(parted_.size());
    std::iota(order_.begin(), order_.end(), 0);
    if (!is_one_axis) {
        std::sort(order_.begin(), order_.end(), [&](std::int32_t one, std::int32_t two) {
            const RowsKey& x = parted_[static_cast<std::size_t>(one)].key;
            const RowsKey& y = parted_[static_cast<std::size_t>(two)].key;
            return x != y ? x < y : comes_before(one, two);
        });
    }
    const auto at = [&](std::size_t k) -> const Parted& { return parted_[static_cast<std::size_t>(order_[k])]; };
    classes_.clear();
    for (std::size_t from = 0; from < order_.size();) {
        std::size_t to = from + 1;
        while (to < order_.size() && at(to).key == at(from).key) {
            ++to;
        }
        classes_.push_back({from, to});
        from = to;
    }
    // In the order of axes and codes, so that the graph does not depend on keys.
    std::sort(classes_.begin(), classes_.end(),
              [&](const Class& one, const Class& two) { return comes_before(order_[one.from], order_[two.from]); });
    const auto first_edge = static_cast<std::int64_t>(edges_.size());
    for (const auto& [from, to] : classes_) {
        const Parted& test = at(from);
        Amount split_left = test.split_left;
        Amount split_right = test.split_right;
        for (std::size_t k = from + 1; k < to; ++k) {
            const bool is_mirrored = at(k).left.key != test.left.key;
            split_left = std::max(split_left, is_mirrored ? at(k).split_right : at(k).split_left);
            split_right = std::max(split_right, is_mirrored ? at(k).split_left : at(k).split_right);
        }
        const Amount lower_left = std::min(test.left.leaf, split_left);
        const Amount lower_right = std::min(test.right.leaf, split_right);
        if (lower_left >= unreachable || lower_right >= unreachable || lower_left + lower_right > budget) {
            continue;
        }
        const auto child = [&](const Side& side, Amount split, Amount room,
                               bool is_left) -> std::optional<std::int32_t> {
            const int deepest = bounds::deepest_below(room + 1, depth - 1, penalty());
            if (deepest == 0 || split > room || side.n_rows < 2) {
                return side.leaf <= room ? std::optional(~leaves_.number({side.leaf, side.label})) : std::nullopt;
            }
            Draft made;
            made.parent = number;
            made.axis = test.axis;
            made.code = test.code;
            made.is_left = is_left;
            return draft_number(side, deepest, room, split, made);
        };
        const std::optional<std::int32_t> l = child(test.left, split_left, budget - lower_right, true);
        const std::optional<std::int32_t> r = l ? child(test.right, split_right, budget - lower_left, false) : l;
        if (!l || !r || (*l < 0 && *r < 0 && !wish_.has_idle && test.left.label == test.right.label)) {
            continue;
        }
        ColumnSets::Class ways = tests_.begin();
        for (std::size_t k = from; k < to; ++k) {
            tests_.add(at(k).axis, at(k).code, at(k).next, ways);
        }
        const Axis& axis = instance_.axes[static_cast<std::size_t>(test.axis)];
        edges_.push_back(
            {axis.original_axis, axis.original_code(test.code), *l, *r, tests_.number(ways), ways.n_tests});
    }
    drafts_[static_cast<std::size_t>(number)].first_edge = first_edge;
    drafts_[static_cast<std::size_t>(number)].end_edge = static_cast<std::int64_t>(edges_.size());
}

void Builder::flatten(const std::vector<std::int32_t>& order, Found& found) {
    Graph& graph = found.graph;
    graph.budget = drafts_[0].budget;
    graph.has_idle = wish_.has_idle;
    std::vector<Open> open;
    for (const std::int32_t number : order) {
        Draft& draft = drafts_[static_cast<std::size_t>(number)];
        draft.number = static_cast<std::int32_t>(graph.n_nodes());
        graph.add_node(draft.leaf, draft.label);
        if (!draft.is_looked_at && has_tests_) {
            open.push_back({draft.number, draft.split});
        }
        for (auto e = draft.first_edge; e < draft.end_edge; ++e) {
            const Edge& edge = edges_[static_cast<std::size_t>(e)];
            graph.add_edge(edge.axis, edge.code, edge.left, edge.right, edge.columns, edge.ways);
        }
        graph.first_edge.push_back(static_cast<std::int64_t>(graph.n_edges()));
    }
    const auto first_leaf = static_cast<std::int32_t>(graph.n_nodes());
    for (const LeafKey& leaf : leaves_.leaves()) {
        graph.add_node(leaf.value, leaf.label);
        graph.first_edge.push_back(static_cast<std::int64_t>(graph.n_edges()));
    }
    for (std::vector<std::int32_t>* side : {&graph.left, &graph.right}) {
        for (std::int32_t& node : *side) {
            node = node < 0 ? first_leaf + ~node : drafts_[static_cast<std::size_t>(node)].number;
        }
    }
    found.missing = prune(graph, open);
    found.column_sets = tests_.sets();
    found.n_words = tests_.n_words();
}

}  // namespace

Found find_good_trees(const Instance& instance, const Settings& settings, const Limits& limits, const Control& control,
                      const Wish& wish) {
    // The tolerance is met by a tree that meets it up to the rounding of the numbers that state it.
    const auto tolerance_at = [&](Amount optimum) {
        const auto whole = static_cast<double>(optimum + instance.offset);
        return static_cast<Amount>(
            std::floor((instance.to_penalty(wish.tolerance) + wish.share * whole) * (1 + 1e-12)));
    };
    const int deepest = std::max(0, instance.n_rows - 1);
    int depth = settings.max_depth < 0 ? deepest : std::min(settings.max_depth, deepest);
    if (settings.max_leaves > 0) {
        depth = std::min(depth, settings.max_leaves - 1);
    }
    if (instance.n_tests == 0) {
        depth = 0;
    }
    const RowSet all = all_rows(instance);
    RootTestFinder finder(instance, settings, limits, control);
    // Where a closed form has the optimum but for rounding, the graph itself has it exactly; else a search comes first.
    std::optional<RootTestFinder::Range> range;
    if (settings.max_leaves == 0 && !settings.has_leaf_minimum()) {
        range = finder.bound(all, depth);
    }
    Found found;
    if (range) {
        const Amount budget = range->upper + tolerance_at(range->upper);
        found = Builder(instance, settings, limits, control, wish, finder, budget, depth).run();
        found.optimum = found.is_complete ? Optima(found.graph).any[0] : range->upper;
        found.lower = found.is_complete ? found.optimum : range->lower;
        found.tolerance = tolerance_at(found.lower);
        found.graph.budget = found.lower + found.tolerance;
        prune(found.graph);
        return found;
    }
    Search search(instance, settings, limits, control);
    const Result best = search.run();
    // Known from below where the search was stopped: what is within the tolerance of that is good for certain.
    const Amount tolerance = tolerance_at(best.lower);
    const Amount budget = best.lower + tolerance;
    depth = bounds::deepest_below(budget + 1, depth, settings.penalty);
    found = Builder(instance, settings, limits, control, wish, finder, budget, depth).run();
    found.optimum = best.cost + times(best.leaves, settings.penalty);
    found.lower = best.lower;
    found.tolerance = tolerance;
    if (settings.max_leaves > 0) {
        found.graph = with_leaves(found.graph, 1, settings.max_leaves);
    }
    found.is_complete = found.is_complete && best.status == Status::optimal;
    found.is_out_of_memory = found.is_out_of_memory || best.status == Status::memory_limit;
    return found;
}

}  // namespace certree::good
