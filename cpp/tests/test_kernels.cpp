// Every vector kernel against its plain twin, bit for bit, on what the engine can hand it: sums of disjoint rows whose
// magnitudes add up to at most 2^30. Segment trees against prefix sums taken anew.
#include <cstring>
#include <numeric>
#include <sstream>

#include "kernels/kernels.hpp"
#include "tests/test.hpp"
#include "tests/test_tables.hpp"

namespace certree::test {

namespace {

static_assert(sizeof(Kernels) == 26 * sizeof(void (*)()), "a new kernel wants a test in this file");

using Line = std::vector<std::int32_t>;

constexpr std::int64_t most_total = std::int64_t{1} << 30;

// How the magnitude of a total is spread over its parts.
enum class Spread { small, even, one_sided, concentrated };
constexpr Spread spreads[] = {Spread::small, Spread::even, Spread::one_sided, Spread::concentrated};

// Signed parts whose magnitudes add up to at most 2^30.
Line draw_parts(Random& random, std::size_t n, Spread spread) {
    Line parts(n, 0);
    std::int64_t left = spread == Spread::small ? pick(random, 0, 100) : most_total;
    const bool is_negative = chance(random, 0.5);
    for (std::size_t p = 0; p < n; ++p) {
        const bool is_last = p + 1 == n;
        std::int64_t part = 0;
        if (spread == Spread::concentrated) {
            part = is_last || chance(random, 0.4) ? left : pick(random, 0, 2);
        } else {
            part = is_last ? left : std::uniform_int_distribution<std::int64_t>(0, left / 2)(random);
        }
        part = std::min(part, left);
        left -= part;
        const bool is_minus = spread == Spread::one_sided ? is_negative : chance(random, 0.5);
        parts[p] = static_cast<std::int32_t>(is_minus ? -part : part);
    }
    std::shuffle(parts.begin(), parts.end(), random);
    return parts;
}

// Runs the same body with either set of kernels on copies of the same data.
template <class Data, class Body>
void compare(const Data& data, Body body) {
    Data plain = data;
    Data fast = data;
    body(plain_kernels(), plain);
    body(*avx2_kernels(), fast);
    CHECK(plain == fast);
}

bool has_vectors() {
    if (avx2_kernels() != nullptr) {
        return true;
    }
    skip("this processor or build has no AVX2");
    return false;
}

void describe_case(const char* kernel, int n, Spread spread) {
    std::ostringstream text;
    text << kernel << ", n " << n << ", spread " << static_cast<int>(spread);
    describe(text.str());
}

// Extremes of four quadrants for n second tests, eight runs of one vector; one past the end must stay as it is.
struct Quadrants {
    std::size_t n;
    Line values;

    explicit Quadrants(std::size_t n_tests) : n(n_tests + 1), values(8 * n, 0) {}
    QuadrantExtremes view() {
        QuadrantExtremes extremes;
        for (std::size_t q = 0; q < 4; ++q) {
            extremes.high[q] = values.data() + q * n;
            extremes.low[q] = values.data() + (4 + q) * n;
        }
        return extremes;
    }
    // What some other third test may have left: zero or beyond.
    void draw(Random& random) {
        const QuadrantExtremes extremes = view();
        for (std::size_t q = 0; q < 4; ++q) {
            for (std::size_t j = 0; j < n; ++j) {
                extremes.high[q][j] = chance(random, 0.5) ? 0 : pick(random, 0, 1 << 29);
                extremes.low[q][j] = chance(random, 0.5) ? 0 : -pick(random, 0, 1 << 29);
            }
        }
    }
    bool operator==(const Quadrants&) const = default;
};

}  // namespace

TEST(kernels_are_built_for_this_architecture) {
#if defined(__x86_64__) || defined(_M_X64)
    // Files find their way into the build by their names: one that is not found would only make the engine slow.
    CHECK(has_avx2_build());
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) {
        CHECK(&choose_kernels(true) == avx2_kernels());
    }
#else
    CHECK(!has_avx2_build());
    CHECK(avx2_kernels() == nullptr);
#endif
    CHECK(&choose_kernels(false) == &plain_kernels());
}

TEST(kernel_common_bits) {
    Random random(61);
    for (const Kernels* kernels : {&plain_kernels(), avx2_kernels()}) {
        for (std::size_t n_words = 0; kernels != nullptr && n_words < 9; ++n_words) {
            for (const double share : {0.0, 0.02, 0.5, 0.9, 1.0}) {
                std::vector<std::uint64_t> one(n_words, 0);
                std::vector<std::uint64_t> two(n_words, 0);
                Line expected;
                for (std::size_t bit = 0; bit < 64 * n_words; ++bit) {
                    const bool in_one = chance(random, share);
                    const bool in_two = chance(random, share);
                    one[bit / 64] |= std::uint64_t{in_one} << (bit % 64);
                    two[bit / 64] |= std::uint64_t{in_two} << (bit % 64);
                    if (in_one && in_two) {
                        expected.push_back(static_cast<std::int32_t>(bit));
                    }
                }
                Line numbers(64 * n_words + Kernels::lanes, -1);
                numbers.resize(kernels->common_bits(one.data(), two.data(), n_words, numbers.data()));
                CHECK(numbers == expected);
            }
        }
    }
}

