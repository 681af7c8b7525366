// Sums over cells, seen from Python.
#pragma once

#include <nanobind/nanobind.h>

namespace certree::door {

void define_sums(nanobind::module_& m);

}  // namespace certree::door
