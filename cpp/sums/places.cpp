#include "sums/places.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace certree::sums {

namespace {

// The ends up to a power of two less one, so that every search takes the same steps and none of them is a branch.
class Ends {
public:
    explicit Ends(std::span<const double> ends)
        : n_places_(std::bit_ceil(ends.size() + 1)), padded_(n_places_, std::numeric_limits<double>::infinity()) {
        std::copy(ends.begin(), ends.end(), padded_.begin());
    }

    std::size_t n_places() const { return n_places_; }

    std::size_t find(double value) const {
        std::size_t place = 0;
        for (std::size_t step = n_places_ / 2; step > 0; step /= 2) {
            place += padded_[place + step - 1] < value ? step : 0;
        }
        return place;
    }

    bool is_end(std::size_t place, double value) const { return padded_[place] == value; }

private:
    std::size_t n_places_;
    std::vector<double> padded_;
};

}  // namespace

Places find_places(std::span<const double> values, std::span<const Amount> amounts, std::span<const double> ends,
                   bool are_rows_asked) {
    const Ends own(ends);
    Places found;
    found.mass.resize(own.n_places(), 0);
    found.equal.resize(own.n_places(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        const std::size_t place = own.find(value);
        const bool is_there = !std::isnan(value);
        found.mass[place] += is_there ? amounts[i] : 0;
        found.equal[place] += own.is_end(place, value) ? amounts[i] : 0;
        if (are_rows_asked && place % 2 == 1 && is_there) {
            found.rows.push_back(static_cast<std::int64_t>(i));
            found.places.push_back(static_cast<std::int32_t>(place));
        }
    }
    found.mass.resize(ends.size() + 1);
    found.equal.resize(ends.size());
    return found;
}

std::vector<std::uint16_t> code_values(std::span<const double> values, std::span<const double> ends,
                                       std::uint16_t missing) {
    const Ends own(ends);
    std::vector<std::uint16_t> codes(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        codes[i] = std::isnan(values[i]) ? missing : static_cast<std::uint16_t>(own.find(values[i]));
    }
    return codes;
}

}  // namespace certree::sums