namespace {

// Rows on which some of the tests hold, and what the kernel makes of tests a and b beside a third one.
template <class Lane>
void check_triples(Random& random, int n_tests, int n_rows, Lane most) {
    constexpr auto lanes = static_cast<std::size_t>(ThreeTests<Lane>::lanes);
    const auto m = static_cast<std::size_t>(n_tests);
    const std::size_t width = (m + lanes - 1) / lanes * lanes;
    const auto a = static_cast<std::size_t>(pick(random, 0, n_tests - 2));
    const auto b = static_cast<std::size_t>(pick(random, static_cast<int>(a) + 1, n_tests - 1));
    std::vector<Lane> lines(static_cast<std::size_t>(n_rows) * width, 0);
    std::vector<Lane> amounts;
    Line rows;
    const double share = chance(random, 0.5) ? 0.5 : 0.9;
    for (std::size_t i = 0; i < static_cast<std::size_t>(n_rows); ++i) {
        amounts.push_back(static_cast<Lane>(pick(random, -most, most)));
        for (std::size_t c = 0; c < m; ++c) {
            lines[i * width + c] = chance(random, share) ? amounts.back() : Lane{0};
        }
    }
    const auto holds = [&](std::size_t i, std::size_t test) { return amounts[i] != 0 && lines[i * width + test] != 0; };
    // The rows of quadrant q of tests (x, y), under a third one.
    const auto sum = [&](std::size_t x, std::size_t y, std::size_t third, int q) {
        Lane found = 0;
        for (std::size_t i = 0; i < amounts.size(); ++i) {
            const int own = (holds(i, x) ? 0 : 2) + (holds(i, y) ? 0 : 1);
            found = static_cast<Lane>(found + (own == q && holds(i, third) ? amounts[i] : 0));
        }
        return found;
    };
    const auto all_of = [&](std::size_t x, std::size_t y) { return sum(x, y, x, 0); };
    std::vector<Lane> with_a(width, 0);
    std::vector<Lane> with_b(width, 0);
    std::vector<Lane> total(width, 0);
    for (std::size_t c = 0; c < m; ++c) {
        with_a[c] = all_of(a, c);
        with_b[c] = all_of(b, c);
        total[c] = all_of(c, c);
    }
    for (std::size_t i = 0; i < amounts.size(); ++i) {
        if (holds(i, a) && holds(i, b)) {
            rows.push_back(static_cast<std::int32_t>(i));
        }
    }
    std::vector<Lane> start(16 * width, 0);
    for (std::size_t k = 0; k < start.size(); ++k) {
        const bool is_low = k / width % 8 >= 4;
        start[k] = static_cast<Lane>(chance(random, 0.5) ? 0 : is_low ? -pick(random, 0, most) : pick(random, 0, most));
    }
    const std::size_t from = (b + 1) / lanes * lanes;
    for (const Kernels* kernels : {&plain_kernels(), avx2_kernels()}) {
        if (kernels == nullptr) {
            continue;
        }
        std::vector<Lane> pairs = start;
        const ThreeTests<Lane> tests{lines.data(),  width,         rows.data(),  rows.size(),
                                     with_a.data(), with_b.data(), total.data(), total[a],
                                     total[b],      with_a[b],     pairs.data(), pairs.data() + 8 * width};
        PairExtremes<Lane> extremes;
        if constexpr (sizeof(Lane) == sizeof(std::int16_t)) {
            kernels->short_triples(tests, from, extremes);
        } else {
            kernels->triples(tests, from, extremes);
        }
        PairExtremes<Lane> expected;
        for (std::size_t q = 0; q < 4; ++q) {
            const auto quadrant = static_cast<int>(q);
            for (std::size_t c = from; c < m; ++c) {
                expected.high[q] = std::max(expected.high[q], sum(a, b, c, quadrant));
                expected.low[q] = std::min(expected.low[q], sum(a, b, c, quadrant));
                for (const std::size_t first : {a, b}) {
                    const std::size_t at = (first == a ? 0 : 8 * width) + q * width + c;
                    const Lane x = sum(first, c, first == a ? b : a, quadrant);
                    CHECK(pairs[at] == std::max(start[at], x));
                    CHECK(pairs[at + 4 * width] == std::min(start[at + 4 * width], x));
                }
            }
            CHECK(extremes.high[q] == expected.high[q]);
            CHECK(extremes.low[q] == expected.low[q]);
        }
    }
}

}  // namespace

TEST(kernel_triples) {
    Random random(62);
    for (int n_tests = 2; n_tests < 110; n_tests += pick(random, 1, 4)) {
        const int n_rows = pick(random, 0, 30);
        check_triples<std::int16_t>(random, n_tests, n_rows, 1000);
        check_triples<std::int32_t>(random, n_tests, n_rows, 1 << 24);
    }
}

