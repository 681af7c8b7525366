#include "shallow/any_labels/cost_tables.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "shallow/cost_model.hpp"

namespace certree {

namespace {

// Sums over all rows must fit in 32 bits, with room for one that stands for none. The coarse grid is for tests: it
// leaves the work to exact checks.
Amount most_total(bool is_fine) {
    return is_fine ? std::numeric_limits<std::int32_t>::max() - 1 : Amount{1} << 12;
}

std::size_t padded_width(std::size_t n) {
    return (n + Kernels::lanes - 1) / Kernels::lanes * Kernels::lanes;
}

}  // namespace

std::size_t DenseCosts::width_for(std::int32_t n_labels) {
    return padded_width(static_cast<std::size_t>(n_labels));
}

DenseCosts::DenseCosts(const Instance& instance, const RowSet& set, bool is_fine)
    : width(width_for(instance.n_labels)) {
    Amount total = 0;
    std::uint64_t bits = 0;
    for (const std::int32_t row : set.rows) {
        const auto r = static_cast<std::size_t>(row);
        total += instance.worst[r];
        bits |= static_cast<std::uint64_t>(instance.worst[r]);
        for (auto g = instance.gain_start[r]; g < instance.gain_start[r + 1]; ++g) {
            bits |= static_cast<std::uint64_t>(instance.gains[static_cast<std::size_t>(g)].amount);
        }
    }
    shift = bits == 0 ? 0 : std::countr_zero(bits);
    while ((total >> shift) > most_total(is_fine)) {
        ++shift;
        is_exact = false;
    }
    costs.resize(set.rows.size() * width);
    std::vector<Amount> exact(static_cast<std::size_t>(instance.n_labels));
    for (std::size_t i = 0; i < set.rows.size(); ++i) {
        const auto r = static_cast<std::size_t>(set.rows[i]);
        std::fill(exact.begin(), exact.end(), instance.worst[r]);
        for (auto g = instance.gain_start[r]; g < instance.gain_start[r + 1]; ++g) {
            const Gain& gain = instance.gains[static_cast<std::size_t>(g)];
            exact[static_cast<std::size_t>(gain.label)] -= gain.amount;
        }
        for (std::size_t k = 0; k < width; ++k) {
            costs[i * width + k] = static_cast<std::int32_t>(exact[k < exact.size() ? k : 0] >> shift);
        }
    }
}

std::size_t Tallies::width_for(const Instance& instance, const Settings& settings) {
    const std::size_t n_arms = settings.min_samples_arm > 0 ? static_cast<std::size_t>(instance.n_arms) : 0;
    return settings.has_leaf_minimum() ? padded_width(2 + n_arms) : 0;
}

Tallies::Tallies(const Instance& instance, const Settings& settings, const RowSet& set, bool is_fine)
    : width(width_for(instance, settings)), tallies(set.rows.size() * width, 0), least(width, 0) {
    if (width == 0) {
        return;
    }
    // Weights that no minimum asks for round nothing.
    const bool has_weight = settings.min_weight_leaf > 0;
    Amount total = 0;
    std::uint64_t bits = 0;
    for (const std::int32_t row : set.rows) {
        const Amount weight = has_weight ? instance.weight[static_cast<std::size_t>(row)] : 0;
        total += weight;
        bits |= static_cast<std::uint64_t>(weight);
    }
    int shift = bits == 0 ? 0 : std::countr_zero(bits);
    // Rounding up may add one for every row.
    while ((total >> shift) > most_total(is_fine) / 2) {
        ++shift;
        is_exact = false;
    }
    // A minimum that does not fit into 32 bits is more than all rows have together; so is the largest number that does.
    const auto as_minimum = [](Amount minimum) {
        return static_cast<std::int32_t>(std::min<Amount>(minimum, std::numeric_limits<std::int32_t>::max()));
    };
    const std::size_t n_arms = settings.min_samples_arm > 0 ? static_cast<std::size_t>(instance.n_arms) : 0;
    least[0] = as_minimum(settings.min_samples_leaf);
    // Sums are of whole units, and no less than those of the weights: where these meet a minimum, the sums also meet
    // the whole unit that is next above it.
    const auto round_up = [&](Amount weight) { return (weight + ((Amount{1} << shift) - 1)) >> shift; };
    least[1] = as_minimum(round_up(settings.min_weight_leaf));
    std::fill_n(least.begin() + 2, n_arms, as_minimum(settings.min_samples_arm));
    for (std::size_t i = 0; i < set.rows.size(); ++i) {
        const auto r = static_cast<std::size_t>(set.rows[i]);
        std::int32_t* tally = tallies.data() + i * width;
        tally[0] = static_cast<std::int32_t>(instance.count[r]);
        tally[1] = has_weight ? static_cast<std::int32_t>(round_up(instance.weight[r])) : 0;
        for (std::size_t arm = 0; arm < n_arms; ++arm) {
            tally[2 + arm] = instance.arm_count[r * n_arms + arm];
        }
    }
}

bool Tallies::are_enough(const std::vector<std::int32_t>& sums) const {
    return std::equal(sums.begin(), sums.end(), least.begin(), std::greater_equal<>());
}

// The last code of categories may have no rows, so that as many codes as rows say nothing there.
Order::Order(const LocalAxis& axis, std::int32_t n_rows, const Order* other)
    : rows(static_cast<std::size_t>(n_rows)), is_one_by_one_(!axis.is_categorical && axis.n_codes == n_rows) {
    if (is_one_by_one_ && other != nullptr && other->is_one_by_one_) {
        store_ = other->store_;
        for (std::int32_t i = 0; i < n_rows; ++i) {
            rows[static_cast<std::size_t>(axis.codes[i])] = i;
        }
    } else {
        std::vector<std::int32_t> ends(static_cast<std::size_t>(axis.n_codes) + 1, 0);
        for (std::int32_t i = 0; i < n_rows; ++i) {
            ++ends[static_cast<std::size_t>(axis.codes[i]) + 1];
        }
        std::partial_sum(ends.begin(), ends.end(), ends.begin());
        std::vector<std::int32_t> next(ends.begin(), ends.end() - 1);
        for (std::int32_t i = 0; i < n_rows; ++i) {
            rows[static_cast<std::size_t>(next[static_cast<std::size_t>(axis.codes[i])]++)] = i;
        }
        store_ = std::make_shared<const std::vector<std::int32_t>>(std::move(ends));
    }
    start = *store_;
}

CostTables::CostTables(const Instance& instance, const Settings& settings, const RowSet& set, const Local& rows,
                       const Kernels& chosen, const Control& control)
    : local(rows),
      kernels(chosen),
      n_labels(static_cast<std::size_t>(instance.n_labels)),
      costs(instance, set, !control.is_off(no_fine_grid)),
      tallies(instance, settings, set, !control.is_off(no_fine_grid)),
      total(costs.width, 0),
      total_tallies(tallies.width, 0) {
    const std::size_t width = costs.width;
    const auto n_rows = static_cast<std::size_t>(local.n_rows);
    const std::size_t n_axes = local.axes.size();
    for (std::size_t i = 0; i < n_rows; ++i) {
        for (std::size_t k = 0; k < width; ++k) {
            total[k] += costs.row(i)[k];
        }
        for (std::size_t k = 0; k < tallies.width; ++k) {
            total_tallies[k] += tallies.row(i)[k];
        }
    }
    // Equal mass of what each label costs, so that what is expensive for one label alone is looked at closely too.
    std::vector<float> share(n_rows, 0.0F);
    for (std::size_t i = 0; i < n_rows; ++i) {
        for (std::size_t k = 0; k < n_labels; ++k) {
            share[i] += static_cast<float>(costs.row(i)[k]) / static_cast<float>(std::max(1, total[k]));
        }
    }
    const std::int32_t most_groups = control.is_off(no_cost_model) ? 4 : forecast::most_groups(local, width);
    for (const LocalAxis& axis : local.axes) {
        groups.emplace_back(axis, n_rows, forecast::groups_of_axis(axis.n_codes, most_groups),
                            [&](std::size_t i) { return share[i]; });
        first_group.push_back(n_groups);
        n_groups += static_cast<std::size_t>(groups.back().size());
    }
    release(share);
    place.reserve(n_rows * n_axes);
    place_start.reserve(n_rows + 1);
    all.assign(n_groups * width, 0);
    all_tallies.assign(n_groups * tallies.width, 0);
    for (std::size_t i = 0; i < n_rows; ++i) {
        place_start.push_back(static_cast<std::int32_t>(place.size()));
        for (std::size_t c = 0; c < n_axes; ++c) {
            const std::int32_t code = local.axes[c].codes[i];
            if (code < local.axes[c].n_tests || !is_whole(c)) {
                place.push_back(static_cast<std::int32_t>(first_group[c]) + groups[c].of(code));
            }
        }
        const std::int32_t* places = place.data() + place_start.back();
        const auto n_places = static_cast<std::int32_t>(place.size()) - place_start.back();
        kernels.add_costs(all.data(), places, n_places, costs.row(i), static_cast<std::int32_t>(width));
        kernels.add_costs(all_tallies.data(), places, n_places, tallies.row(i),
                          static_cast<std::int32_t>(tallies.width));
    }
    place_start.push_back(static_cast<std::int32_t>(place.size()));
    order.reserve(n_axes);
    for (const LocalAxis& axis : local.axes) {
        order.emplace_back(axis, local.n_rows, order.empty() ? nullptr : &order.back());
    }
    for (std::size_t c = 0; c < n_axes; ++c) {
        if (local.axes[c].is_categorical) {
            continue;
        }
        std::int32_t* cells = all.data() + first_group[c] * width;
        for (std::size_t at = width; at < static_cast<std::size_t>(groups[c].size()) * width; ++at) {
            cells[at] += cells[at - width];
        }
    }
}

std::size_t CostTables::bytes(const Instance& instance, const Settings& settings, const Local& local) {
    const std::size_t width = DenseCosts::width_for(instance.n_labels);
    const std::size_t tally_width = Tallies::width_for(instance, settings);
    const std::size_t n_axes = local.axes.size();
    const auto most = static_cast<std::size_t>(forecast::most_groups(local, width));
    std::size_t n_all_groups = 0;
    std::size_t n_all_codes = 0;
    for (const LocalAxis& axis : local.axes) {
        const auto n_codes = static_cast<std::size_t>(axis.n_codes);
        // Where its rows begin in the order, and its group or that of its block.
        n_all_codes += n_codes + std::min(n_codes, static_cast<std::size_t>(many_codes));
        n_all_groups += axis.is_categorical ? n_codes : std::min(n_codes, most);
    }
    const std::size_t rows = static_cast<std::size_t>(local.n_rows) * (width + tally_width + 2 * n_axes + 1);
    // The tables, and once more as much per group for the worker that walks them.
    return (rows + n_all_codes + 2 * n_all_groups * (width + tally_width + 4)) * sizeof(std::int32_t);
}

}  // namespace certree
