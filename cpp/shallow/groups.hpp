// Neighbouring codes of an axis in groups of about equal mass: what coarse looks at an axis are made of.
#pragma once

#include <numeric>
#include <vector>

#include "instance/subset.hpp"

namespace certree {

// Group g holds the codes after the end of g − 1 up to and including end[g].
struct Groups {
    std::vector<std::int32_t> of_code;
    std::vector<std::int32_t> end;
    std::int32_t size() const { return static_cast<std::int32_t>(end.size()); }

    // Categories have no neighbours, so each stays alone. Masses are of codes; what rounds them moves an end at most.
    Groups(const LocalAxis& axis, const std::vector<float>& mass, std::int32_t most_groups)
        : of_code(static_cast<std::size_t>(axis.n_codes)) {
        if (axis.n_codes <= most_groups || axis.is_categorical) {
            end.resize(of_code.size());
            std::iota(of_code.begin(), of_code.end(), 0);
            std::iota(end.begin(), end.end(), 0);
            return;
        }
        const double step = std::accumulate(mass.begin(), mass.end(), 0.0) / most_groups;
        double passed = 0.0;
        double limit = step;
        for (std::size_t c = 0; c < of_code.size(); ++c) {
            if (passed > 0.0 && passed + 0.5 * mass[c] > limit) {
                end.push_back(static_cast<std::int32_t>(c) - 1);
                while (passed + 0.5 * mass[c] > limit) {
                    limit += step;
                }
            }
            of_code[c] = size();
            passed += mass[c];
        }
        end.push_back(axis.n_codes - 1);
    }
};

}  // namespace certree