TEST(kernel_quadrants) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line slab, line, first, second, rest;
        Quadrants extremes;
        bool operator==(const Data&) const = default;
    };
    Random random(10);
    for (int repeat = 0; repeat < 60; ++repeat) {
        for (const Spread spread : spreads) {
            const int n = Kernels::lanes * pick(random, 0, 20);
            const int n_second = pick(random, 1, 5);
            describe_case("quadrants", n, spread);
            const auto size = static_cast<std::size_t>(n) + 3;
            Data data{Line(size, 77), Line(size, 77), Line(size, 77),
                      Line(size, 77), Line(size, 77), Quadrants(static_cast<std::size_t>(n_second))};
            data.extremes.draw(random);
            for (std::size_t t = 0; t < static_cast<std::size_t>(n); ++t) {
                // Both hold (in two parts: already in the slab, and new), only the first, only the second, neither.
                const Line parts = draw_parts(random, 5, spread);
                data.slab[t] = parts[0];
                data.line[t] = parts[1];
                data.first[t] = parts[0] + parts[1] + parts[2];
                data.second[t] = parts[0] + parts[1] + parts[3];
                data.rest[t] = parts[3] + parts[4];
            }
            const auto j = static_cast<std::size_t>(pick(random, 0, n_second - 1));
            compare(data, [&](const Kernels& kernels, Data& d) {
                kernels.quadrants(d.slab.data(), d.line.data(), d.first.data(), d.second.data(), d.rest.data(), n,
                                  d.extremes.view(), j);
            });
            // Without a slab the line alone is what both hold on.
            for (std::size_t t = 0; t < static_cast<std::size_t>(n); ++t) {
                data.line[t] += data.slab[t];
            }
            compare(data, [&](const Kernels& kernels, Data& d) {
                kernels.quadrants(nullptr, d.line.data(), d.first.data(), d.second.data(), d.rest.data(), n,
                                  d.extremes.view(), j);
            });
        }
    }
}

TEST(kernel_halves_and_difference) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line line, total;
        std::array<std::int32_t, 4> extremes;
        bool operator==(const Data&) const = default;
    };
    const auto with_extremes = [](Data& data, auto body) {
        Extremes extremes;
        extremes.high[0] = data.extremes[0];
        extremes.high[1] = data.extremes[1];
        extremes.low[0] = data.extremes[2];
        extremes.low[1] = data.extremes[3];
        body(extremes);
        data.extremes = {extremes.high[0], extremes.high[1], extremes.low[0], extremes.low[1]};
    };
    Random random(11);
    for (int repeat = 0; repeat < 60; ++repeat) {
        for (const Spread spread : spreads) {
            const int n = Kernels::lanes * pick(random, 0, 30);
            describe_case("halves", n, spread);
            Data data{Line(static_cast<std::size_t>(n)), Line(static_cast<std::size_t>(n)), {0, 0, 0, 0}};
            if (chance(random, 0.5)) {
                data.extremes = {pick(random, 0, 1 << 30), pick(random, 0, 9), -pick(random, 0, 9),
                                 -pick(random, 0, 1 << 30)};
            }
            for (std::size_t t = 0; t < static_cast<std::size_t>(n); ++t) {
                const Line parts = draw_parts(random, 2, spread);
                data.line[t] = parts[0];
                data.total[t] = parts[0] + parts[1];
            }
            compare(data, [&](const Kernels& kernels, Data& d) {
                with_extremes(d, [&](Extremes& e) { kernels.halves(d.line.data(), d.total.data(), n, e); });
            });
            describe_case("difference", n, spread);
            compare(data, [&](const Kernels& kernels, Data& d) {
                with_extremes(d, [&](Extremes& e) { kernels.difference(d.total.data(), d.line.data(), n, e); });
            });
        }
    }
}

TEST(kernel_add_rows) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line line, lines, rows;
        bool operator==(const Data&) const = default;
    };
    Random random(12);
    for (int n_vectors = 0; n_vectors <= 34; ++n_vectors) {
        for (const Spread spread : spreads) {
            const int width = Kernels::lanes * n_vectors;
            const int n_lines = pick(random, 1, 12);
            describe_case("add_rows", width, spread);
            const auto stride = static_cast<std::size_t>(width);
            Data data{Line(stride + 5, 77), Line(stride * static_cast<std::size_t>(n_lines)), {}};
            for (std::size_t t = 0; t < stride; ++t) {
                const Line parts = draw_parts(random, static_cast<std::size_t>(n_lines) + 1, spread);
                data.line[t] = parts.back();
                for (std::size_t r = 0; r < static_cast<std::size_t>(n_lines); ++r) {
                    data.lines[r * stride + t] = parts[r];
                }
            }
            for (int r = 0; r < n_lines; ++r) {
                if (chance(random, 0.7)) {
                    data.rows.push_back(r);
                }
            }
            std::shuffle(data.rows.begin(), data.rows.end(), random);
            compare(data, [&](const Kernels& kernels, Data& d) {
                kernels.add_rows(d.line.data(), d.lines.data(), width, d.rows.data(), d.rows.size());
            });
        }
    }
}

