// What must hold of every search: its tree is worth what it says and keeps the limits, its bounds hold, and "optimal"
// is true.
#pragma once

#include <string>

#include "fuzz/families.hpp"

namespace certree::fuzz {

// What is wrong with the engine's answer, in words; empty where nothing is.
std::string fault_of(const Problem& problem);

// The first claim of the search that rules out an optimal tree, where a search with other switches off finds one; empty
// where none does, or none is ruled out.
std::string claim_at_fault(const Problem& problem);

}  // namespace certree::fuzz
