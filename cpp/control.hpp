// When to stop: a deadline, an interrupt, and the switches. Read by every worker, written by the caller's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>

#include "switches.hpp"

namespace certree {

class Control {
public:
    using Clock = std::chrono::steady_clock;

    explicit Control(double seconds, std::uint32_t switches)
        : switches_(switches),
          has_deadline_(seconds < 1e9),
          deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(has_deadline_ ? seconds : 0.0))) {}

    // Stops with the whole, or after so many seconds.
    struct Slice {
        const Control& of;
        double seconds;
    };
    explicit Control(Slice slice)
        : switches_(slice.of.switches_),
          has_deadline_(slice.seconds < 1e9),
          deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                       std::chrono::duration<double>(has_deadline_ ? slice.seconds : 0.0))),
          whole_(&slice.of) {}

    // Stops once it was asked so many times: what a test stops anywhere, it can stop there again.
    struct Asked {
        std::int64_t times;
    };
    Control(Asked asked, std::uint32_t switches)
        : switches_(switches), has_deadline_(false), is_counted_(true), n_left_(asked.times) {}

    // Asked often: one relaxed load, and the clock where there is a deadline.
    bool should_stop() const {
        if (stop_.load(std::memory_order_relaxed) || (whole_ != nullptr && whole_->should_stop())) {
            return true;
        }
        if (has_deadline_ && Clock::now() >= deadline_) {
            is_late_.store(true, std::memory_order_relaxed);
            stop_.store(true, std::memory_order_relaxed);
            return true;
        }
        if (is_counted_ && n_left_.fetch_sub(1, std::memory_order_relaxed) <= 0) {
            interrupt();
            return true;
        }
        return false;
    }
    void interrupt() const { stop_.store(true, std::memory_order_relaxed); }
    // Infinite where there is no deadline.
    double seconds_left() const {
        return has_deadline_ ? std::chrono::duration<double>(deadline_ - Clock::now()).count()
                             : std::numeric_limits<double>::infinity();
    }
    bool is_late() const { return is_late_.load(std::memory_order_relaxed); }
    bool is_off(std::uint32_t which) const { return (switches_ & which) != 0; }

private:
    std::uint32_t switches_;
    bool has_deadline_;
    Clock::time_point deadline_;
    const Control* whole_ = nullptr;
    bool is_counted_ = false;
    mutable std::atomic<std::int64_t> n_left_{0};
    mutable std::atomic<bool> stop_{false};
    mutable std::atomic<bool> is_late_{false};
};

}  // namespace certree
