// Whole problems at random against an enumeration that shares no code with the engine.
//
//     engine_fuzz [--minutes M | --cases N] [--seed S] [--first N] [--family NAME] [--threads T]
//
// Case n of a seed is the same problem whatever else is run; --first n --cases 1 draws it again. The first fault ends
// the run: the problem is shrunk and written as a test, and the exit code is 1.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "fuzz/families.hpp"
#include "fuzz/judge.hpp"
#include "fuzz/shrink.hpp"

namespace certree::fuzz {

namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
    double minutes = 0.0;  // 0: by cases
    std::int64_t cases = 100000;
    std::int64_t first = 0;
    std::uint64_t seed = 1;
    std::string family;  // a part of its name; empty: all
    int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
};

[[noreturn]] void say_usage() {
    std::puts(
        "engine_fuzz [--minutes M | --cases N] [--seed S] [--first N] [--family NAME] [--threads T]\n\n"
        "families:");
    for (const Family& family : families()) {
        std::printf("    %s\n", family.name);
    }
    std::exit(2);
}

Arguments read_arguments(int argc, char** argv) {
    Arguments arguments;
    for (int a = 1; a + 1 < argc; a += 2) {
        const std::string name = argv[a];
        const char* value = argv[a + 1];
        if (name == "--minutes") {
            arguments.minutes = std::atof(value);
        } else if (name == "--cases") {
            arguments.cases = std::atoll(value);
        } else if (name == "--first") {
            arguments.first = std::atoll(value);
        } else if (name == "--seed") {
            arguments.seed = std::strtoull(value, nullptr, 10);
        } else if (name == "--family") {
            arguments.family = value;
        } else if (name == "--threads") {
            arguments.threads = std::max(1, std::atoi(value));
        } else {
            say_usage();
        }
    }
    if (argc % 2 == 0) {
        say_usage();
    }
    return arguments;
}

// What each worker is looking at, for a fault that ends the process.
thread_local std::int64_t case_at_hand = -1;

void say_where(int signal) {
    char text[160];
    const int n =
        std::snprintf(text, sizeof text, "\nsignal %d in case %lld: run it again with --first %lld --cases 1\n", signal,
                      static_cast<long long>(case_at_hand), static_cast<long long>(case_at_hand));
    const auto n_written = write(STDERR_FILENO, text, static_cast<std::size_t>(n));
    static_cast<void>(n_written);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

struct Tally {
    std::vector<std::int64_t> cases;
    std::vector<double> seconds;
};

class Fuzzer {
public:
    explicit Fuzzer(const Arguments& arguments) : arguments_(arguments), next_(arguments.first) {
        for (std::size_t f = 0; f < families().size(); ++f) {
            if (std::strstr(families()[f].name, arguments.family.c_str()) != nullptr) {
                chosen_.insert(chosen_.end(), static_cast<std::size_t>(families()[f].share), f);
            }
        }
        if (chosen_.empty()) {
            say_usage();
        }
        total_.cases.assign(families().size(), 0);
        total_.seconds.assign(families().size(), 0.0);
    }

    int run() {
        const Clock::time_point start = Clock::now();
        const auto elapsed = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
        std::vector<std::thread> workers;
        for (int w = 0; w < arguments_.threads; ++w) {
            workers.emplace_back([&] { work(elapsed); });
        }
        for (std::thread& worker : workers) {
            worker.join();
        }
        std::int64_t n_cases = 0;
        std::printf("%-20s %12s %14s\n", "family", "cases", "microseconds");
        for (std::size_t f = 0; f < families().size(); ++f) {
            n_cases += total_.cases[f];
            if (total_.cases[f] > 0) {
                std::printf("%-20s %12lld %14.1f\n", families()[f].name, static_cast<long long>(total_.cases[f]),
                            1e6 * total_.seconds[f] / static_cast<double>(total_.cases[f]));
            }
        }
        std::printf("%lld cases in %.1f s, %.0f per second, seed %llu: %s\n", static_cast<long long>(n_cases),
                    elapsed(), static_cast<double>(n_cases) / elapsed(),
                    static_cast<unsigned long long>(arguments_.seed), has_failed_ ? "FAILED" : "no fault");
        return has_failed_ ? 1 : 0;
    }

private:
    Random random_of(std::int64_t number) const {
        std::seed_seq words{static_cast<std::uint32_t>(arguments_.seed),
                            static_cast<std::uint32_t>(arguments_.seed >> 32), static_cast<std::uint32_t>(number),
                            static_cast<std::uint32_t>(number >> 32)};
        return Random(words);
    }

    template <class Elapsed>
    void work(const Elapsed& elapsed) {
        Tally tally{std::vector<std::int64_t>(families().size(), 0), std::vector<double>(families().size(), 0.0)};
        const auto is_over = [&](std::int64_t number) {
            return has_failed_ || (arguments_.minutes > 0.0 ? elapsed() >= 60.0 * arguments_.minutes
                                                            : number >= arguments_.first + arguments_.cases);
        };
        for (std::int64_t n = next_.fetch_add(1); !is_over(n); n = next_.fetch_add(1)) {
            case_at_hand = n;
            Random random = random_of(n);
            const std::size_t family =
                chosen_[std::uniform_int_distribution<std::size_t>(0, chosen_.size() - 1)(random)];
            const Clock::time_point start = Clock::now();
            const Problem problem = families()[family].draw(random);
            const std::string fault = fault_of(problem);
            tally.seconds[family] += std::chrono::duration<double>(Clock::now() - start).count();
            ++tally.cases[family];
            if (!fault.empty()) {
                report(n, families()[family], problem, fault);
            }
        }
        const std::lock_guard lock(mutex_);
        for (std::size_t f = 0; f < tally.cases.size(); ++f) {
            total_.cases[f] += tally.cases[f];
            total_.seconds[f] += tally.seconds[f];
        }
    }

    void report(std::int64_t number, const Family& family, const Problem& problem, const std::string& fault) {
        if (has_failed_.exchange(true)) {
            return;
        }
        std::printf("seed %llu, case %lld, family %s: %s\nshrinking ...\n",
                    static_cast<unsigned long long>(arguments_.seed), static_cast<long long>(number), family.name,
                    fault.c_str());
        std::fflush(stdout);
        const Problem shrunk = shrink(problem);
        std::printf("shrunk: %s\n%s", fault_of(shrunk).c_str(), as_test(shrunk).c_str());
        const std::string claim = claim_at_fault(shrunk);
        std::printf("%s\n", claim.empty() ? "no claim rules out an optimal tree" : claim.c_str());
    }

    const Arguments& arguments_;
    std::vector<std::size_t> chosen_;  // every family as often as its share
    std::atomic<std::int64_t> next_;
    std::atomic<bool> has_failed_{false};
    std::mutex mutex_;
    Tally total_;
};

}  // namespace

}  // namespace certree::fuzz

int main(int argc, char** argv) {
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGILL}) {
        std::signal(signal, certree::fuzz::say_where);
    }
#ifdef SIGBUS
    std::signal(SIGBUS, certree::fuzz::say_where);
#endif
    const certree::fuzz::Arguments arguments = certree::fuzz::read_arguments(argc, argv);
    return certree::fuzz::Fuzzer(arguments).run();
}
