// The door to Python: arrays in, arrays out. The interpreter lock is released while the engine works; the calling
// thread waits, forwards Ctrl-C and reports progress. No C++ object survives a call but a Station, whose table stays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "bindings/arrays.hpp"
#include "bindings/good.hpp"
#include "bindings/station.hpp"
#include "bindings/sums.hpp"
#include "bindings/watched.hpp"
#include "search/search.hpp"
#include "shallow/cost_model.hpp"

namespace nb = nanobind;

namespace {

using namespace certree;
using namespace certree::door;

const char* name_of(Status status) {
    switch (status) {
    case Status::optimal: return "optimal";
    case Status::guessed: return "guessed";
    case Status::time_limit: return "time_limit";
    case Status::memory_limit: return "memory_limit";
    case Status::interrupted: return "interrupted";
    }
    return "";
}

// The tree as parallel arrays in the caller's axes and codes, parents before children.
struct Arrays {
    std::vector<std::int32_t> axis, code, left, right, label;

    std::int32_t add(const Instance& instance, const Node& node) {
        const auto id = static_cast<std::int32_t>(axis.size());
        axis.push_back(-1);
        code.push_back(-1);
        left.push_back(-1);
        right.push_back(-1);
        label.push_back(node.label);
        if (!node.is_leaf()) {
            const Axis& tested = instance.axes[static_cast<std::size_t>(node.axis)];
            const std::int32_t l = add(instance, *node.left);
            const std::int32_t r = add(instance, *node.right);
            const auto at = static_cast<std::size_t>(id);
            axis[at] = tested.original_axis;
            code[at] = tested.original_code(node.code);
            left[at] = l;
            right[at] = r;
        }
        return id;
    }
};

nb::tuple bin(Vector<double> values) {
    std::vector<std::int32_t> codes(values.size());
    std::vector<double> distinct;
    {
        nb::gil_scoped_release release;
        bin_numeric(view(values), codes, distinct);
    }
    return nb::make_tuple(to_numpy(std::move(codes)), to_numpy(std::move(distinct)));
}

// Codes of a table so large that what was freed before, while it was read and prepared, is worth handing back.
constexpr std::size_t codes_worth_trimming = std::size_t{1} << 22;

// Whether the work is sure to end within some hundredths of a second: then it is not worth a thread of its own, and a
// Ctrl-C that falls into it is raised when it is done.
bool is_brief(const Input& input, const Constraints& constraints) {
    const std::int64_t n_codes = std::accumulate(input.sizes.begin(), input.sizes.end(), std::int64_t{0});
    const auto n_axes = static_cast<double>(input.sizes.size());
    return constraints.max_depth >= 0 && constraints.max_depth <= 3 && constraints.max_leaves == 0 &&
           !constraints.has_leaf_minimum() && input.n_labels == 2 &&
           forecast::closed_steps(input.n_rows, n_axes, static_cast<double>(n_codes), 3) <= forecast::few_steps;
}

// Root tests that the caller has looked at by somebody: asked without the lock, from any thread. What the caller
// raises ends the search and is raised there.
Elsewhere ask_caller(const nb::object& elsewhere, const std::optional<Instance>& instance) {
    return [&](const Question& question, const Control& control) -> std::optional<Answer> {
        std::vector<std::int64_t> numbers = write_question(question);
        {
            const nb::gil_scoped_acquire acquire;
            const nb::object is_stopped = nb::cpp_function([&control] { return control.should_stop(); });
            const nb::object answer = elsewhere(numbers, is_stopped);
            if (answer.is_none()) {
                // A look that was not stopped and has no answer would pass for one that found nothing.
                return control.should_stop() ? std::nullopt : throw std::runtime_error("a question without an answer");
            }
            numbers = nb::cast<std::vector<std::int64_t>>(answer);
        }
        return read_answer(numbers, *instance);
    };
}

nb::dict solve(Matrix<std::int32_t> codes, Vector<std::int32_t> sizes, Vector<std::uint8_t> categorical,
               std::optional<Vector<std::int32_t>> labels, Vector<double> weights, std::optional<Matrix<double>> costs,
               std::int32_t n_labels, double normaliser, double regularization, int max_depth, int max_leaves,
               std::int64_t min_samples_leaf, double min_weight_leaf, std::optional<Vector<double>> leaf_weights,
               std::optional<Vector<std::int32_t>> arms, std::int32_t n_arms, std::int64_t min_samples_arm,
               std::optional<Vector<double>> reference_costs, double time_limit, std::int64_t memory_limit,
               int n_threads, std::uint32_t switches, nb::object progress, std::optional<Vector<std::int64_t>> counts,
               nb::object elsewhere, int n_elsewhere) {
    using Clock = Control::Clock;
    const Clock::time_point start = Clock::now();
    const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
    Input input = read_input(codes, sizes, categorical, labels, weights, costs, n_labels, normaliser, leaf_weights,
                             arms, n_arms, reference_costs);
    if (counts) {
        input.counts = view(*counts);
    }
    input.stays = true;
    const Constraints constraints{max_depth, max_leaves, min_samples_leaf, min_weight_leaf, arms ? min_samples_arm : 0};
    const Control control(time_limit, switches);

    std::exception_ptr failure;
    std::optional<Instance> instance;
    const Elsewhere ask = ask_caller(elsewhere, instance);
    Limits limits{memory_limit, std::max(1, n_threads)};
    limits.elsewhere = elsewhere.is_none() ? nullptr : &ask;
    limits.n_elsewhere = std::max(1, n_elsewhere);
    Settings settings;
    std::optional<Search> search;
    std::atomic<bool> is_searching{false};
    Result result;
    const auto trim = [&] {
        if (input.codes.size() >= codes_worth_trimming) {
            trim_free_memory();
        }
    };
    const auto work = [&] {
        try {
            trim();
            instance.emplace(prepare(input, constraints.has_leaf_minimum(), switches));
            trim();
            settings = instance->settings(constraints, regularization);
            search.emplace(*instance, settings, limits, control);
            is_searching.store(true, std::memory_order_release);
            result = search->run();
        } catch (...) {
            failure = std::current_exception();
        }
    };
    Watched ended = Watched::finished;
    if (is_brief(input, constraints)) {
        nb::gil_scoped_release release;
        work();
    } else {
        ended = work_watched(work, control, [&] {
            if (!progress.is_none() && is_searching.load(std::memory_order_acquire)) {
                progress(elapsed(), instance->to_lower(search->upper_now()), instance->to_lower(search->lower_now()));
            }
        });
    }
    if (ended == Watched::raising) {
        throw nb::python_error();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }

    Arrays arrays;
    arrays.add(*instance, *result.tree);
    const double upper = instance->to_objective(result.cost, result.leaves, regularization);
    const bool is_exact = result.lower >= result.cost + times(result.leaves, settings.penalty);
    const Statistics& seen = search->statistics();
    nb::dict statistics;
    statistics["merged_rows"] = instance->n_rows;
    statistics["axes"] = instance->axes.size();
    statistics["tests"] = instance->n_tests;
    statistics["subproblems"] = seen.subproblems.load();
    statistics["expansions"] = seen.expansions.load();
    statistics["probes"] = seen.probes.load();
    statistics["looks_elsewhere"] = seen.elsewhere.load();
    statistics["pruned_by_similarity"] = seen.similar.load();
    statistics["pair_forms"] = seen.pairs.load();
    statistics["triple_forms"] = seen.triples.load();
    statistics["cache_hits"] = seen.cache_hits.load();
    statistics["cache_entries"] = seen.cache_entries;
    statistics["cache_forgotten"] = seen.cache_forgotten;
    statistics["depth_reached"] = seen.depth_reached;
    statistics["engine_seconds"] = elapsed();
    nb::dict answer;
    answer["axis"] = to_numpy(std::move(arrays.axis));
    answer["code"] = to_numpy(std::move(arrays.code));
    answer["left"] = to_numpy(std::move(arrays.left));
    answer["right"] = to_numpy(std::move(arrays.right));
    answer["label"] = to_numpy(std::move(arrays.label));
    answer["upper"] = upper;
    answer["lower"] = is_exact ? upper : std::min(upper, instance->to_lower(result.lower));
    answer["status"] = name_of(result.status);
    answer["rounding"] = rounding_of_any_tree(*instance, regularization, max_depth, input.n_rows);
    answer["statistics"] = statistics;
    return answer;
}

}  // namespace

