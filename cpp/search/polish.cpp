#include "search/polish.hpp"

#include <algorithm>

#include "instance/judge.hpp"

namespace certree {

namespace {

// What an entry of a map takes, allocator included. Subtrees shared between entries are counted for each.
constexpr std::size_t entry_bytes = 192;

std::size_t bytes_of(const std::vector<RootTest>& tests) {
    return entry_bytes + tests.size() * sizeof(RootTest);
}

std::size_t bytes_of(const Part& part) {
    return entry_bytes + tree_bytes(part.tree);
}

std::size_t bytes_of(const Choice& choice) {
    std::size_t bytes = entry_bytes + choice.value.size() * 48;
    for (const NodePtr& tree : choice.tree) {
        bytes += tree_bytes(tree);
    }
    return bytes;
}

bool holds(const Axis& axis, std::size_t row, std::int32_t code) {
    return axis.is_categorical ? axis.codes[row] == code : axis.codes[row] <= code;
}

// What a row costs under a tree.
Amount cost_of(const Instance& instance, std::size_t row, const Node* node) {
    while (!node->is_leaf()) {
        const Axis& axis = instance.axes[static_cast<std::size_t>(node->axis)];
        node = holds(axis, row, node->code) ? node->left.get() : node->right.get();
    }
    Amount cost = instance.worst[row];
    for (auto g = static_cast<std::size_t>(instance.gain_start[row]);
         g < static_cast<std::size_t>(instance.gain_start[row + 1]); ++g) {
        cost -= instance.gains[g].label == node->label ? instance.gains[g].amount : 0;
    }
    return cost;
}

Part join(const RootTest& test, const Part& left, const Part& right) {
    return {make_split(test.axis, test.code, left.tree, right.tree), left.value + right.value,
            left.n_leaves + right.n_leaves};
}

}  // namespace

Polish::Polish(const Instance& instance, const Settings& settings, const Stumps& stumps, int max_depth,
               std::size_t most_bytes, Solve solve, Offer offer)
    : instance_(instance),
      settings_(settings),
      stumps_(stumps),
      most_bytes_(most_bytes),
      solve_(std::move(solve)),
      offer_(std::move(offer)) {
    settings_.max_depth = max_depth;
}

// Where there is no room, everything that was kept is forgotten first.
template <class Map, class Value>
void Polish::keep(Map& map, const typename Map::key_type& key, const Value& value) {
    const std::size_t bytes = bytes_of(value);
    if (bytes > most_bytes_) {
        return;
    }
    if (bytes_ + bytes > most_bytes_) {
        looks_.clear();
        ranked_.clear();
        grown_.clear();
        bytes_ = 0;
    }
    if (map.emplace(key, value).second) {
        bytes_ += bytes;
    }
}

void Polish::grow_whole(const RowSet& root, const Pass& pass) {
    offer_(grow(root, settings_.max_depth, settings_.max_leaves, pass).tree);
}

bool Polish::improve(const RowSet& root, const NodePtr& tree, const Pass& pass) {
    whole_ = fit_part(root, tree);
    return refine(root, settings_.max_depth, whole_, pass, [&] { offer_(whole_.tree); });
}

void Polish::try_roots(const RowSet& root, const Pass& pass) {
    const int depth = settings_.max_depth;
    const std::vector<RootTest> tests = ranked_tests(root, depth, pass);
    for (std::size_t k = 0; k < std::min(pass.n_tests, tests.size()) && !pass.control.should_stop(); ++k) {
        const Split split = split_rows(instance_, root, tests[k].axis, tests[k].code);
        const int most = settings_.max_leaves;
        const Part left = grow(split.left, depth - 1, most == 0 ? 0 : most - 1, pass);
        const Part right = grow(split.right, depth - 1, most == 0 ? 0 : most - left.n_leaves, pass);
        if (left.value >= unreachable || right.value >= unreachable) {
            continue;
        }
        whole_ = join(tests[k], left, right);
        offer_(whole_.tree);
        const Pass one{pass.ahead, pass.has_rollouts, 1, pass.control};
        while (refine(root, depth, whole_, one, [&] { offer_(whole_.tree); })) {
        }
    }
}

// A part grown by looking ahead or by rollouts, closed forms at its end.
Part Polish::grow(const RowSet& rows, int depth, int most_leaves, const Pass& pass) {
    const std::tuple key(rows.key, depth, most_leaves, pass.ahead, pass.has_rollouts);
    if (const auto known = grown_.find(key); known != grown_.end()) {
        return known->second;
    }
    Settings settings = settings_;
    settings.max_depth = depth;
    settings.max_leaves = most_leaves;
    const Part part = grow_tree(instance_, settings, stumps_, pass.control, rows,
                                [&](const RowSet& below, int depth_left) { return choose(below, depth_left, pass); });
    if (!pass.control.should_stop()) {
        keep(grown_, key, part);
    }
    return part;
}

// What becomes of a node that grows.
Choice Polish::choose(const RowSet& rows, int depth, const Pass& pass) {
    const bool is_end = depth <= pass.ahead;
    if (pass.has_rollouts && !is_end) {
        const std::vector<RootTest> tests = ranked_tests(rows, depth, pass);
        return {tests.empty() ? RootTest{} : tests.front(), {}, {}};
    }
    const std::tuple key(rows.key, std::min(depth, pass.ahead), is_end);
    const auto known = looks_.find(key);
    Choice choice = known != looks_.end() ? known->second : solve_(rows, std::min(depth, pass.ahead), is_end);
    if (known == looks_.end()) {
        keep(looks_, key, choice);
    }
    // Where nothing pays so near, something may further down.
    if (!choice.is_whole() && choice.test.axis < 0) {
        choice.test = stumps_.purest(rows);
    }
    return choice;
}

// The purest test of every axis, in the order of the trees that they grow.
std::vector<RootTest> Polish::ranked_tests(const RowSet& rows, int depth, const Pass& pass) {
    const std::tuple key(rows.key, depth);
    if (const auto found = ranked_.find(key); found != ranked_.end()) {
        return found->second;
    }
    if (!rollouts_) {
        rollouts_.emplace(instance_, settings_.penalty);
    }
    std::vector<RootTest> ranked = rollouts_->rank(rows, stumps_.purest_by_axis(rows), depth, pass.control);
    // A stop leaves tests out, which a later pass with time of its own must not miss.
    if (!pass.control.should_stop()) {
        keep(ranked_, key, ranked);
    }
    return ranked;
}

// Pre: the part is one of the whole tree's, and `put` puts it there. Post: it costs no more.
bool Polish::refine(const RowSet& rows, int depth, Part& part, const Pass& pass, const Put& put) {
    if (pass.control.should_stop() || depth < 1 || rows.rows.size() < 2) {
        return false;
    }
    bool is_better = false;
    const Part again = grow(rows, depth, most_leaves_of(part), pass);
    if (again.value < part.value) {
        part = again;
        put();
        is_better = true;
    }
    if (depth <= pass.ahead) {
        return is_better;
    }
    is_better = try_tests(rows, depth, part, pass, put) || is_better;
    if (part.tree->is_leaf()) {
        return is_better;
    }
    const RootTest test{part.tree->axis, part.tree->code};
    const Split split = split_rows(instance_, rows, test.axis, test.code);
    Part left = fit_part(split.left, part.tree->left);
    Part right = fit_part(split.right, part.tree->right);
    const Put put_side = [&] {
        part = join(test, left, right);
        put();
    };
    is_better = refine(split.left, depth - 1, left, pass, put_side) || is_better;
    return refine(split.right, depth - 1, right, pass, put_side) || is_better;
}

// Post: the part is no worse than with any of the tests at its root, its sides as they were or grown anew.
bool Polish::try_tests(const RowSet& rows, int depth, Part& part, const Pass& pass, const Put& put) {
    bool is_better = false;
    const NodePtr before = part.tree;
    for (const Candidate& candidate : candidates(rows, depth, *before, pass)) {
        if (pass.control.should_stop()) {
            break;
        }
        const Split split = split_rows(instance_, rows, candidate.test.axis, candidate.test.code);
        const int most_leaves = most_leaves_of(part);
        const auto find_side = [&](const RowSet& side, const NodePtr& old, int most) {
            Part found = grow(side, depth - 1, most, pass);
            if (!before->is_leaf()) {
                const Part fitted = fit_part(side, old);
                if (fitted.value < found.value && (most == 0 || fitted.n_leaves <= most)) {
                    found = fitted;
                }
            }
            return found;
        };
        if (most_leaves == 1) {
            break;
        }
        const NodePtr& old_left = candidate.is_swapped ? before->right : before->left;
        const NodePtr& old_right = candidate.is_swapped ? before->left : before->right;
        const Part left = find_side(split.left, old_left, most_leaves == 0 ? 0 : most_leaves - 1);
        if (left.value + settings_.penalty >= part.value) {
            continue;
        }
        const Part right = find_side(split.right, old_right, most_leaves == 0 ? 0 : most_leaves - left.n_leaves);
        if (left.value + right.value >= part.value) {
            continue;
        }
        Part found = join(candidate.test, left, right);
        if (is_kept(rows, found)) {
            part = std::move(found);
            put();
            is_better = true;
        }
    }
    return is_better;
}

// So many of the tests that suit the sides' trees best, and of those that grow the best trees, by turns.
std::vector<Polish::Candidate> Polish::candidates(const RowSet& rows, int depth, const Node& node, const Pass& pass) {
    std::vector<Candidate> suiting;
    if (!node.is_leaf()) {
        suiting = suiting_tests(rows, node);
    }
    // Growing trees to tell the tests apart pays where several are tried.
    const std::vector<RootTest> ranked =
        pass.n_tests > 1 ? ranked_tests(rows, depth, pass) : stumps_.purest_by_axis(rows);
    std::vector<Candidate> chosen;
    const auto choose = [&](const Candidate& candidate) {
        const auto is_same = [&](const Candidate& other) {
            return other.test.axis == candidate.test.axis && other.test.code == candidate.test.code;
        };
        if (std::none_of(chosen.begin(), chosen.end(), is_same)) {
            chosen.push_back(candidate);
        }
    };
    for (std::size_t k = 0; k < pass.n_tests; ++k) {
        if (k < suiting.size()) {
            choose(suiting[k]);
        }
        if (k < ranked.size()) {
            choose({ranked[k], false});
        }
    }
    return chosen;
}

// For every axis the test under which the trees of the node's two sides, as they stand, cost least together; best
// first. Only rows that the two trees treat differently matter.
std::vector<Polish::Candidate> Polish::suiting_tests(const RowSet& rows, const Node& node) const {
    std::vector<std::size_t> torn;
    std::vector<Amount> difference;  // what the left tree costs more than the right one
    Amount total = 0;
    for (const std::int32_t r : rows.rows) {
        const auto row = static_cast<std::size_t>(r);
        const Amount more = cost_of(instance_, row, node.left.get()) - cost_of(instance_, row, node.right.get());
        if (more != 0) {
            torn.push_back(row);
            difference.push_back(more);
            total += more;
        }
    }
    struct Found {
        Amount value;
        Candidate candidate;
    };
    std::vector<Found> found;
    std::vector<Amount> sums;
    for (std::size_t a = 0; a < instance_.axes.size(); ++a) {
        const Axis& axis = instance_.axes[a];
        sums.assign(static_cast<std::size_t>(std::max(axis.n_codes, axis.n_tests)), 0);
        for (std::size_t i = 0; i < torn.size(); ++i) {
            sums[static_cast<std::size_t>(axis.codes[torn[i]])] += difference[i];
        }
        Found best{unreachable, {}};
        Amount sum = 0;
        for (std::int32_t code = 0; code < axis.n_tests; ++code) {
            const Amount here = sums[static_cast<std::size_t>(code)];
            sum = axis.is_categorical ? here : sum + here;
            const Amount value = std::min(sum, total - sum);
            if (value < best.value) {
                best = {value, {{static_cast<std::int32_t>(a), code}, total - sum < sum}};
            }
        }
        if (best.value < unreachable) {
            found.push_back(best);
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const Found& x, const Found& y) { return x.value < y.value; });
    std::vector<Candidate> tests;
    for (const Found& one : found) {
        tests.push_back(one.candidate);
    }
    return tests;
}

// A tree on other rows than it was made for: without what no longer tells them apart, and what it costs.
Part Polish::fit_part(const RowSet& rows, const NodePtr& tree) const {
    Part part;
    part.tree = simplify(instance_, tree, rows);
    const Judged judged = judge(instance_, part.tree, rows);
    part.n_leaves = judged.leaves;
    part.value = judged.cost + times(judged.leaves, settings_.penalty);
    return part;
}

// Whether every leaf of a part with a split has enough.
bool Polish::is_kept(const RowSet& rows, const Part& part) const {
    return !settings_.has_leaf_minimum() || keeps_limits(instance_, settings_, part.tree, rows);
}

// Leaves that a part may have, the others as they are; 0: any number.
int Polish::most_leaves_of(const Part& part) const {
    return settings_.max_leaves == 0 ? 0 : settings_.max_leaves - whole_.n_leaves + part.n_leaves;
}

}  // namespace certree
