// Depth two in closed form for two labels.
//
// For a root axis, one line runs along with the root test: the signed sums of the rows on its left side, under every
// second test. Its extremes and those of what is missing to the total are the best stumps of the two sides. Axes with
// very many tests are walked by prefix trees instead of being laid out in the line.
#include <cmath>
#include <memory>

#include "gains.hpp"

namespace certree {

void find_pair_gains(const Prepared& prepared, Gains& gains, PairTable* table) {
    const Local& local = prepared.local;
    const Control& control = prepared.control;
    const RoundedAmounts& amounts = prepared.amounts;
    const LineBuilder& builder = prepared.builder;
    const std::int32_t n_rows = local.n_rows;
    std::int32_t all = 0;
    for (const std::int32_t amount : amounts.small) {
        all += amount;
    }
    std::vector<std::int32_t> scratch(builder.scratch_size(), 0);
    std::vector<std::int32_t> everyone(static_cast<std::size_t>(n_rows));
    for (std::int32_t i = 0; i < n_rows; ++i) {
        everyone[static_cast<std::size_t>(i)] = i;
    }
    const Layout whole(local, -1, -1);
    std::vector<std::int32_t> total(LineBuilder::line_size(whole), 0);
    builder.add(total.data(), everyone.data(), everyone.size(), whole, scratch.data());
    if (table != nullptr) {
        table->all = all;
        table->total = total;
    }

    // Which axes are walked by a prefix tree under root axis a rather than laid out as a line.
    const auto is_tree_cheaper = [&](const LocalAxis& root, const LocalAxis& axis) {
        if (table != nullptr || axis.is_categorical || axis.n_tests < 2 || control.is_off(no_prefix_trees)) {
            return false;
        }
        if (control.is_off(no_tables)) {
            return true;
        }
        const double line =
            static_cast<double>(root.n_tests) * axis.n_tests * 0.4 +
            std::min<double>(n_rows * (axis.n_tests / 14.0 + 3.0), n_rows + 1.5 * root.n_tests * axis.n_tests);
        const double tree =
            (root.is_categorical ? static_cast<double>(root.n_tests) * axis.n_tests * 8.0 : axis.n_tests * 8.0) +
            n_rows * 4.0 * std::log2(axis.n_tests + 1.0);
        return tree < line;
    };
    std::vector<std::unique_ptr<PrefixTree>> trees(local.axes.size());
    std::vector<std::vector<std::int32_t>> by_code(local.axes.size());
    const auto reset_tree = [&](std::size_t c) -> PrefixTree& {
        const LocalAxis& axis = local.axes[c];
        if (!trees[c]) {
            trees[c] = std::make_unique<PrefixTree>(axis.n_tests);
            by_code[c].assign(static_cast<std::size_t>(axis.n_tests), 0);
            for (std::int32_t i = 0; i < n_rows; ++i) {
                if (axis.codes[i] < axis.n_tests) {
                    by_code[c][static_cast<std::size_t>(axis.codes[i])] += amounts.small[static_cast<std::size_t>(i)];
                }
            }
        }
        trees[c]->reset(by_code[c]);
        return *trees[c];
    };

    std::vector<std::int32_t> line;
    std::vector<std::int32_t> line_total;
    std::vector<Extremes> extremes;
    for (std::size_t a = 0; a < local.axes.size(); ++a) {
        const LocalAxis& root = local.axes[a];
        const ActiveRows::Codes& active = prepared.active.axes[a];
        extremes.assign(static_cast<std::size_t>(root.n_tests), Extremes{});
        Layout layout;
        for (std::size_t c = 0; c < local.axes.size(); ++c) {
            const LocalAxis& axis = local.axes[c];
            if (!is_tree_cheaper(root, axis)) {
                layout.offset.push_back(layout.size);
                layout.size += axis.n_tests;
                continue;
            }
            layout.offset.push_back(-1);
            for (std::int32_t test = 0; test < root.n_tests; ++test) {
                if (control.should_stop()) {
                    return;
                }
                // Sides of an ordered root axis grow from test to test; those of a category start anew.
                PrefixTree& tree = reset_tree(c);
                const std::int32_t n_tests = root.is_categorical ? 1 : root.n_tests;
                prepared.kernels.walk(tree, active.rows.data(), active.start.data() + test, n_tests, axis.codes,
                                      axis.n_tests, amounts.small.data(), extremes.data() + test);
                if (!root.is_categorical) {
                    break;
                }
            }
        }
        layout.size = padded(layout.size);
        line.assign(LineBuilder::line_size(layout), 0);
        line_total.assign(LineBuilder::line_size(layout), 0);
        for (std::size_t c = 0; c < local.axes.size(); ++c) {
            if (layout.offset[c] >= 0) {
                std::copy_n(total.data() + local.axes[c].first_test, local.axes[c].n_tests,
                            line_total.data() + layout.offset[c]);
            }
        }
        for (std::int32_t test = 0; test < root.n_tests; ++test) {
            if (control.should_stop()) {
                return;
            }
            if (root.is_categorical && test > 0) {
                std::fill(line.begin(), line.end(), 0);
            }
            Extremes& here = extremes[static_cast<std::size_t>(test)];
            if (layout.size > 0) {
                builder.add(line.data(), active.begin(test), active.size(test), layout, scratch.data());
                prepared.kernels.halves(line.data(), line_total.data(), layout.size, here);
            }
            const auto t = static_cast<std::size_t>(root.first_test + test);
            const std::int32_t d = total[t];
            gains.left[0][t] = static_cast<std::int32_t>(magnitude(d));
            gains.left[1][t] = stump_gain(d, here.high[0], here.low[0]);
            gains.right[0][t] = static_cast<std::int32_t>(magnitude(all - d));
            gains.right[1][t] = stump_gain(all - d, here.high[1], here.low[1]);
            if (table != nullptr) {
                std::copy(line.begin(), line.end(), table->row(static_cast<std::int32_t>(t)));
            }
        }
    }
}

}  // namespace certree
