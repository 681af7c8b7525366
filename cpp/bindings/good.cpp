// Graphs of good trees cross the door as dictionaries of arrays: what the caller keeps is plain data.
#include "bindings/good.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <exception>
#include <functional>
#include <numeric>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/watched.hpp"
#include "good/build.hpp"
#include "good/counts.hpp"
#include "shallow/cost_model.hpp"

namespace certree::door {

namespace {

using namespace certree::good;

template <class T>
void read(const nb::dict& from, const char* name, std::vector<T>& to) {
    const auto array = nb::cast<Vector<T>>(from[name]);
    to.assign(array.data(), array.data() + array.size());
}

Graph read_graph(const nb::dict& given) {
    Graph graph;
    read(given, "leaf", graph.leaf);
    read(given, "label", graph.label);
    read(given, "is_asked", graph.is_asked);
    read(given, "first_edge", graph.first_edge);
    read(given, "axis", graph.axis);
    read(given, "code", graph.code);
    read(given, "left", graph.left);
    read(given, "right", graph.right);
    read(given, "columns", graph.columns);
    read(given, "ways", graph.ways);
    graph.budget = nb::cast<Amount>(given["budget"]);
    graph.has_idle = nb::cast<bool>(given["has_idle"]);
    return graph;
}

nb::dict write_graph(Graph graph) {
    nb::dict given;
    given["leaf"] = to_numpy(std::move(graph.leaf));
    given["label"] = to_numpy(std::move(graph.label));
    given["is_asked"] = to_numpy(std::move(graph.is_asked));
    given["first_edge"] = to_numpy(std::move(graph.first_edge));
    given["axis"] = to_numpy(std::move(graph.axis));
    given["code"] = to_numpy(std::move(graph.code));
    given["left"] = to_numpy(std::move(graph.left));
    given["right"] = to_numpy(std::move(graph.right));
    given["columns"] = to_numpy(std::move(graph.columns));
    given["ways"] = to_numpy(std::move(graph.ways));
    given["budget"] = graph.budget;
    given["has_idle"] = graph.has_idle;
    return given;
}

nb::dict write_trees(Trees trees) {
    nb::dict given;
    given["first_node"] = to_numpy(std::move(trees.first_node));
    given["axis"] = to_numpy(std::move(trees.axis));
    given["code"] = to_numpy(std::move(trees.code));
    given["label"] = to_numpy(std::move(trees.label));
    given["value"] = to_numpy(std::move(trees.value));
    return given;
}

// A Python int of any size.
nb::object write_count(Count count) {
    const nb::object low = nb::cast(static_cast<std::uint64_t>(count));
    const nb::object high = nb::cast(static_cast<std::uint64_t>(count >> 64));
    return low + high * nb::cast(std::uint64_t{1} << 32) * nb::cast(std::uint64_t{1} << 32);
}

// The work under watch; what it threw is thrown here.
template <class Work, class Report>
void watch(const Control& control, const Work& work, const Report& report) {
    std::exception_ptr failure;
    const Watched ended = work_watched(
        [&] {
            try {
                work();
            } catch (...) {
                failure = std::current_exception();
            }
        },
        control, report);
    if (ended == Watched::raising) {
        throw nb::python_error();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

// Short work and all that cannot be cut short: a stop leaves nothing to return.
template <class Work>
void watch_or_raise(const Control& control, const Work& work) {
    watch(control, work, [] {});
    if (control.should_stop()) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
}

// Whether all that comes before the graph is sure to take no more than some tenths of a second: a closed form, which
// adds sixteen lanes at a time. It is then not worth a thread of its own, and neither is a small graph; a Ctrl-C that
// falls into it is raised when it is done.
bool starts_briefly(const Input& input, const Constraints& constraints) {
    constexpr double few_steps = 2e8;
    constexpr double lanes = 16;
    const std::int64_t n_codes = std::accumulate(input.sizes.begin(), input.sizes.end(), std::int64_t{0});
    return constraints.max_depth >= 0 && constraints.max_depth <= 3 && constraints.max_leaves == 0 &&
           !constraints.has_leaf_minimum() && input.n_labels == 2 &&
           forecast::closed_steps(input.n_rows / lanes, static_cast<double>(input.sizes.size()),
                                  static_cast<double>(n_codes), 3) <= few_steps;
}

nb::dict find(Matrix<std::int32_t> codes, Vector<std::int32_t> sizes, Vector<std::uint8_t> categorical,
              std::optional<Vector<std::int32_t>> labels, Vector<double> weights, std::optional<Matrix<double>> costs,
              std::int32_t n_labels, double normaliser, double regularization, int max_depth, int max_leaves,
              std::int64_t min_samples_leaf, double min_weight_leaf, std::optional<Vector<double>> leaf_weights,
              std::optional<Vector<std::int32_t>> arms, std::int32_t n_arms, std::int64_t min_samples_arm,
              Vector<std::int32_t> column_of_axis, std::int32_t n_columns, double tolerance, double share, bool idle,
              double total, double time_limit, std::int64_t memory_limit, int n_threads, std::uint32_t switches,
              nb::object progress) {
    Input input = read_input(codes, sizes, categorical, labels, weights, costs, n_labels, normaliser, leaf_weights,
                             arms, n_arms, std::nullopt);
    input.total = total;
    const Constraints constraints{max_depth, max_leaves, min_samples_leaf, min_weight_leaf, arms ? min_samples_arm : 0};
    // Rows that no label tells apart still tell tests apart.
    switches |= no_row_dropping;
    const Limits limits{memory_limit, std::max(1, n_threads)};
    const Control control(time_limit, switches);
    Wish wish;
    wish.tolerance = tolerance;
    wish.share = share;
    wish.has_idle = idle;
    wish.column_of_axis = view(column_of_axis);
    wish.n_columns = n_columns;
    Progress seen;
    wish.progress = &seen;
    std::optional<Instance> instance;
    Settings settings;
    Found found;
    const auto work = [&] {
        instance.emplace(prepare(input, constraints.has_leaf_minimum(), switches));
        settings = instance->settings(constraints, regularization);
        found = find_good_trees(*instance, settings, limits, control, wish);
    };
    const auto report = [&] {
        if (!progress.is_none()) {
            progress(seen.n_looked_at.load(), seen.n_known.load());
        }
    };
    if (starts_briefly(input, constraints)) {
        wish.carry_on = [&](const std::function<void()>& rest) {
            const nb::gil_scoped_acquire acquire;
            watch(control, rest, report);
        };
        const nb::gil_scoped_release release;
        work();
    } else {
        watch(control, work, report);
    }
    nb::dict answer;
    answer["graph"] = write_graph(std::move(found.graph));
    answer["column_sets"] = to_numpy(std::move(found.column_sets));
    answer["n_words"] = found.n_words;
    answer["offset"] = instance->offset;
    answer["factor"] = instance->to_value.factor;
    answer["exponent"] = instance->to_value.exponent;
    answer["penalty"] = settings.penalty;
    answer["tolerance"] = found.tolerance;
    answer["optimum"] = found.optimum;
    answer["lower"] = found.lower;
    answer["missing"] = found.missing;
    answer["is_complete"] = found.is_complete;
    answer["status"] = found.is_complete        ? "complete"
                       : found.is_out_of_memory ? "memory_limit"
                       : control.is_late()      ? "time_limit"
                                                : "interrupted";
    answer["rounding"] = rounding_of_any_tree(*instance, regularization, max_depth, input.n_rows);
    nb::dict statistics;
    statistics["merged_rows"] = instance->n_rows;
    statistics["tests"] = instance->n_tests;
    statistics["nodes_searched"] = found.n_looked_at;
    statistics["bytes"] = found.bytes;
    answer["statistics"] = statistics;
    return answer;
}

nb::tuple count(const nb::dict& given, Amount budget, std::size_t most_entries, bool counts_ways) {
    const Graph graph = read_graph(given);
    const Control control(1e18, 0);
    CountRange range;
    const auto work = [&] { range = Counts(graph, most_entries, counts_ways, control).count(budget); };
    if (constexpr std::size_t few_edges = 300; graph.n_edges() <= few_edges) {
        work();  // not worth a thread
    } else {
        watch_or_raise(control, work);
    }
    const auto write = [](const std::vector<Count>& counts) {
        nb::list written;
        for (const Count n : counts) {
            written.append(write_count(n));
        }
        return written;
    };
    return nb::make_tuple(write(range.least), write(range.most), range.is_overflow);
}

nb::dict draw(const nb::dict& given, std::size_t n, std::uint64_t seed, std::size_t most_entries) {
    const Graph graph = read_graph(given);
    const Control control(1e18, 0);
    Trees trees;
    watch_or_raise(control, [&] { trees = Counts(graph, most_entries, false, control).draw(n, seed); });
    return write_trees(std::move(trees));
}

nb::dict list(const nb::dict& given, std::size_t first, std::size_t last) {
    const Graph graph = read_graph(given);
    const Control control(1e18, 0);
    Trees trees;
    watch_or_raise(control, [&] { trees = list_trees(graph, first, last, control); });
    return write_trees(std::move(trees));
}

nb::object row_labels(const nb::dict& given, Matrix<std::int32_t> codes, Vector<std::uint8_t> categorical,
                      std::int32_t n_labels) {
    const Graph graph = read_graph(given);
    const Control control(1e18, 0);
    std::vector<Amount> found;
    watch_or_raise(control, [&] {
        found = find_row_labels(graph, codes.data(), categorical.data(), codes.shape(1),
                                static_cast<std::size_t>(n_labels), control);
    });
    return to_numpy(std::move(found));
}

nb::dict keep(const nb::dict& given, Vector<std::uint8_t> is_kept, bool has_lone_leaf, Amount budget) {
    return write_graph(keep_edges(read_graph(given), view(is_kept), has_lone_leaf, budget));
}

nb::dict keep_leaves(const nb::dict& given, int least, int most) {
    return write_graph(with_leaves(read_graph(given), least, most));
}

nb::object through(const nb::dict& given) {
    return to_numpy(best_through(read_graph(given)));
}

}  // namespace

void define_good_trees(nb::module_& m) {
    m.def("find_good_trees", &find, nb::arg("codes"), nb::arg("sizes"), nb::arg("categorical"),
          nb::arg("labels").none(), nb::arg("weights"), nb::arg("costs").none(), nb::arg("n_labels"),
          nb::arg("normaliser"), nb::arg("regularization"), nb::arg("max_depth"), nb::arg("max_leaves"),
          nb::arg("min_samples_leaf"), nb::arg("min_weight_leaf"), nb::arg("leaf_weights").none(),
          nb::arg("arms").none(), nb::arg("n_arms"), nb::arg("min_samples_arm"), nb::arg("column_of_axis"),
          nb::arg("n_columns"), nb::arg("tolerance"), nb::arg("share"), nb::arg("idle"), nb::arg("total"),
          nb::arg("time_limit"), nb::arg("memory_limit"), nb::arg("n_threads"), nb::arg("switches"),
          nb::arg("progress").none());
    m.def("count_good_trees", &count, nb::arg("graph"), nb::arg("budget"), nb::arg("most_entries"),
          nb::arg("counts_ways"));
    m.def("draw_good_trees", &draw, nb::arg("graph"), nb::arg("n"), nb::arg("seed"), nb::arg("most_entries"));
    m.def("list_good_trees", &list, nb::arg("graph"), nb::arg("first"), nb::arg("last"));
    m.def("find_row_labels", &row_labels, nb::arg("graph"), nb::arg("codes"), nb::arg("categorical"),
          nb::arg("n_labels"));
    m.def("keep_edges", &keep, nb::arg("graph"), nb::arg("is_kept"), nb::arg("has_lone_leaf"), nb::arg("budget"));
    m.def("keep_leaves", &keep_leaves, nb::arg("graph"), nb::arg("least"), nb::arg("most"));
    m.def("find_best_through", &through, nb::arg("graph"));
}

}  // namespace certree::door
