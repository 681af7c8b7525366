// What must hold of every search: its tree is worth what it says and keeps the limits, its bounds hold, and "optimal"
// is true.
#pragma once

#include <string>

#include "fuzz_families.hpp"

namespace certree::fuzz {

// What is wrong with the engine's answer, in words; empty where nothing is.
std::string fault_of(const Problem& problem);

}  // namespace certree::fuzz