TEST(kernel_add_short_rows) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line line, rows;
        std::vector<std::int16_t> lines;
        bool operator==(const Data&) const = default;
    };
    Random random(17);
    for (int n_vectors = 0; n_vectors <= 20; ++n_vectors) {
        for (const Spread spread : spreads) {
            const int width = 2 * Kernels::lanes * n_vectors;
            const int n_lines = pick(random, 1, 12);
            describe_case("add_short_rows", width, spread);
            const auto stride = static_cast<std::size_t>(width);
            Data data{Line(stride + 5, 77), {}, std::vector<std::int16_t>(stride * static_cast<std::size_t>(n_lines))};
            for (std::size_t t = 0; t < stride; ++t) {
                // Magnitudes of at most 2^15 − 1 in all: 2^30 is brought down to it.
                const Line parts = draw_parts(random, static_cast<std::size_t>(n_lines), spread);
                data.line[t] = pick(random, -(1 << 29), 1 << 29);
                for (std::size_t r = 0; r < static_cast<std::size_t>(n_lines); ++r) {
                    const int part = spread == Spread::small ? parts[r] : parts[r] / ((1 << 15) + 2);
                    data.lines[r * stride + t] = static_cast<std::int16_t>(part);
                }
            }
            for (int r = 0; r < n_lines; ++r) {
                if (chance(random, 0.7)) {
                    data.rows.push_back(r);
                }
            }
            const auto add = [&](const Kernels& kernels, Data& d) {
                kernels.add_short_rows(d.line.data(), d.lines.data(), width, d.rows.data(), d.rows.size());
            };
            compare(data, add);
            // The short lines say what long ones would.
            const Line wide(data.lines.begin(), data.lines.end());
            Line expected = data.line;
            plain_kernels().add_rows(expected.data(), wide.data(), width, data.rows.data(), data.rows.size());
            add(plain_kernels(), data);
            CHECK(data.line == expected);
        }
    }
}

TEST(kernel_add_steps) {
    if (!has_vectors()) {
        return;
    }
    Random random(13);
    for (int n_tests = 1; n_tests < 120; ++n_tests) {
        for (const Spread spread : spreads) {
            describe_case("add_steps", n_tests, spread);
            const int n_rows = pick(random, 1, 9);
            const Line amounts = draw_parts(random, static_cast<std::size_t>(n_rows), spread);
            Line codes;
            Line rows;
            for (int i = 0; i < n_rows; ++i) {
                codes.push_back(pick(random, 0, n_tests));  // the last code satisfies no test
                if (chance(random, 0.8)) {
                    rows.push_back(i);
                }
            }
            // What stands before and after the axis must not change.
            const std::size_t margin = 2 * Kernels::lanes;
            const Line line(static_cast<std::size_t>(n_tests) + 2 * margin, pick(random, -100, 100));
            const auto add = [&](const Kernels& kernels, Line& l) {
                kernels.add_steps(l.data() + margin, n_tests, codes.data(), amounts.data(), rows.data(), rows.size());
            };
            compare(line, add);
            Line expected = line;
            for (std::size_t t = 0; t < static_cast<std::size_t>(n_tests); ++t) {
                for (const std::int32_t row : rows) {
                    const auto r = static_cast<std::size_t>(row);
                    expected[margin + t] += codes[r] <= static_cast<std::int32_t>(t) ? amounts[r] : 0;
                }
            }
            Line found = line;
            add(plain_kernels(), found);
            CHECK(found == expected);
        }
    }
}

namespace {

// Four quadrants made of positive and negative rows: the extremes of their parts lie between what those allow.
struct Met {
    Line both, b_sum, left_three, left_four, right_three, right_four;
    Quadrants extremes;
    std::array<std::int32_t, 4> first;
    bool operator==(const Met&) const = default;
};

}  // namespace

TEST(kernel_meet) {
    if (!has_vectors()) {
        return;
    }
    Random random(14);
    for (int n = 0; n < 70; ++n) {
        for (const Spread spread : spreads) {
            describe_case("meet", n, spread);
            const auto size = static_cast<std::size_t>(n);
            // Sums with and without the first test are the same for every second test, so the masses are as well; how
            // they fall on either side of the second test is drawn anew.
            Line masses = draw_parts(random, 4, spread);
            for (std::int32_t& mass : masses) {
                mass = std::abs(mass);
            }
            const std::int32_t a_sum = masses[0] - masses[1];
            const std::int32_t all = a_sum + masses[2] - masses[3];
            Met data{Line(size),     Line(size),     Line(size + 1),  Line(size + 1),
                     Line(size + 1), Line(size + 1), Quadrants(size), {0, 0, 0, 0}};
            for (Line* line : {&data.left_three, &data.left_four, &data.right_three, &data.right_four}) {
                for (std::int32_t& value : *line) {
                    value = chance(random, 0.5) ? 0 : pick(random, 0, 1 << 30);
                }
            }
            const QuadrantExtremes extremes = data.extremes.view();
            for (std::size_t j = 0; j < size; ++j) {
                std::array<std::int32_t, 4> plus;
                std::array<std::int32_t, 4> minus;
                const auto cut = [&](std::int32_t mass) { return chance(random, 0.3) ? mass : pick(random, 0, mass); };
                plus[0] = cut(masses[0]);
                plus[1] = masses[0] - plus[0];
                minus[0] = cut(masses[1]);
                minus[1] = masses[1] - minus[0];
                plus[2] = cut(masses[2]);
                plus[3] = masses[2] - plus[2];
                minus[2] = cut(masses[3]);
                minus[3] = masses[3] - minus[2];
                data.both[j] = plus[0] - minus[0];
                data.b_sum[j] = data.both[j] + plus[2] - minus[2];
                for (std::size_t q = 0; q < 4; ++q) {
                    extremes.high[q][j] = chance(random, 0.3) ? plus[q] : pick(random, 0, plus[q]);
                    extremes.low[q][j] = chance(random, 0.3) ? -minus[q] : -pick(random, 0, minus[q]);
                }
            }
            compare(data, [&](const Kernels& kernels, Met& d) {
                RootGains gains{{d.first[0], d.first[1]}, {d.first[2], d.first[3]}};
                kernels.meet(n, d.both.data(), d.b_sum.data(), a_sum, all, d.extremes.view(), gains,
                             d.left_three.data(), d.left_four.data(), d.right_three.data(), d.right_four.data());
                d.first = {gains.left.three, gains.left.four, gains.right.three, gains.right.four};
            });
            // And against the words of the header, in wide arithmetic.
            Met expected = data;
            const auto raise = [](std::int32_t& value, std::int64_t other) {
                value = static_cast<std::int32_t>(std::max<std::int64_t>(value, other));
            };
            for (std::size_t j = 0; j < size; ++j) {
                const std::int64_t d[4] = {data.both[j], a_sum - data.both[j], data.b_sum[j] - data.both[j],
                                           std::int64_t{all} - a_sum - data.b_sum[j] + data.both[j]};
                std::int64_t leaf[4];
                std::int64_t stump[4];
                for (std::size_t q = 0; q < 4; ++q) {
                    leaf[q] = std::abs(d[q]);
                    stump[q] = std::max(std::abs(2 * std::int64_t{extremes.high[q][j]} - d[q]),
                                        std::abs(2 * std::int64_t{extremes.low[q][j]} - d[q]));
                }
                const auto three = [&](std::size_t p, std::size_t q) {
                    return std::max(leaf[p] + stump[q], stump[p] + leaf[q]);
                };
                const auto four = [&](std::size_t p, std::size_t q) { return stump[p] + stump[q]; };
                raise(expected.first[0], three(0, 1));
                raise(expected.first[1], four(0, 1));
                raise(expected.first[2], three(2, 3));
                raise(expected.first[3], four(2, 3));
                raise(expected.left_three[j], three(0, 2));
                raise(expected.left_four[j], four(0, 2));
                raise(expected.right_three[j], three(1, 3));
                raise(expected.right_four[j], four(1, 3));
            }
            RootGains gains{{0, 0}, {0, 0}};
            plain_kernels().meet(n, data.both.data(), data.b_sum.data(), a_sum, all, extremes, gains,
                                 data.left_three.data(), data.left_four.data(), data.right_three.data(),
                                 data.right_four.data());
            data.first = {gains.left.three, gains.left.four, gains.right.three, gains.right.four};
            CHECK(data == expected);
        }
    }
}

