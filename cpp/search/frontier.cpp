#include "search/frontier.hpp"

#include <algorithm>

#include "shallow/cost_model.hpp"

namespace certree {

using bounds::Sides;

namespace {

constexpr SeenSets::Size own_size{96, 96};

}  // namespace

Frontier::Frontier(const Instance& instance, const Control& control, const Witness* witness, const RowSet& set,
                   const Local& local, const Goal& goal, Outcome& outcome)
    : instance_(instance),
      control_(control),
      witness_(witness),
      set_(set),
      local_(local),
      goal_(goal),
      outcome_(outcome),
      has_intervals_(!control.is_off(no_interval)),
      has_similarity_(!control.is_off(no_similarity)),
      looks_left_(goal.patience),
      own_seen_(instance, own_size),
      seen_(goal.seen != nullptr ? *goal.seen : own_seen_) {
    fill();
    if (witness_ != nullptr) {
        watch();
    }
}

// One interval per axis, one test per category; what is known of all of them is what a shallower tree of the whole
// costs.
void Frontier::fill() {
    const Amount penalty = goal_.penalty;
    for (std::size_t a = 0; a < local_.axes.size(); ++a) {
        const LocalAxis& axis = local_.axes[a];
        std::vector<Amount> mass(static_cast<std::size_t>(axis.n_codes), 0);
        for (std::size_t i = 0; i < set_.rows.size(); ++i) {
            mass[static_cast<std::size_t>(axis.codes[i])] += instance_.worst[static_cast<std::size_t>(set_.rows[i])];
        }
        Interval interval;
        interval.axis = static_cast<std::int32_t>(a);
        interval.bound = bounds::split(penalty);
        interval.above_at = axis.n_tests;
        interval.below = {penalty, goal_.shallower};
        interval.above = {goal_.shallower, penalty};
        if (axis.is_categorical) {
            for (std::int32_t test = 0; test < axis.n_tests; ++test) {
                interval.low = interval.high = test;
                queue_.push(interval);
            }
        } else {
            for (std::size_t c = 1; c < mass.size(); ++c) {
                mass[c] += mass[c - 1];
            }
            interval.low = 0;
            interval.high = axis.n_tests - 1;
            queue_.push(interval);
        }
        mass_.push_back(std::move(mass));
    }
}

void Frontier::watch() {
    const Witness::Part* part = witness_->find(set_.key, goal_.depth);
    if (part == nullptr || part->leaves < 2) {
        return;
    }
    for (std::size_t a = 0; a < local_.axes.size(); ++a) {
        for (std::int32_t test = 0; test < local_.axes[a].n_tests; ++test) {
            const Split split = split_rows(instance_, set_, local_.axes[a], test);
            if (split.left.key != part->side[0] && split.left.key != part->side[1]) {
                continue;
            }
            watched_.push_back({static_cast<std::int32_t>(a), test, split.left.key, split.right.key});
            if (has_intervals_) {
                for (const auto& [side, other] : {std::pair{&split.left, &split.right}, {&split.right, &split.left}}) {
                    const Amount bound = bounds::subset(goal_.shallower, other->worst);
                    witness_->hear(Claim::shallower, side->key, goal_.depth - 1, bound);
                }
            }
        }
    }
}

Sides Frontier::heard(Claim by, std::int32_t axis, std::int32_t test, Sides sides) const {
    for (const Watched& watched : watched_) {
        if (watched.axis == axis && watched.test == test) {
            sides.left = witness_->hear(by, watched.left, goal_.depth - 1, sides.left);
            sides.right = witness_->hear(by, watched.right, goal_.depth - 1, sides.right);
        }
    }
    return sides;
}

// A test can matter only below this.
Amount Frontier::cap() const {
    const Amount value = outcome_.value[goal_.entry];
    return value <= goal_.guess ? -unreachable : std::min(goal_.budget, value);
}

Amount Frontier::lower() const {
    Amount least = cap();
    if (!queue_.empty()) {
        least = std::min(least, queue_.top().bound);
    }
    for (const Amount bound : in_flight_) {
        least = std::min(least, bound);
    }
    return least;
}

std::vector<Amount> Frontier::axis_lower() const {
    std::vector<Amount> lower(local_.axes.size(), cap());
    for (auto rest = queue_; !rest.empty(); rest.pop()) {
        Amount& least = lower[static_cast<std::size_t>(rest.top().axis)];
        least = std::min(least, rest.top().bound);
    }
    return lower;
}

// What the sides of a test cost at least, by the tests around it that were looked at.
Sides Frontier::sides_at(const Interval& interval, std::int32_t test) const {
    const Amount penalty = goal_.penalty;
    if (!has_intervals_) {
        return {penalty, penalty};
    }
    const std::vector<Amount>& mass = mass_[static_cast<std::size_t>(interval.axis)];
    const Amount here = mass[static_cast<std::size_t>(test)];
    Sides sides;
    if (local_.axes[static_cast<std::size_t>(interval.axis)].is_categorical) {
        sides = {bounds::subset(goal_.shallower, set_.worst - here), bounds::subset(goal_.shallower, here)};
    } else {
        const Amount below = interval.below_at < 0 ? 0 : mass[static_cast<std::size_t>(interval.below_at)];
        const Amount above = mass[static_cast<std::size_t>(interval.above_at)];
        sides = bounds::interval(interval.below, interval.above, here - below, above - here);
    }
    return heard(Claim::interval, interval.axis, test, {std::max(sides.left, penalty), std::max(sides.right, penalty)});
}

// What a tree with this test at its root costs at least, unless it is one that is known.
Amount Frontier::bound_of(std::int32_t axis, std::int32_t test, const Sides& sides) const {
    Amount bound = bounds::deep_sum(sides, goal_.deep);
    for (const Watched& watched : watched_) {
        if (watched.axis == axis && watched.test == test) {
            // A tree that is known costs no less than the cap.
            bound = std::max(bound, witness_->hear(Claim::deep_side, set_.key, goal_.depth, std::min(bound, cap())));
        }
    }
    return bound;
}

// Drops the ends that cannot beat the cap; false where nothing is left.
bool Frontier::narrow(Interval& interval, Amount cap) const {
    Amount least = unreachable;
    std::int32_t first = interval.high + 1;
    std::int32_t last = interval.low - 1;
    for (std::int32_t test = interval.low; test <= interval.high; ++test) {
        const Amount bound = bound_of(interval.axis, test, sides_at(interval, test));
        least = std::min(least, bound);
        if (bound < cap) {
            first = std::min(first, test);
            last = test;
        }
    }
    interval.low = first;
    interval.high = last;
    interval.bound = std::max(interval.bound, least);
    return first <= last;
}

// Raises the bounds of the sides by what their rows say.
bool Frontier::is_ruled_out(Look& look) {
    const std::int32_t axis = look.interval.axis;
    Sides& sides = look.sides;
    if (goal_.two_labels != nullptr && !control_.is_off(no_leaf_bound)) {
        const Amount two = bounds::split(goal_.penalty);
        sides.left = std::max(sides.left, std::min(goal_.two_labels->leaf_value(look.split.left), two));
        sides.right = std::max(sides.right, std::min(goal_.two_labels->leaf_value(look.split.right), two));
        sides = heard(Claim::side_leaf, axis, look.test, sides);
    }
    if (has_similarity_) {
        look.bits[0] = bits_of(instance_, look.split.left);
        look.bits[1] = bits_of(instance_, look.split.right);
        const Amount before = bounds::deep_sum(sides, goal_.deep);
        // Among a few sets the best is soon found, which is worth more to the neighbours than what rules out this test.
        const auto enough = [&](Amount other) {
            return goal_.seen == nullptr ? unreachable : bounds::deep_side_budget(look.cap, other, goal_.deep);
        };
        sides.right = seen_.lower_of(look.split.right, look.bits[1], sides.right, enough(sides.left));
        sides.left = seen_.lower_of(look.split.left, look.bits[0], sides.left, enough(sides.right));
        sides = heard(Claim::similarity, axis, look.test, sides);
        n_similar_ += before < look.cap && bounds::deep_sum(sides, goal_.deep) >= look.cap ? 1 : 0;
    }
    look.before = sides;
    return bound_of(axis, look.test, sides) >= look.cap;
}

// Near the end it would be a pity: where few intervals are left, looks at them are fewer than those it takes to begin
// anew in another way.
bool Frontier::renew_patience() {
    const double to_come = forecast::looks_to_come(queue_.size());
    if (n_renewals_ == forecast::most_renewals || to_come > forecast::worthwhile_looks(goal_.patience)) {
        return false;
    }
    ++n_renewals_;
    looks_left_ = to_come;
    return true;
}

std::optional<Frontier::Look> Frontier::next() {
    std::unique_lock lock(mutex_);
    while (true) {
        if (control_.should_stop()) {
            was_stopped_ = true;
            changed_.notify_all();
            return std::nullopt;
        }
        Look look;
        look.cap = cap();
        if (queue_.empty() || queue_.top().bound >= look.cap) {
            if (in_flight_.empty()) {
                changed_.notify_all();
                return std::nullopt;
            }
            changed_.wait(lock);
            continue;
        }
        if (looks_left_ < 1.0 && !renew_patience()) {
            has_given_up_ = true;
            return std::nullopt;
        }
        look.interval = queue_.top();
        queue_.pop();
        const Interval& interval = look.interval;
        if (!narrow(look.interval, look.cap)) {
            continue;
        }
        in_flight_.push_back(interval.bound);
        if (goal_.report) {
            goal_.report(lower());
        }
        const LocalAxis& axis = local_.axes[static_cast<std::size_t>(interval.axis)];
        look.test = interval.low + (interval.high - interval.low) / 2;
        look.sides = sides_at(interval, look.test);
        look.split = split_rows(instance_, set_, axis, look.test);
        if (is_ruled_out(look)) {
            split_interval(look);
            continue;
        }
        if (!axis.is_categorical && goal_.is_spare_asked) {
            const std::vector<Amount>& mass = mass_[static_cast<std::size_t>(interval.axis)];
            look.spare =
                (mass[static_cast<std::size_t>(interval.high)] - mass[static_cast<std::size_t>(interval.low)]) / 2;
        }
        looks_left_ -= 1.0;
        return look;
    }
}

void Frontier::close(Look& look, bool is_complete) {
    const std::lock_guard lock(mutex_);
    relaxed_ = std::min(relaxed_, look.sides.left + look.sides.right);
    if (!is_complete) {
        in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), look.interval.bound));
        queue_.push(look.interval);
        return;
    }
    if (has_similarity_) {
        // Of many sets only those that tell something new are worth a place.
        const bool is_own = goal_.seen == nullptr;
        if (is_own || look.sides.left > look.before.left) {
            seen_.add(look.split.left, std::move(look.bits[0]), look.sides.left);
        }
        if (is_own || look.sides.right > look.before.right) {
            seen_.add(look.split.right, std::move(look.bits[1]), look.sides.right);
        }
    }
    split_interval(look);
}

