#include "search/elsewhere.hpp"

#include <stdexcept>
#include <utility>

namespace certree {

namespace {

void require(bool is_true, const char* message) {
    if (!is_true) {
        throw std::invalid_argument(message);
    }
}

RootTest read_test(std::int64_t axis, std::int64_t code, const Instance& instance) {
    require(axis >= 0 && std::cmp_less(axis, instance.axes.size()), "a test of an axis that is not there");
    require(code >= 0 && code < instance.axes[static_cast<std::size_t>(axis)].n_tests, "a test that is not there");
    return {static_cast<std::int32_t>(axis), static_cast<std::int32_t>(code)};
}

// Two numbers per node, parents before children, left before right: axis and code, or −1 and label.
void write_tree(const Node& node, std::vector<std::int64_t>& numbers) {
    numbers.insert(numbers.end(), {node.axis, node.is_leaf() ? node.label : node.code});
    if (!node.is_leaf()) {
        write_tree(*node.left, numbers);
        write_tree(*node.right, numbers);
    }
}

NodePtr read_tree(std::span<const std::int64_t>& rest, const Instance& instance) {
    require(rest.size() >= 2, "a tree that ends too early");
    const std::int64_t axis = rest[0];
    const std::int64_t code = rest[1];
    rest = rest.subspan(2);
    if (axis < 0) {
        require(code >= 0 && code < instance.n_labels, "a leaf with a label that is not there");
        return make_leaf(static_cast<std::int32_t>(code));
    }
    const RootTest test = read_test(axis, code, instance);
    NodePtr left = read_tree(rest, instance);
    NodePtr right = read_tree(rest, instance);
    return make_split(test.axis, test.code, std::move(left), std::move(right));
}

constexpr std::size_t n_of_question = 13;

}  // namespace

std::vector<std::int64_t> write_question(const Question& question) {
    const Settings& settings = question.settings;
    return {settings.penalty,         settings.max_depth,
            settings.max_leaves,      settings.min_samples_leaf,
            settings.min_weight_leaf, settings.min_samples_arm,
            question.test.axis,       question.test.code,
            question.depth,           question.cap,
            question.spare,           question.sides.left,
            question.sides.right};
}

Question read_question(std::span<const std::int64_t> numbers, const Instance& instance) {
    require(numbers.size() == n_of_question, "a question has thirteen numbers");
    Question question;
    Settings& settings = question.settings;
    settings.penalty = numbers[0];
    settings.max_depth = static_cast<int>(numbers[1]);
    settings.max_leaves = static_cast<int>(numbers[2]);
    settings.min_samples_leaf = numbers[3];
    settings.min_weight_leaf = numbers[4];
    settings.min_samples_arm = numbers[5];
    question.test = read_test(numbers[6], numbers[7], instance);
    question.depth = static_cast<int>(numbers[8]);
    require(question.depth >= 1, "a tree that begins with a test has a depth of one at least");
    question.cap = numbers[9];
    question.spare = numbers[10];
    question.sides = {numbers[11], numbers[12]};
    return question;
}

std::vector<std::int64_t> write_answer(const Answer& answer) {
    std::vector<std::int64_t> numbers{answer.sides.left, answer.sides.right, answer.value};
    if (answer.tree) {
        write_tree(*answer.tree, numbers);
    }
    return numbers;
}

Answer read_answer(std::span<const std::int64_t> numbers, const Instance& instance) {
    require(numbers.size() >= 3, "an answer has three numbers at least");
    Answer answer{{numbers[0], numbers[1]}, numbers[2], nullptr};
    std::span<const std::int64_t> rest = numbers.subspan(3);
    if (answer.value < unreachable) {
        answer.tree = read_tree(rest, instance);
    }
    require(rest.empty(), "an answer that goes on behind its end");
    return answer;
}

}  // namespace certree
