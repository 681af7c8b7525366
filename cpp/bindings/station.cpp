#include "bindings/station.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <exception>
#include <memory>
#include <mutex>

#include "bindings/arrays.hpp"
#include "bindings/watched.hpp"
#include "search/search.hpp"

namespace certree::door {

namespace {

// One search and what it refers to. Its memory serves every look of the search that asks.
struct Desk {
    Desk(const Instance& instance, const Settings& asked, const Limits& given, std::uint32_t switches)
        : settings(asked),
          limits(given),
          control(std::numeric_limits<double>::infinity(), switches),
          search(instance, settings, limits, control) {}

    Settings settings;
    Limits limits;
    Control control;
    Search search;
};

bool are_same(const Settings& a, const Settings& b) {
    return a.penalty == b.penalty && a.max_depth == b.max_depth && a.max_leaves == b.max_leaves &&
           a.min_samples_leaf == b.min_samples_leaf && a.min_weight_leaf == b.min_weight_leaf &&
           a.min_samples_arm == b.min_samples_arm;
}

class Station {
public:
    Station(Instance instance, const Limits& limits, std::uint32_t switches)
        : instance_(std::move(instance)), limits_(limits), switches_(switches) {}

    // None: `is_stopped` said so, which is asked ten times a second. Ctrl-C is raised: there is no answer so far.
    std::optional<std::vector<std::int64_t>> look(const std::vector<std::int64_t>& numbers,
                                                  const nb::object& is_stopped) {
        const Question question = read_question(numbers, instance_);
        while (true) {
            const std::shared_ptr<Desk> desk = find_desk(question.settings);
            std::exception_ptr failure;
            Answer answer;
            const auto work = [&] {
                try {
                    answer = desk->search.answer(question);
                } catch (...) {
                    failure = std::current_exception();
                }
            };
            const auto listen = [&] {
                if (nb::cast<bool>(is_stopped())) {
                    desk->control.interrupt();
                }
            };
            const Watched ended = work_watched(work, desk->control, listen);
            if (ended == Watched::interrupted) {
                PyErr_SetNone(PyExc_KeyboardInterrupt);
            }
            if (ended != Watched::finished) {
                throw nb::python_error();
            }
            if (failure) {
                std::rethrow_exception(failure);
            }
            if (!desk->control.should_stop()) {
                return write_answer(answer);
            }
            // Somebody else's look at the same desk may have been stopped, and this one with it.
            if (nb::cast<bool>(is_stopped())) {
                return std::nullopt;
            }
        }
    }

private:
    // A search that asks under limits on leaves also asks with these lifted, and with other penalties, one after the
    // other: what was asked last is asked next.
    std::shared_ptr<Desk> find_desk(const Settings& settings) {
        const std::lock_guard lock(mutex_);
        if (!desk_ || desk_->control.should_stop() || !are_same(desk_->settings, settings)) {
            desk_ = std::make_shared<Desk>(instance_, settings, limits_, switches_);
        }
        return desk_;
    }

    Instance instance_;
    Limits limits_;
    std::uint32_t switches_;
    std::mutex mutex_;
    std::shared_ptr<Desk> desk_;
};

std::unique_ptr<Station> open_station(Matrix<std::int32_t> codes, Vector<std::int32_t> sizes,
                                      Vector<std::uint8_t> categorical, std::optional<Vector<std::int32_t>> labels,
                                      Vector<double> weights, std::optional<Matrix<double>> costs,
                                      std::int32_t n_labels, double normaliser, std::int64_t min_samples_leaf,
                                      double min_weight_leaf, std::optional<Vector<double>> leaf_weights,
                                      std::optional<Vector<std::int32_t>> arms, std::int32_t n_arms,
                                      std::int64_t min_samples_arm, std::optional<Vector<double>> reference_costs,
                                      std::int64_t memory_limit, int n_threads, std::uint32_t switches) {
    const Input input = read_input(codes, sizes, categorical, labels, weights, costs, n_labels, normaliser,
                                   leaf_weights, arms, n_arms, reference_costs);
    Constraints constraints;
    constraints.min_samples_leaf = min_samples_leaf;
    constraints.min_weight_leaf = min_weight_leaf;
    constraints.min_samples_arm = arms ? min_samples_arm : 0;
    Limits limits;
    limits.memory_bytes = memory_limit;
    limits.n_threads = std::max(1, n_threads);
    nb::gil_scoped_release release;
    return std::make_unique<Station>(prepare(input, constraints.has_leaf_minimum(), switches), limits, switches);
}

}  // namespace

void define_station(nb::module_& m) {
    nb::class_<Station>(m, "Station").def("look", &Station::look, nb::arg("question"), nb::arg("is_stopped"));
    m.def("open_station", &open_station, nb::arg("codes"), nb::arg("sizes"), nb::arg("categorical"),
          nb::arg("labels").none(), nb::arg("weights"), nb::arg("costs").none(), nb::arg("n_labels"),
          nb::arg("normaliser"), nb::arg("min_samples_leaf"), nb::arg("min_weight_leaf"),
          nb::arg("leaf_weights").none(), nb::arg("arms").none(), nb::arg("n_arms"), nb::arg("min_samples_arm"),
          nb::arg("reference_costs").none(), nb::arg("memory_limit"), nb::arg("n_threads"), nb::arg("switches"));
}

}  // namespace certree::door
