// Sets of good trees, as the caller sees them.
#pragma once

#include <nanobind/nanobind.h>

namespace certree::door {

void define_good_trees(nanobind::module_& m);

}  // namespace certree::door