TEST(kernel_own_axis) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line both;
        Line run;
        Quadrants extremes;
        bool operator==(const Data&) const = default;
    };
    Random random(15);
    for (int n = 0; n < 60; ++n) {
        for (const Spread spread : spreads) {
            const auto size = static_cast<std::size_t>(n);
            Data data{Line(size), Line(4 * size + 1), Quadrants(size)};
            data.extremes.draw(random);
            const Line sides = draw_parts(random, 2, spread);
            const std::int32_t a_sum = sides[0] + sides[1];
            for (std::size_t j = 0; j < size; ++j) {
                data.both[j] = sides[j % 2];
                data.run[j] = pick(random, 0, 1 << 29);
                data.run[size + j] = pick(random, 0, 1 << 29);
                data.run[2 * size + j] = -pick(random, 0, 1 << 29);
                data.run[3 * size + j] = -pick(random, 0, 1 << 29);
            }
            describe_case("own_before", n, spread);
            compare(data, [&](const Kernels& kernels, Data& d) {
                std::int32_t* const high[2] = {d.run.data(), d.run.data() + size};
                std::int32_t* const low[2] = {d.run.data() + 2 * size, d.run.data() + 3 * size};
                kernels.own_before(n, d.both.data(), a_sum, high, low, d.extremes.view());
            });
            describe_case("own_after", n, spread);
            compare(data, [&](const Kernels& kernels, Data& d) {
                const std::int32_t* const high[2] = {d.run.data(), d.run.data() + size};
                const std::int32_t* const low[2] = {d.run.data() + 2 * size, d.run.data() + 3 * size};
                kernels.own_after(n, d.both.data(), a_sum, high, low, d.extremes.view());
            });
        }
    }
}

