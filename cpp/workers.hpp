// Work shared between threads. What one of them throws is thrown to the caller once all have ended.
#pragma once

#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace certree {

// Calls work(0) here and work(1) .. work(n − 1) in threads of their own. Where the system has no thread left, fewer are
// called: the work must not depend on their number.
template <class Work>
void share_work(int n, const Work& work) {
    std::mutex mutex;
    std::exception_ptr failure;
    const auto guarded = [&](int worker) {
        try {
            work(worker);
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = failure ? failure : std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(static_cast<std::size_t>(n > 1 ? n - 1 : 0));
    for (int worker = 1; worker < n; ++worker) {
        try {
            threads.emplace_back(guarded, worker);
        } catch (const std::system_error&) {
            break;
        }
    }
    guarded(0);
    for (std::thread& thread : threads) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
}

}  // namespace certree
