// An instance that stays with a process and looks at root tests for a search in another one.
#pragma once

#include <nanobind/nanobind.h>

namespace certree::door {

void define_station(nanobind::module_& m);

}  // namespace certree::door
