#include "bindings/sums.hpp"

#include <cstring>

#include "bindings/arrays.hpp"
#include "sums/places.hpp"
#include "sums/stumps.hpp"

namespace certree::door {

namespace {

using namespace certree::sums;

std::vector<ColumnSet> read_sets(const Matrix<std::int32_t>& sets) {
    std::vector<ColumnSet> found(sets.shape(0));
    if (sets.shape(1) != 3) {
        throw nb::value_error("sets have three columns each");
    }
    std::memcpy(found.data(), sets.data(), sets.size() * sizeof(std::int32_t));
    return found;
}

void check_size(std::span<const ColumnSet> sets, std::span<const std::int32_t> sizes, std::size_t n_channels,
                std::size_t n_amounts) {
    std::size_t expected = 0;
    for (const ColumnSet& set : sets) {
        expected += count_cells(set, sizes) * n_channels;
    }
    if (expected != n_amounts) {
        throw nb::value_error("the cells are not those of the sets");
    }
}

std::vector<ColumnTests> read_tests(const Vector<std::int32_t>& n_tests, const Vector<std::int32_t>& base,
                                    const Vector<std::int32_t>& n_added, const Vector<std::int32_t>& added) {
    std::vector<ColumnTests> found(n_tests.size());
    std::int32_t test = 0;
    std::size_t place = 0;
    for (std::size_t c = 0; c < found.size(); ++c) {
        found[c].first = test;
        found[c].n_tests = n_tests.data()[c];
        found[c].start.push_back(0);
        for (std::int32_t t = 0; t < found[c].n_tests; ++t, ++test) {
            found[c].base.push_back(base.data()[test]);
            for (std::int32_t i = 0; i < n_added.data()[test]; ++i) {
                found[c].added.push_back(added.data()[place++]);
            }
            found[c].start.push_back(static_cast<std::int32_t>(found[c].added.size()));
        }
    }
    return found;
}

LeafRule read_rule(std::int32_t n_labels, const Vector<std::int64_t>& least) {
    return {static_cast<std::size_t>(n_labels), {least.data(), least.data() + least.size()}};
}

template <class Code>
void add(Matrix<Code> codes, Vector<std::int32_t> sizes, Matrix<std::int64_t> amounts, Matrix<std::int32_t> sets,
         nb::ndarray<std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu> cells) {
    const std::vector<ColumnSet> own = read_sets(sets);
    check_size(own, view(sizes), amounts.shape(1), cells.size());
    if (amounts.shape(0) != codes.shape(1)) {
        throw nb::value_error("codes and amounts have different numbers of rows");
    }
    nb::gil_scoped_release release;
    add_cells<Code>(view(codes), codes.shape(1), view(sizes), view(amounts), amounts.shape(1), own,
                    std::span(cells.data(), cells.size()));
}

nb::object leaf_gains(Vector<std::int64_t> cells, Matrix<std::int32_t> sets, Vector<std::int32_t> sizes,
                      Vector<std::int32_t> n_tests, Vector<std::int32_t> base, Vector<std::int32_t> n_added,
                      Vector<std::int32_t> added, std::int32_t n_labels, Vector<std::int64_t> least) {
    const std::vector<ColumnSet> own = read_sets(sets);
    const std::vector<ColumnTests> tests = read_tests(n_tests, base, n_added, added);
    const LeafRule rule = read_rule(n_labels, least);
    check_size(own, view(sizes), rule.n_channels(), cells.size());
    std::vector<Amount> gains;
    {
        nb::gil_scoped_release release;
        gains = find_leaf_gains(view(cells), own, view(sizes), tests, rule);
    }
    return to_numpy(std::move(gains));
}

nb::tuple best_stumps(Vector<std::int64_t> cells, Matrix<std::int32_t> sets, Vector<std::int32_t> sizes,
                      Vector<std::int32_t> n_tests, Vector<std::int32_t> base, Vector<std::int32_t> n_added,
                      Vector<std::int32_t> added, std::int32_t n_labels, Vector<std::int64_t> least,
                      Matrix<std::int32_t> pairs) {
    const std::vector<ColumnSet> own = read_sets(sets);
    const std::vector<ColumnTests> tests = read_tests(n_tests, base, n_added, added);
    const LeafRule rule = read_rule(n_labels, least);
    check_size(own, view(sizes), rule.n_channels(), cells.size());
    std::vector<ColumnPair> asked;
    for (std::size_t i = 0; i < pairs.shape(0); ++i) {
        asked.push_back({pairs.data()[2 * i], pairs.data()[2 * i + 1]});
    }
    std::vector<Amount> gains;
    std::vector<std::int32_t> numbers;
    {
        nb::gil_scoped_release release;
        BestStumps best(tests, view(sizes), rule, asked, choose_kernels(true));
        const Amount* table = cells.data();
        for (const ColumnSet& set : own) {
            best.add(set, table);
            table += count_cells(set, view(sizes)) * rule.n_channels();
        }
        gains = best.gains();
        numbers.assign(best.best_tests().begin(), best.best_tests().end());
    }
    return nb::make_tuple(to_numpy(std::move(gains)), to_numpy(std::move(numbers)));
}

nb::tuple places(Vector<double> values, Vector<std::int64_t> amounts, Vector<double> ends, bool are_rows_asked) {
    if (values.size() != amounts.size()) {
        throw nb::value_error("values and amounts have different numbers of rows");
    }
    Places found;
    {
        nb::gil_scoped_release release;
        found = find_places(view(values), view(amounts), view(ends), are_rows_asked);
    }
    return nb::make_tuple(to_numpy(std::move(found.mass)), to_numpy(std::move(found.equal)),
                          to_numpy(std::move(found.rows)), to_numpy(std::move(found.places)));
}

nb::object code(Vector<double> values, Vector<double> ends, std::uint16_t missing) {
    std::vector<std::uint16_t> codes;
    {
        nb::gil_scoped_release release;
        codes = code_values(view(values), view(ends), missing);
    }
    return to_numpy(std::move(codes));
}

}  // namespace

void define_sums(nb::module_& m) {
    m.def("add_cells", &add<std::uint8_t>, nb::arg("codes"), nb::arg("sizes"), nb::arg("amounts"), nb::arg("sets"),
          nb::arg("cells"));
    m.def("add_cells", &add<std::uint16_t>, nb::arg("codes"), nb::arg("sizes"), nb::arg("amounts"), nb::arg("sets"),
          nb::arg("cells"));
    m.def("find_leaf_gains", &leaf_gains, nb::kw_only(), nb::arg("cells"), nb::arg("sets"), nb::arg("sizes"),
          nb::arg("n_tests"), nb::arg("base"), nb::arg("n_added"), nb::arg("added"), nb::arg("n_labels"),
          nb::arg("least"));
    m.def("find_stumps", &best_stumps, nb::kw_only(), nb::arg("cells"), nb::arg("sets"), nb::arg("sizes"),
          nb::arg("n_tests"), nb::arg("base"), nb::arg("n_added"), nb::arg("added"), nb::arg("n_labels"),
          nb::arg("least"), nb::arg("pairs"));
    m.def("find_places", &places, nb::arg("values"), nb::arg("amounts"), nb::arg("ends"), nb::arg("are_rows_asked"));
    m.def("code_values", &code, nb::arg("values"), nb::arg("ends"), nb::arg("missing"));
    m.attr("NOTHING") = nothing;
}

}  // namespace certree::door
