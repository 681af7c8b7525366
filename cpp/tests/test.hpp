// The engine's test bench: tests register themselves, a failed check is counted and reported with the case at hand, and
// the run goes on. Checks are made from the main thread only.
#pragma once

#include <string>
#include <vector>

namespace certree::test {

struct Test {
    const char* name;
    void (*body)();
};

std::vector<Test>& registered_tests();

struct Registration {
    Registration(const char* name, void (*body)()) { registered_tests().push_back({name, body}); }
};

// What is being looked at: printed with the first failed checks of a test.
void describe(std::string text);

void check(bool is_true, const char* condition, const char* file, int line);

// Says why a test did nothing.
void skip(const std::string& reason);

}  // namespace certree::test

#define TEST(name)                                                        \
    static void name();                                                   \
    static const certree::test::Registration name##_is_here{#name, name}; \
    static void name()

#define CHECK(condition) certree::test::check((condition), #condition, __FILE__, __LINE__)