namespace {

// The extremes over all prefixes of one side, the empty one included.
void widen_by_prefixes(const Line& amounts, std::int32_t& high, std::int32_t& low) {
    std::int64_t sum = 0;
    for (const std::int32_t amount : amounts) {
        sum += amount;
        high = static_cast<std::int32_t>(std::max<std::int64_t>(high, sum));
        low = static_cast<std::int32_t>(std::min<std::int64_t>(low, sum));
    }
}

void walk_against_prefix_sums(const Kernels& kernels) {
    Random random(16);
    for (int repeat = 0; repeat < 40; ++repeat) {
        for (const Spread spread : spreads) {
            const int n_rows = pick(random, 1, 60);
            const int n_codes = pick(random, 1, repeat < 20 ? 12 : 70);  // codes with an element; one more has none
            const int n_tests = pick(random, 1, 12);
            describe_case("walk", n_codes, spread);
            const Line amounts = draw_parts(random, static_cast<std::size_t>(n_rows), spread);
            Line codes;
            Line root_code;
            for (int i = 0; i < n_rows; ++i) {
                codes.push_back(pick(random, 0, n_codes));
                root_code.push_back(pick(random, 0, n_tests));
            }
            Line rows;
            Line start{0};
            for (int test = 0; test < n_tests; ++test) {
                for (int i = 0; i < n_rows; ++i) {
                    if (root_code[static_cast<std::size_t>(i)] == test) {
                        rows.push_back(i);
                    }
                }
                start.push_back(static_cast<std::int32_t>(rows.size()));
            }
            // Rows of the first few tests may be on the left side from the start.
            const int first = pick(random, 0, n_tests - 1);
            Line left(static_cast<std::size_t>(n_codes), 0);
            Line both(static_cast<std::size_t>(n_codes), 0);
            for (std::size_t i = 0; i < static_cast<std::size_t>(n_rows); ++i) {
                if (codes[i] < n_codes) {
                    both[static_cast<std::size_t>(codes[i])] += amounts[i];
                    left[static_cast<std::size_t>(codes[i])] += root_code[i] < first ? amounts[i] : 0;
                }
            }
            Line right(both);
            for (std::size_t c = 0; c < right.size(); ++c) {
                right[c] -= left[c];
            }
            SegmentTree tree;
            tree.resize(left.size());
            for (std::size_t c = 0; c < left.size(); ++c) {
                tree.elements[c] = SegmentTree::Lanes{left[c], -left[c], right[c], -right[c]};
            }
            tree.sum_up(left.size());
            std::vector<Extremes> found(static_cast<std::size_t>(n_tests - first));
            if (chance(random, 0.5)) {
                found[0].high[0] = pick(random, 0, 50);
                found[0].low[1] = -pick(random, 0, 50);
            }
            std::vector<Extremes> expected = found;
            const std::int32_t* starts = start.data() + first;
            kernels.walk(tree, rows.data(), starts, n_tests - first, codes.data(), n_codes, amounts.data(),
                         found.data());
            for (std::size_t test = 0; test < found.size(); ++test) {
                for (auto k = static_cast<std::size_t>(starts[test]); k < static_cast<std::size_t>(starts[test + 1]);
                     ++k) {
                    const auto row = static_cast<std::size_t>(rows[k]);
                    if (codes[row] < n_codes) {
                        left[static_cast<std::size_t>(codes[row])] += amounts[row];
                        right[static_cast<std::size_t>(codes[row])] -= amounts[row];
                    }
                }
                widen_by_prefixes(left, expected[test].high[0], expected[test].low[0]);
                widen_by_prefixes(right, expected[test].high[1], expected[test].low[1]);
                CHECK(std::memcmp(&found[test], &expected[test], sizeof(Extremes)) == 0);
            }
        }
    }
}

}  // namespace

TEST(kernel_walk_plain) {
    walk_against_prefix_sums(plain_kernels());
}

TEST(kernel_walk_vectors) {
    if (has_vectors()) {
        walk_against_prefix_sums(*avx2_kernels());
    }
}

namespace {

// Sums taken anew for every root test and code, in 64 bits.
template <class Lane>
void sides_against_sums(const Kernels& kernels, void (*Kernels::*sides)(const std::int32_t*, std::int32_t, const Lane*,
                                                                        const Lane*, CodeEnds, SideBatch<Lane>&)) {
    constexpr std::size_t n_slots = SideBatch<Lane>::slots;
    Random random(18);
    const std::int64_t most = sizeof(Lane) == 2 ? std::numeric_limits<std::int16_t>::max() : most_total;
    for (int repeat = 0; repeat < 200; ++repeat) {
        const int n = pick(random, 1, 60);
        const int n_codes = pick(random, 1, 12);
        const int n_root_codes = pick(random, 1, 20);
        const bool is_categorical = chance(random, 0.3);
        describe_case("sides", n, Spread::even);
        std::vector<Lane> amounts;
        std::vector<Lane> root_codes;
        std::vector<int> codes;
        std::int64_t left = chance(random, 0.3) ? n : most;
        for (int i = 0; i < n; ++i) {
            const auto amount =
                std::uniform_int_distribution<std::int64_t>(0, chance(random, 0.1) ? left : left / n)(random);
            left -= amount;
            amounts.push_back(static_cast<Lane>(chance(random, 0.5) ? amount : -amount));
            for (std::size_t slot = 0; slot < n_slots; ++slot) {
                root_codes.push_back(static_cast<Lane>(pick(random, 0, n_root_codes - 1)));
            }
            codes.push_back(pick(random, 0, n_codes - 1));
        }
        std::vector<std::int32_t> rows(static_cast<std::size_t>(n));
        std::iota(rows.begin(), rows.end(), 0);
        const auto code = [&](std::int32_t row) { return codes[static_cast<std::size_t>(row)]; };
        std::stable_sort(rows.begin(), rows.end(), [&](auto x, auto y) { return code(x) < code(y); });
        std::vector<std::int32_t> order;
        for (std::size_t k = 0; k < rows.size(); ++k) {
            const bool is_last = k + 1 == rows.size() || code(rows[k]) != code(rows[k + 1]);
            order.push_back(2 * rows[k] + (is_last ? 1 : 0));
        }
        SideBatch<Lane> batch{};
        for (std::size_t k = 0; k < batch.size; ++k) {
            batch.test[k] = static_cast<Lane>(pick(random, 0, n_root_codes - 1));
            batch.high[0][k] = static_cast<Lane>(chance(random, 0.2) ? pick(random, 0, 100) : 0);
            batch.low[1][k] = static_cast<Lane>(chance(random, 0.2) ? -pick(random, 0, 100) : 0);
        }
        SideBatch<Lane> expected = batch;
        for (std::size_t k = 0; k < batch.size; ++k) {
            for (int c = 0; c < n_codes; ++c) {
                std::int64_t sum[2] = {0, 0};
                bool is_there = false;
                for (int i = 0; i < n; ++i) {
                    const auto row = static_cast<std::size_t>(i);
                    is_there = is_there || code(i) == c;
                    if (is_categorical ? code(i) == c : code(i) <= c) {
                        sum[root_codes[row * n_slots + k % n_slots] <= batch.test[k] ? 0 : 1] += amounts[row];
                    }
                }
                for (std::size_t side = 0; is_there && side < 2; ++side) {
                    const auto x = static_cast<Lane>(sum[side]);
                    expected.high[side][k] = std::max(expected.high[side][k], x);
                    expected.low[side][k] = std::min(expected.low[side][k], x);
                }
            }
        }
        for (const CodeEnds ends : {CodeEnds::alike, CodeEnds::mixed, CodeEnds::categories}) {
            SideBatch<Lane> found = batch;
            if (is_categorical == (ends == CodeEnds::categories)) {
                (kernels.*sides)(order.data(), n, amounts.data(), root_codes.data(), ends, found);
                CHECK(std::memcmp(&found, &expected, sizeof found) == 0);
            }
        }
    }
}

}  // namespace

