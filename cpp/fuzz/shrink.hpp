// A problem on which the engine fails, made as small as it can be, and written as a test.
#pragma once

#include "fuzz/families.hpp"

namespace certree::fuzz {

// Greedy: whatever can be left out or made simpler is, as long as some fault remains.
Problem shrink(Problem problem);

// Statements to be pasted into a TEST of cpp/tests/test_search.cpp.
std::string as_test(const Problem& problem);

}  // namespace certree::fuzz
