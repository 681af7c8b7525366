#include "shallow/any_labels/standing_sides.hpp"

#include <algorithm>
#include <functional>

#include "shallow/cost_model.hpp"

namespace certree {

StandingSides::StandingSides(const Stumps& exact, const RowSet& set, const LocalAxis& root, const Order& order,
                             const Control& control, std::size_t most_kept)
    : exact_(exact),
      set_(set),
      root_(root),
      order_(order),
      control_(control),
      most_kept_(most_kept),
      width_(exact.sums_width()) {}

void StandingSides::put(std::int32_t test, const SideCuts cuts[2], Outcome sides[2]) {
    const auto most =
        static_cast<std::int32_t>(control_.is_off(no_cost_model) ? 2 : forecast::most_codes_at_once(width_));
    SideCuts now[2] = {cuts[0], cuts[1]};
    for (bool is_first = true; is_first || now[0].first <= now[0].last || now[1].first <= now[1].last;
         is_first = false) {
        if (control_.should_stop()) {
            return;
        }
        SideCuts some[2];
        for (std::size_t side = 0; side < 2; ++side) {
            if (now[side].first <= now[side].last) {
                some[side] = {now[side].axis, now[side].first, std::min(now[side].last, now[side].first + most - 1)};
                now[side].first = some[side].last + 1;
            }
        }
        can_walk(test, some) ? walk(test) : stand(test, some);
        for (std::size_t side = 0; side < 2; ++side) {
            put_side(side, some[side], sides[side]);
        }
    }
    // Every axis has sides that stand somewhere, so that large ones are not kept; nor is memory that was.
    if (cells_[0].capacity() + cells_[1].capacity() > most_kept_) {
        stands_ = false;
        release(cells_[0]);
        release(cells_[1]);
    }
}

// Whether fewer rows move than there are, and all that is asked about has cells.
bool StandingSides::can_walk(std::int32_t test, const SideCuts cuts[2]) const {
    if (!stands_ || root_.is_categorical) {
        return false;
    }
    for (std::size_t side = 0; side < 2; ++side) {
        const SideCuts& held = held_[side];
        if (cuts[side].axis != nullptr &&
            (cuts[side].axis != held.axis || cuts[side].first < held.first || cuts[side].last > held.last)) {
            return false;
        }
    }
    const auto [low, high] = std::minmax(test, test_);
    const std::int32_t n_moved =
        order_.start[static_cast<std::size_t>(high) + 1] - order_.start[static_cast<std::size_t>(low) + 1];
    // Rows that move lie anywhere in memory, twice.
    return control_.is_off(no_cost_model) || static_cast<std::size_t>(n_moved) < set_.rows.size() / 8;
}

void StandingSides::walk(std::int32_t test) {
    const std::size_t from = test > test_ ? 1 : 0;  // the side that rows leave
    const auto [low, high] = std::minmax(test, test_);
    std::vector<Amount> row(width_);
    for (std::int32_t o = order_.start[static_cast<std::size_t>(low) + 1];
         o < order_.start[static_cast<std::size_t>(high) + 1]; ++o) {
        const auto i = static_cast<std::size_t>(order_.rows[static_cast<std::size_t>(o)]);
        std::fill(row.begin(), row.end(), 0);
        exact_.add_sums(set_.rows[i], row.data());
        Amount* leaving = cell(from, i);
        std::transform(leaving, leaving + width_, row.begin(), leaving, std::minus<>());
        Amount* joining = cell(1 - from, i);
        std::transform(joining, joining + width_, row.begin(), joining, std::plus<>());
    }
    test_ = test;
}

void StandingSides::stand(std::int32_t test, const SideCuts cuts[2]) {
    for (std::size_t side = 0; side < 2; ++side) {
        held_[side] = cuts[side];
        if (const LocalAxis* axis = cuts[side].axis; axis != nullptr) {
            // More than is asked about: what is next may lie beside it.
            const std::int32_t margin =
                control_.is_off(no_cost_model) ? 1 : 16 + (cuts[side].last - cuts[side].first) / 8;
            held_[side].first = std::max(0, cuts[side].first - margin);
            held_[side].last = std::min(axis->n_tests - 1, cuts[side].last + margin);
        }
        cells_[side].assign(n_cells(side) * width_, 0);
    }
    for (std::size_t i = 0; i < set_.rows.size(); ++i) {
        exact_.add_sums(set_.rows[i], cell(root_.holds(root_.codes[i], test) ? 0 : 1, i));
    }
    test_ = test;
    stands_ = true;
}

void StandingSides::put_side(std::size_t side, const SideCuts& cuts, Outcome& outcome) {
    std::vector<Amount> all(width_, 0);
    for (std::size_t at = 0; at < cells_[side].size(); ++at) {
        all[at % width_] += cells_[side][at];
    }
    exact_.put_leaf_of(all.data(), outcome);
    if (cuts.axis == nullptr) {
        return;
    }
    std::vector<Amount> left(width_, 0);
    std::vector<Amount> right(width_);
    const Amount* next = cells_[side].data();
    const auto add_next = [&] {
        std::transform(left.begin(), left.end(), next, left.begin(), std::plus<>());
        next += width_;
    };
    for (std::int32_t code = held_[side].first - 1; code < cuts.first; ++code) {
        add_next();  // what is before the first code, too
    }
    for (std::int32_t test = cuts.first; test <= cuts.last; ++test) {
        if (cuts.axis->is_categorical) {
            std::fill(left.begin(), left.end(), 0);
        }
        add_next();
        std::transform(all.begin(), all.end(), left.begin(), right.begin(), std::minus<>());
        exact_.put_stump_of(*cuts.axis, test, left.data(), right.data(), outcome);
    }
}

Amount* StandingSides::cell(std::size_t side, std::size_t row) {
    const auto& [axis, first, last] = held_[side];
    const std::int32_t place = axis == nullptr ? 0 : std::clamp(axis->codes[row] - first + 1, 0, last - first + 2);
    return cells_[side].data() + static_cast<std::size_t>(place) * width_;
}

}  // namespace certree
