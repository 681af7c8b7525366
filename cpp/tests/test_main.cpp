// Runs every registered test, or those whose name contains the first argument.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>

#include "tests/test.hpp"

namespace certree::test {

namespace {

constexpr int most_reported = 3;  // failed checks printed per test

std::string description;
int n_failed_checks = 0;
long n_checks = 0;

}  // namespace

std::vector<Test>& registered_tests() {
    static std::vector<Test> tests;
    return tests;
}

void describe(std::string text) {
    description = std::move(text);
}

void check(bool is_true, const char* condition, const char* file, int line) {
    ++n_checks;
    if (!is_true && ++n_failed_checks <= most_reported) {
        std::printf("%s:%d: not true: %s\n    %s\n", file, line, condition, description.c_str());
    }
}

void skip(const std::string& reason) {
    std::printf("skipped: %s\n", reason.c_str());
}

int run(const char* part_of_name) {
    int n_passed = 0;
    int n_failed = 0;
    for (const Test& test : registered_tests()) {
        if (std::strstr(test.name, part_of_name) == nullptr) {
            continue;
        }
        description.clear();
        n_failed_checks = 0;
        n_checks = 0;
        const auto start = std::chrono::steady_clock::now();
        try {
            test.body();
        } catch (const std::exception& error) {
            check(false, error.what(), "exception", 0);
        }
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
        const bool is_passed = n_failed_checks == 0;
        ++(is_passed ? n_passed : n_failed);
        std::printf("%s %s: %ld checks, %d failed, %.2f s\n", is_passed ? "ok  " : "FAIL", test.name, n_checks,
                    n_failed_checks, elapsed.count());
        std::fflush(stdout);
    }
    std::printf("%d passed, %d failed\n", n_passed, n_failed);
    return n_failed == 0 && n_passed > 0 ? 0 : 1;
}

}  // namespace certree::test

int main(int argc, char** argv) {
    return certree::test::run(argc > 1 ? argv[1] : "");
}
