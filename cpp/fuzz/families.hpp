// Whole problems drawn at random, in families: each makes sure of one feature and draws the others as they come.
#pragma once

#include <span>

#include "tests/test_runs.hpp"

namespace certree::fuzz {

using test::Options;
using test::Random;
using test::Table;

struct Problem {
    Table table;
    Options options;
};

struct Family {
    const char* name;
    int share;  // how often, among all, it is drawn
    Problem (*draw)(Random&);
};

std::span<const Family> families();

}  // namespace certree::fuzz