TEST(kernel_sides_plain) {
    sides_against_sums<std::int32_t>(plain_kernels(), &Kernels::sides);
    sides_against_sums<std::int16_t>(plain_kernels(), &Kernels::short_sides);
}

TEST(kernel_sides_vectors) {
    if (has_vectors()) {
        sides_against_sums<std::int32_t>(*avx2_kernels(), &Kernels::sides);
        sides_against_sums<std::int16_t>(*avx2_kernels(), &Kernels::short_sides);
    }
}

TEST(kernel_coarse) {
    Random random(18);
    for (int n = 1; n < 60; ++n) {
        for (const Spread spread : spreads) {
            describe_case("coarse", n, spread);
            // Amounts per group: of either label, on the left and on the right side; then sums before each group.
            const Line parts = draw_parts(random, 4 * static_cast<std::size_t>(n), spread);
            Line before[4] = {Line{0}, Line{0}, Line{0}, Line{0}};
            for (std::size_t h = 0; h < static_cast<std::size_t>(n); ++h) {
                for (std::size_t s = 0; s < 4; ++s) {
                    before[s].push_back(before[s].back() + std::abs(parts[4 * h + s]));
                }
            }
            Line all_positive;
            Line all_negative;
            for (std::size_t h = 0; h <= static_cast<std::size_t>(n); ++h) {
                all_positive.push_back(before[0][h] + before[2][h]);
                all_negative.push_back(before[1][h] + before[3][h]);
            }
            const std::int32_t most = pick(random, 0, 1) == 0 ? 1 << 30 : pick(random, 0, 1 << 20);
            std::array<std::int32_t, 4> expected{most, most, most, most};
            for (std::size_t side = 0; side < 2; ++side) {
                const Line& p = before[2 * side];
                const Line& q = before[2 * side + 1];
                for (std::size_t h = 0; h < static_cast<std::size_t>(n); ++h) {
                    const std::int32_t low = std::min(p[h], q[h]);
                    const std::int32_t exact = low + std::min(p.back() - p[h], q.back() - q[h]);
                    const std::int32_t bound = low + std::min(p.back() - p[h + 1], q.back() - q[h + 1]);
                    expected[2 * side] = std::min(expected[2 * side], exact);
                    expected[2 * side + 1] = std::min(expected[2 * side + 1], bound);
                }
            }
            for (const Kernels* kernels : {&plain_kernels(), avx2_kernels()}) {
                if (kernels == nullptr) {
                    continue;
                }
                CoarseStumps stumps{most, most, most, most};
                kernels->coarse(n, before[0].data(), before[1].data(), all_positive.data(), all_negative.data(),
                                stumps);
                const std::array<std::int32_t, 4> found{stumps.left_exact, stumps.left_bound, stumps.right_exact,
                                                        stumps.right_bound};
                CHECK(found == expected);
            }
        }
    }
}

// Costs of n groups or rows side by side for `width` labels; what one label costs altogether is at most 2^30.
Line draw_costs(Random& random, int n, int width, Spread spread) {
    Line costs(static_cast<std::size_t>(n * width));
    for (int k = 0; k < width; ++k) {
        const Line parts = draw_parts(random, static_cast<std::size_t>(n), spread);
        for (int g = 0; g < n; ++g) {
            costs[static_cast<std::size_t>(g * width + k)] = std::abs(parts[static_cast<std::size_t>(g)]);
        }
    }
    return costs;
}

TEST(kernel_add_costs) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line cells, places, costs;
        bool operator==(const Data&) const = default;
    };
    Random random(19);
    for (int width = Kernels::lanes; width <= 10 * Kernels::lanes; width += Kernels::lanes) {
        for (const Spread spread : spreads) {
            describe_case("add_costs", width, spread);
            const int n_places = pick(random, 1, 9);
            Data data{draw_costs(random, n_places, width, Spread::small), {}, draw_costs(random, 1, width, spread)};
            data.cells.resize(data.cells.size() + 5, 77);
            for (int c = 0; c < n_places; ++c) {
                data.places.push_back(pick(random, 0, n_places - 1));
            }
            for (std::int32_t& cost : data.costs) {
                cost /= 16;  // a place may be named more than once
            }
            compare(data, [&](const Kernels& kernels, Data& d) {
                kernels.add_costs(d.cells.data(), d.places.data(), n_places, d.costs.data(), width);
                kernels.take_costs(d.cells.data(), d.places.data(), n_places / 2, d.costs.data(), width);
            });
        }
    }
}

