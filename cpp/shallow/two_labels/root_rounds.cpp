// Depth two by rounds: root tests are looked at a batch at a time, until intervals rule out the others.
//
// A look at a batch passes over the rows once for each axis, in the order of that axis's codes, and sums every root
// test's left side in a lane of its own: the extremes of both sides' sums are their best stumps. Few tests of an axis
// often rule out all others, so a batch has some tests of several axes, while several are open. Gains of sides
// looked at bound those between (bounds::gain_between, bounds::gain_near). Below the first test stand the empty set,
// which costs λ, and the whole one. Rounded amounts are costs in their own right, so both hold for them; their slack is
// added where a bound is compared with what is wanted.
#include <array>
#include <limits>
#include <numeric>
#include <ranges>
#include <span>

#include "bounds.hpp"
#include "shallow/cost_model.hpp"
#include "shallow/two_labels/gains.hpp"

namespace certree {

namespace {

constexpr std::int32_t most_batch = Kernels::root_batch;

// A root test whose sides are known: what they gain, λ counted.
struct Known {
    std::int32_t test;
    Amount left;
    Amount right;
};

// Tests that may gain more than is wanted, between two that are known.
struct Open {
    Run tests;
    Amount most;  // none of them gains more
};

// Whether sums of amounts, and codes, fit in 16 bits.
bool is_short(const Prepared& prepared) {
    constexpr std::int32_t most = std::numeric_limits<std::int16_t>::max();
    const std::vector<LocalAxis>& axes = prepared.local.axes;
    return prepared.amounts.total <= most &&
           std::all_of(axes.begin(), axes.end(), [](const LocalAxis& axis) { return axis.n_codes <= most; });
}

class RootRounds {
public:
    RootRounds(const Prepared& prepared, Gains& gains, Wanted& wanted, std::int32_t batch);

    Runs run();

private:
    struct Root {
        std::vector<std::int32_t> sums;  // by test: of the rows on which it holds
        std::vector<std::int32_t> mass;  // by code: amounts of the rows up to it
        std::vector<Known> known;        // by test, between two ends
        std::vector<Open> open;
        std::vector<Run> left_over;
        bool has_given_up = false;
    };
    Amount between(const Root& root, std::int32_t a, std::int32_t b) const;
    double spread(const Root& root, std::int32_t test) const;
    void find_open(Root& root);
    std::vector<std::int32_t> choose(const Root& root, std::int32_t most) const;
    // By row, in the lanes' numbers: its amount, and its codes on the axes of a batch.
    template <class Lane>
    struct Cells {
        std::vector<Lane> amounts;
        std::vector<Lane> codes;
    };
    template <class Lane>
    void look_at_all(const std::vector<std::size_t>& axes, Cells<Lane>& cells);
    template <class Lane>
    void look(std::span<const std::size_t> axes, Cells<Lane>& cells);
    template <class Lane>
    void look_at_own(const Root& root, const std::vector<std::int32_t>& tests, SideBatch<Lane>& batch) const;
    void note(std::size_t axis, std::int32_t test, const Extremes& extremes);
    bool are_trees_faster(const Root& root, const LocalAxis& axis) const;
    void give_up(Root& root);