NB_MODULE(_engine, m) {
    keep_freed_memory();
    m.doc() = "Native engine of certree; use certree.solve.";
    m.def("bin_numeric", &bin, nb::arg("values"));
    m.def("solve", &solve, nb::arg("codes"), nb::arg("sizes"), nb::arg("categorical"), nb::arg("labels").none(),
          nb::arg("weights"), nb::arg("costs").none(), nb::arg("n_labels"), nb::arg("normaliser"),
          nb::arg("regularization"), nb::arg("max_depth"), nb::arg("max_leaves"), nb::arg("min_samples_leaf"),
          nb::arg("min_weight_leaf"), nb::arg("leaf_weights").none(), nb::arg("arms").none(), nb::arg("n_arms"),
          nb::arg("min_samples_arm"), nb::arg("reference_costs").none(), nb::arg("time_limit"), nb::arg("memory_limit"),
          nb::arg("n_threads"), nb::arg("switches"), nb::arg("progress").none(), nb::arg("counts") = nb::none(),
          nb::arg("elsewhere") = nb::none(), nb::arg("n_elsewhere") = 1);
    define_good_trees(m);
    define_station(m);
    define_sums(m);
    nb::dict switches;
    for (const NamedSwitch& one : all_switches) {
        switches[one.name] = static_cast<std::uint32_t>(one.off);
    }
    m.attr("SWITCHES") = switches;
}