TEST(kernel_least_costs) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line cells, all, left, right, least, sums;
        bool operator==(const Data&) const = default;
    };
    Random random(20);
    for (int width = Kernels::lanes; width <= 10 * Kernels::lanes; width += Kernels::lanes) {
        for (const bool is_running : {true, false}) {
            for (const Spread spread : spreads) {
                describe_case("least_costs", width, spread);
                const int n = pick(random, 1, 20);
                // Groups of the left side, then of the right side.
                const Line costs = draw_costs(random, 2 * n, width, spread);
                const auto half = static_cast<std::ptrdiff_t>(n) * width;
                const auto size = static_cast<std::size_t>(width);
                Data data{Line(costs.begin(), costs.begin() + half),
                          Line(costs.begin(), costs.begin() + half),
                          Line(size, 0),
                          Line(size, 0),
                          Line(static_cast<std::size_t>(4 * n + 5), 77),
                          Line(2, 0)};
                for (std::size_t at = 0; at < data.all.size(); ++at) {
                    const std::int32_t other = costs[at + data.all.size()];
                    data.left[at % size] += data.cells[at];
                    data.right[at % size] += other;
                    data.all[at] += other + (is_running && at >= size ? data.all[at - size] : 0);
                }
                compare(data, [&](const Kernels& kernels, Data& d) {
                    kernels.least_costs(d.cells.data(), d.all.data(), n, width, is_running, d.left.data(),
                                        d.right.data(), d.least.data());
                    kernels.least_sums(d.least.data(), n, d.sums.data());
                });
            }
        }
    }
}

TEST(kernel_cut_rows) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        Line costs, rows, codes, run, whole;
        std::int32_t best, at;
        bool operator==(const Data&) const = default;
    };
    Random random(21);
    for (int width = Kernels::lanes; width <= 10 * Kernels::lanes; width += Kernels::lanes) {
        for (const Spread spread : spreads) {
            describe_case("cut_rows", width, spread);
            const int n = pick(random, 1, 20);
            const auto size = static_cast<std::size_t>(width);
            Data data{draw_costs(random, n + 2, width, spread), {}, {}, {}, Line(size, 0), 1 << 30, -1};
            data.run.assign(data.costs.end() - width, data.costs.end());
            for (std::size_t at = 0; at < data.costs.size(); ++at) {
                data.whole[at % size] += data.costs[at];
            }
            for (int r = 0; r < n; ++r) {
                data.rows.push_back(r);
                data.codes.push_back(pick(random, 0, n / 2));
            }
            std::stable_sort(data.rows.begin(), data.rows.end(), [&](std::int32_t x, std::int32_t y) {
                return data.codes[static_cast<std::size_t>(x)] < data.codes[static_cast<std::size_t>(y)];
            });
            compare(data, [&](const Kernels& kernels, Data& d) {
                kernels.cut_rows(d.costs.data(), width, d.rows.data(), n, d.codes.data(), d.run.data(), d.whole.data(),
                                 d.best, d.at);
            });
        }
    }
}

TEST(kernel_quadrants_in_64_bits) {
    if (!has_vectors()) {
        return;
    }
    struct Data {
        std::vector<std::int64_t> both, second, whole, left, right, gain, test;
        bool operator==(const Data&) const = default;
    };
    Random random(71);
    for (int n = 1; n <= 40; ++n) {
        for (const std::int64_t most : {std::int64_t{3}, std::int64_t{1} << 56}) {
            const auto draw = [&](std::size_t size) {
                std::vector<std::int64_t> values(size);
                for (std::int64_t& value : values) {
                    value = std::uniform_int_distribution<std::int64_t>(-most, most)(random);
                }
                return values;
            };
            const auto size = static_cast<std::size_t>(n);
            Data data{draw(size),     draw(size),     std::vector<std::int64_t>(4 * size), draw(4 * size),
                      draw(4 * size), draw(4 * size), std::vector<std::int64_t>(4 * size)};
            for (std::int64_t& test : data.test) {
                test = pick(random, -1, 9);
            }
            const std::vector<std::int64_t> sides = draw(2);
            compare(data, [&](const Kernels& kernels, Data& d) {
                const QuadrantSums sums{d.both.data(), d.second.data(), sides[0], sides[1]};
                kernels.part_sums(size, sums, d.whole.data());
                if (n % 2 == 0) {
                    kernels.weigh_signed(size, sums, d.whole.data(), d.left.data(), d.right.data());
                } else {
                    kernels.weigh_label(size, sums, d.whole.data(), d.left.data(), d.right.data());
                }
                kernels.keep_best(4 * size, d.left.data(), d.right.data(), 4, d.gain.data(), d.test.data());
                kernels.forbid_small(size, sums, d.whole.data(), most / 2, d.left.data(), d.right.data());
            });
        }
    }
}

TEST(kernels_are_chosen_by_the_switch) {
    CHECK(&choose_kernels(false) == &plain_kernels());
    CHECK(avx2_kernels() == nullptr || &choose_kernels(true) == avx2_kernels());
}

}  // namespace certree::test