// The tests before and behind one whose sides are known go back into the queue, as far as any may matter.
void Frontier::split_interval(const Look& look) {
    const Interval& interval = look.interval;
    in_flight_.erase(std::find(in_flight_.begin(), in_flight_.end(), interval.bound));
    const Amount most = cap();
    if (look.test > interval.low) {
        Interval lower_part = interval;
        lower_part.high = look.test - 1;
        lower_part.above_at = look.test;
        lower_part.above = look.sides;
        if (narrow(lower_part, most)) {
            queue_.push(lower_part);
        }
    }
    if (look.test < interval.high) {
        Interval upper_part = interval;
        upper_part.low = look.test + 1;
        upper_part.below_at = look.test;
        upper_part.below = look.sides;
        if (narrow(upper_part, most)) {
            queue_.push(upper_part);
        }
    }
    changed_.notify_all();
}

void Frontier::abandon() {
    const std::lock_guard lock(mutex_);
    control_.interrupt();
    changed_.notify_all();
}

NodePtr Frontier::offer(std::size_t entry, Amount value, const std::function<NodePtr()>& make_tree) {
    {
        const std::lock_guard lock(mutex_);
        if (value >= outcome_.value[entry]) {
            return nullptr;
        }
    }
    const NodePtr tree = make_tree();
    const std::lock_guard lock(mutex_);
    for (std::size_t m = entry; m < outcome_.value.size(); ++m) {
        if (value < outcome_.value[m]) {
            outcome_.value[m] = value;
            outcome_.tree[m] = tree;
        }
    }
    return tree;
}

}  // namespace certree
