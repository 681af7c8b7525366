// Work that Ctrl-C can stop.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "control.hpp"

namespace certree::door {

namespace nb = nanobind;

// Runs the work in a thread of its own while this one forwards Ctrl-C and reports, lock held, ten times a second. The
// first Ctrl-C asks the work to stop and is forgotten, also where it arrives inside a report; a second one, or any
// other exception, is left set, and the answer is false.
template <class Work, class Report>
bool work_watched(const Work& work, const Control& control, const Report& report) {
    using Clock = Control::Clock;
    std::mutex mutex;
    std::condition_variable finished;
    bool is_finished = false;
    std::thread worker([&] {
        work();
        const std::lock_guard lock(mutex);
        is_finished = true;
        finished.notify_all();
    });
    bool was_interrupted = false;
    bool is_well = true;
    const auto stop = [&](bool is_interrupt) {
        control.interrupt();
        is_well = is_interrupt && !was_interrupted;
        was_interrupted = true;
        return is_well;
    };
    Clock::time_point next_report = Clock::now() + std::chrono::milliseconds(100);
    while (is_well) {
        {
            nb::gil_scoped_release release;
            std::unique_lock lock(mutex);
            if (finished.wait_for(lock, std::chrono::milliseconds(20), [&] { return is_finished; })) {
                break;
            }
        }
        if (PyErr_CheckSignals() != 0) {
            if (!stop(PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0)) {
                break;
            }
            PyErr_Clear();
        }
        if (Clock::now() >= next_report) {
            next_report = Clock::now() + std::chrono::milliseconds(100);
            try {
                report();
            } catch (nb::python_error& error) {
                if (!stop(error.matches(PyExc_KeyboardInterrupt))) {
                    error.restore();
                }
            }
        }
    }
    nb::gil_scoped_release release;
    worker.join();
    return is_well;
}

}  // namespace certree::door