    const Prepared& prepared_;
    const Local& local_;
    const std::vector<std::int32_t>& amounts_;
    Gains& gains_;
    Wanted& wanted_;
    std::int32_t batch_;
    bool is_short_ = false;
    std::int32_t all_ = 0;
    double part_[2] = {0.0, 0.0};  // of the amounts of a label, twice, in all of them
    Amount whole_;                 // the best gain of depth one
    std::vector<Root> roots_;
    std::vector<std::vector<std::int32_t>> order_;  // by axis: rows by code, doubled, and 1 added to the last of a code
    Cells<std::int16_t> short_cells_;
    Cells<std::int32_t> cells_;
};

RootRounds::RootRounds(const Prepared& prepared, Gains& gains, Wanted& wanted, std::int32_t batch)
    : prepared_(prepared),
      local_(prepared.local),
      amounts_(prepared.amounts.small),
      gains_(gains),
      wanted_(wanted),
      batch_(batch),
      roots_(local_.axes.size()),
      order_(local_.axes.size()) {
    const Amount total = prepared.amounts.total;
    for (const std::int32_t amount : amounts_) {
        all_ += amount;
    }
    part_[0] = 1.0 / std::max(1.0, static_cast<double>(total + all_));
    part_[1] = 1.0 / std::max(1.0, static_cast<double>(total - all_));
    is_short_ = is_short(prepared);
    Extremes extremes;
    for (std::size_t a = 0; a < local_.axes.size(); ++a) {
        const LocalAxis& axis = local_.axes[a];
        const ActiveRows::Codes& active = prepared.active.of(a);
        Root& root = roots_[a];
        root.sums.resize(static_cast<std::size_t>(axis.n_tests));
        root.mass.resize(static_cast<std::size_t>(axis.n_tests) + 1);
        order_[a].resize(active.rows.size());
        std::int32_t sum = 0;
        std::int32_t mass = 0;
        std::size_t at = 0;
        for (std::size_t test = 0; test < root.sums.size(); ++test) {
            const auto end = static_cast<std::size_t>(active.start[test + 1]);
            sum = axis.is_categorical ? 0 : sum;
            for (; at < end; ++at) {
                const auto row = static_cast<std::size_t>(active.rows[at]);
                sum += amounts_[row];
                mass += std::abs(amounts_[row]);
                order_[a][at] = 2 * active.rows[at];
            }
            order_[a][at - 1] += 1;
            root.sums[test] = sum;
            root.mass[test] = mass;
            extremes.high[0] = std::max(extremes.high[0], sum);
            extremes.low[0] = std::min(extremes.low[0], sum);
        }
        root.mass.back() = static_cast<std::int32_t>(total);
    }
    const int shift = prepared.amounts.shift;
    const Amount stump = Amount{stump_gain(all_, extremes.high[0], extremes.low[0])} << shift;
    whole_ = std::max((magnitude(all_) << shift) - 2 * prepared.penalty, stump - 4 * prepared.penalty);
}

// The amounts of the rows that are on the left side of test b and not on that of a, at the scale of λ.
Amount RootRounds::between(const Root& root, std::int32_t a, std::int32_t b) const {
    const std::int32_t before = a < 0 ? 0 : root.mass[static_cast<std::size_t>(a)];
    return Amount{root.mass[static_cast<std::size_t>(b)] - before} << prepared_.amounts.shift;
}

// The amounts of the rows up to a code, of each label in parts of all its amounts, two in all. Pre: an ordered axis.
double RootRounds::spread(const Root& root, std::int32_t test) const {
    if (test == static_cast<std::int32_t>(root.sums.size())) {
        return 2.0;
    }
    const std::int32_t mass = root.mass[static_cast<std::size_t>(test)];
    const std::int32_t sum = root.sums[static_cast<std::size_t>(test)];
    return static_cast<double>(Amount{mass} + sum) * part_[0] + static_cast<double>(Amount{mass} - sum) * part_[1];
}

void RootRounds::find_open(Root& root) {
    const Amount slack = prepared_.amounts.slack;
    root.open.clear();
    for (std::size_t k = 0; k + 1 < root.known.size(); ++k) {
        const Known& a = root.known[k];
        const Known& b = root.known[k + 1];
        Open open{{a.test + 1, b.test}, bounds::gain_between(a.left, b.right, between(root, a.test, b.test)) + slack};
        const auto pass = [&](Amount bound) {
            if (bound > wanted_.more_than) {
                return false;
            }
            wanted_.passed_over = std::max(wanted_.passed_over, bound);
            return true;
        };
        if (open.tests.from == open.tests.to || pass(open.most)) {
            continue;
        }
        const auto is_near = [&](const Known& end, Amount distance) {
            return pass(bounds::gain_near(end.left + end.right, distance) + slack);
        };
        while (open.tests.from < open.tests.to && is_near(a, between(root, a.test, open.tests.from))) {
            ++open.tests.from;
        }
        while (open.tests.from < open.tests.to && is_near(b, between(root, open.tests.to - 1, b.test))) {
            --open.tests.to;
        }
        if (open.tests.from < open.tests.to) {
            root.open.push_back(open);
        }
    }
}

// Some open tests, spread by the amounts of each label between them: a rare one counts as much as the other. Where
// there are too many openings, the most promising come first.
std::vector<std::int32_t> RootRounds::choose(const Root& root, std::int32_t most) const {
    std::vector<std::int32_t> tests;
    tests.reserve(static_cast<std::size_t>(most));
    std::vector<Open> open = root.open;
    if (open.size() > 1) {
        std::stable_sort(open.begin(), open.end(), [](const Open& x, const Open& y) { return x.most > y.most; });
    }
    std::int64_t n_open = 0;
    for (const Open& here : open) {
        n_open += here.tests.to - here.tests.from;
    }
    for (const Open& here : open) {
        const std::int32_t n = here.tests.to - here.tests.from;
        const std::int32_t room = most - static_cast<std::int32_t>(tests.size());
        const std::int64_t share = std::max<std::int64_t>(1, (std::int64_t{most} * n + n_open / 2) / n_open);
        const auto n_chosen = static_cast<std::int32_t>(std::min<std::int64_t>({n, share, room}));
        const double from = here.tests.from == 0 ? 0.0 : spread(root, here.tests.from - 1);
        const double to = spread(root, here.tests.to);
        std::int32_t next = here.tests.from;
        for (std::int32_t k = 0; k < n_chosen; ++k) {
            const double goal = from + (to - from) * (k + 1) / (n_chosen + 1);
            const auto in_run = std::views::iota(here.tests.from, here.tests.to);
            const auto at =
                std::ranges::lower_bound(in_run, goal, {}, [&](std::int32_t test) { return spread(root, test); });
            // Room for those to come.
            const auto test = std::clamp(here.tests.from + static_cast<std::int32_t>(at - in_run.begin()), next,
                                         here.tests.to - (n_chosen - k));
            tests.push_back(test);
            next = test + 1;
        }
    }
    return tests;
}

// Stumps on the root axis itself need no pass over the rows: those of a left side are the sums up to its test, those of
// a right side the sums beyond, less that of the left side. Pre: an ordered axis.
template <class Lane>
void RootRounds::look_at_own(const Root& root, const std::vector<std::int32_t>& tests, SideBatch<Lane>& batch) const {
    std::array<std::size_t, SideBatch<Lane>::size> order{};
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(tests.size());
    std::iota(order.begin(), end, std::size_t{0});
    std::sort(order.begin(), end, [&](std::size_t x, std::size_t y) { return tests[x] < tests[y]; });
    std::int32_t high = 0;
    std::int32_t low = 0;
    std::size_t at = 0;
    for (std::size_t n = 0; n < tests.size(); ++n) {
        const std::size_t k = order[n];
        for (; at <= static_cast<std::size_t>(tests[k]); ++at) {
            high = std::max(high, root.sums[at]);
            low = std::min(low, root.sums[at]);
        }
        batch.high[0][k] = static_cast<Lane>(high);
        batch.low[0][k] = static_cast<Lane>(low);
    }
    at = root.sums.size();
    high = low = root.sums.back();
    for (std::size_t n = tests.size(); n-- > 0;) {
        const std::size_t k = order[n];
        const auto test = static_cast<std::size_t>(tests[k]);
        for (; at > test; --at) {
            high = std::max(high, root.sums[at - 1]);
            low = std::min(low, root.sums[at - 1]);
        }
        batch.high[1][k] = static_cast<Lane>(std::max(0, high - root.sums[test]));
        batch.low[1][k] = static_cast<Lane>(std::min(0, low - root.sums[test]));
    }
}

// As many axes at a time as pays and a batch has slots for.
template <class Lane>
void RootRounds::look_at_all(const std::vector<std::size_t>& axes, Cells<Lane>& cells) {
    constexpr std::size_t n_slots = SideBatch<Lane>::slots;
    if (cells.amounts.empty()) {
        cells.amounts.assign(amounts_.begin(), amounts_.end());
        cells.codes.resize(n_slots * amounts_.size());
    }
    const bool is_packed =
        prepared_.control.is_off(no_cost_model) ? local_.n_rows % 3 > 0 : forecast::are_batches_packed(order_.size());
    const std::size_t step = is_packed ? n_slots : 1;
    for (std::size_t at = 0; at < axes.size() && !prepared_.control.should_stop(); at += step) {
        look(std::span(axes).subspan(at, std::min(step, axes.size() - at)), cells);
    }
}

// Pre: no more axes than slots; one that stands in several of them has the lanes of all.
template <class Lane>
void RootRounds::look(std::span<const std::size_t> axes, Cells<Lane>& cells) {
    constexpr std::size_t n_slots = SideBatch<Lane>::slots;
    constexpr std::size_t n_lanes = SideBatch<Lane>::size;
    const std::int32_t* codes_of[n_slots];
    std::int32_t n_lanes_of[n_slots] = {};
    for (std::size_t slot = 0; slot < n_slots; ++slot) {
        codes_of[slot] = local_.axes[axes[slot % axes.size()]].codes;
        n_lanes_of[slot % axes.size()] += static_cast<std::int32_t>(n_lanes / n_slots);
    }
    for (std::size_t i = 0; i < amounts_.size(); ++i) {
        for (std::size_t slot = 0; slot < n_slots; ++slot) {
            cells.codes[i * n_slots + slot] = static_cast<Lane>(codes_of[slot][i]);
        }
    }
    std::vector<std::int32_t> tests[n_slots];  // by place in `axes`
    for (std::size_t place = 0; place < axes.size(); ++place) {
        tests[place] = choose(roots_[axes[place]], std::min(batch_, n_lanes_of[place]));
    }
    // Which axis a lane is of, and which of its tests; lanes to spare repeat the last one.
    const auto for_lanes = [&](auto act) {
        std::size_t n_used[n_slots] = {};
        for (std::size_t lane = 0; lane < n_lanes; ++lane) {
            const std::size_t place = lane % n_slots % axes.size();
            act(lane, place, n_used[place]++);
        }
    };
    SideBatch<Lane> batch{};
    for_lanes([&](std::size_t lane, std::size_t place, std::size_t n) {
        batch.test[lane] = static_cast<Lane>(tests[place][std::min(n, tests[place].size() - 1)]);
    });
    const bool is_alone = axes.size() == 1;
    if (is_alone) {
        look_at_own(roots_[axes[0]], tests[0], batch);
    }
    for (std::size_t c = 0; c < order_.size(); ++c) {
        if (is_alone && c == axes[0]) {
            continue;
        }
        const auto n = static_cast<std::int32_t>(order_[c].size());
        const CodeEnds ends = local_.axes[c].is_categorical ? CodeEnds::categories
                              : forecast::are_ends_foreseen(amounts_.size() * order_.size(), n, local_.axes[c].n_tests)
                                  ? CodeEnds::alike
                                  : CodeEnds::mixed;
        const Lane* amounts = cells.amounts.data();
        const Lane* codes = cells.codes.data();
        if constexpr (sizeof(Lane) == sizeof(std::int16_t)) {
            prepared_.kernels.short_sides(order_[c].data(), n, amounts, codes, ends, batch);
        } else {
            prepared_.kernels.sides(order_[c].data(), n, amounts, codes, ends, batch);
        }
    }
    for_lanes([&](std::size_t lane, std::size_t place, std::size_t n) {
        if (n < tests[place].size()) {
            note(axes[place], tests[place][n],
                 {{batch.high[0][lane], batch.high[1][lane]}, {batch.low[0][lane], batch.low[1][lane]}});
        }
    });
}

void RootRounds::note(std::size_t axis, std::int32_t test, const Extremes& extremes) {
    Root& root = roots_[axis];
    const auto t = static_cast<std::size_t>(local_.axes[axis].first_test + test);
    const std::int32_t d = root.sums[static_cast<std::size_t>(test)];
    gains_.put_pair(t, d, all_ - d, extremes);
    const Known known{test, gains_.side(gains_.left, t, prepared_.amounts.shift, prepared_.penalty),
                      gains_.side(gains_.right, t, prepared_.amounts.shift, prepared_.penalty)};
    const auto at = std::lower_bound(root.known.begin(), root.known.end(), test,
                                     [](const Known& one, std::int32_t value) { return one.test < value; });
    root.known.insert(at, known);
    // The tree of this test gains this much for certain: what cannot gain more is not wanted.
    wanted_.more_than = std::max(wanted_.more_than, known.left + known.right - prepared_.amounts.slack);
}

// Asked when two batches of its tests are known.
bool RootRounds::are_trees_faster(const Root& root, const LocalAxis& axis) const {
    if (static_cast<std::int32_t>(root.known.size()) < 2 + 2 * batch_) {
        return false;
    }
    std::int32_t n_open = 0;
    for (const Open& open : root.open) {
        n_open += open.tests.to - open.tests.from;
    }
    if (prepared_.control.is_off(no_cost_model)) {
        return n_open % 3 == 1;  // small tables then see both
    }
    return forecast::trees_outrun_rounds(n_open, static_cast<std::int32_t>(root.open.size()), axis.n_tests);
}

void RootRounds::give_up(Root& root) {
    for (const Open& open : root.open) {
        root.left_over.push_back(open.tests);
    }
    root.open.clear();
    root.has_given_up = true;
}

Runs RootRounds::run() {
    for (std::size_t a = 0; a < roots_.size(); ++a) {
        const LocalAxis& axis = local_.axes[a];
        Root& root = roots_[a];
        if (axis.is_categorical) {
            root.left_over.push_back({0, axis.n_tests});
        } else {
            root.known.reserve(2 + 2 * static_cast<std::size_t>(most_batch));
            root.known = {{-1, -2 * prepared_.penalty, whole_}, {axis.n_tests, whole_, -2 * prepared_.penalty}};
            find_open(root);
        }
    }
    bool is_open = true;
    while (is_open) {
        std::vector<std::size_t> axes;
        for (std::size_t a = 0; a < roots_.size(); ++a) {
            if (!roots_[a].open.empty()) {
                axes.push_back(a);
            }
        }
        is_short_ ? look_at_all(axes, short_cells_) : look_at_all(axes, cells_);
        for (std::size_t a = 0; a < roots_.size(); ++a) {
            Root& root = roots_[a];
            if (root.has_given_up) {
                continue;
            }
            find_open(root);
            if (are_trees_faster(root, local_.axes[a])) {
                give_up(root);
            }
        }
        is_open = !axes.empty() && !prepared_.control.should_stop();
    }
    Runs runs;
    for (Root& root : roots_) {
        runs.push_back(std::move(root.left_over));
    }
    return runs;
}

}  // namespace

bool rounds_pay(const Prepared& prepared) {
    if (prepared.control.is_off(no_rounds)) {
        return false;
    }
    return prepared.control.is_off(no_cost_model) || forecast::rounds_pay(prepared.local);
}

bool rounds_outrun_tables(const Prepared& prepared) {
    const bool is_likely = prepared.control.is_off(no_cost_model)
                               ? prepared.local.n_rows % 4 >= 2
                               : forecast::rounds_outrun_tables(prepared.local, is_short(prepared));
    return is_likely && rounds_pay(prepared);
}

Runs look_in_rounds(const Prepared& prepared, Gains& gains, Wanted& wanted) {
    return RootRounds(prepared, gains, wanted, prepared.control.is_off(no_cost_model) ? 2 : most_batch).run();
}

}  // namespace certree
