// Root tests that somebody else looks at: what is asked, what is answered, and both as plain numbers that can travel.
//
// Whoever answers has prepared the same instance from the same input, so axes, codes and amounts mean the same to both.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bounds.hpp"
#include "control.hpp"
#include "instance/problem.hpp"
#include "shallow/outcome.hpp"

namespace certree {

// Which tree below the cap begins with this test, and if there is none, what do its sides cost at least?
struct Question {
    Settings settings;  // of the search that asks
    RootTest test;
    int depth = 0;        // that the tree may have
    Amount cap = 0;       // a tree must cost less
    Amount spare = 0;     // bounds are worth this much above the cap; see Frontier::Look
    bounds::Sides sides;  // what is known of them; left is where the test holds
};

struct Answer {
    bounds::Sides sides;         // what they cost at least, leaf minima lifted
    Amount value = unreachable;  // of the best tree that begins with the test, where it is below the cap
    NodePtr tree;
};

// None: the control says stop.
using Elsewhere = std::function<std::optional<Answer>(const Question& question, const Control& control)>;

std::vector<std::int64_t> write_question(const Question& question);
std::vector<std::int64_t> write_answer(const Answer& answer);

// Throw std::invalid_argument for numbers that are no question, or no answer, about this instance.
Question read_question(std::span<const std::int64_t> numbers, const Instance& instance);
Answer read_answer(std::span<const std::int64_t> numbers, const Instance& instance);

}  // namespace certree
