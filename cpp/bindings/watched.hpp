// Work that Ctrl-C can stop.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "control.hpp"

namespace certree::door {

namespace nb = nanobind;

enum class Watched {
    finished,     // or stopped by somebody else
    interrupted,  // by the first Ctrl-C, which is forgotten
    raising,      // a second Ctrl-C, or another Python exception, is left set
};

// Runs the work in a thread of its own while this one forwards Ctrl-C and reports, lock held, ten times a second. The
// first Ctrl-C asks the work to stop, also where it arrives inside a report, and so does whatever a report throws; what
// is no Python exception is thrown on, once the work has ended.
template <class Work, class Report>
Watched work_watched(const Work& work, const Control& control, const Report& report) {
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
    Watched ended = Watched::finished;
    std::exception_ptr failure;
    const auto stop = [&](bool is_interrupt) {
        control.interrupt();
        ended = is_interrupt && ended == Watched::finished ? Watched::interrupted : Watched::raising;
        return ended;
    };
    Clock::time_point next_report = Clock::now() + std::chrono::milliseconds(100);
    while (ended != Watched::raising && !failure) {
        {
            nb::gil_scoped_release release;
            std::unique_lock lock(mutex);
            if (finished.wait_for(lock, std::chrono::milliseconds(20), [&] { return is_finished; })) {
                break;
            }
        }
        if (PyErr_CheckSignals() != 0) {
            if (stop(PyErr_ExceptionMatches(PyExc_KeyboardInterrupt) != 0) == Watched::raising) {
                break;
            }
            PyErr_Clear();
        }
        if (Clock::now() >= next_report) {
            next_report = Clock::now() + std::chrono::milliseconds(100);
            try {
                report();
            } catch (nb::python_error& error) {
                if (stop(error.matches(PyExc_KeyboardInterrupt)) == Watched::raising) {
                    error.restore();
                }
            } catch (...) {
                control.interrupt();
                failure = std::current_exception();
            }
        }
    }
    {
        nb::gil_scoped_release release;
        worker.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return ended;
}

}  // namespace certree::door
