#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> expand_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const char* op, const std::string& name, CaseInput x,
                              const Ints& operand) {
        cases.push_back({std::string(op) + "/" + name, op, {std::move(x), constant_ints(operand)}});
    };
    add("Expand", "rows", random_elements({1, 5}), {4, 5});
    add("Expand", "columns", random_elements({4, 1}), {4, 7});
    add("Expand", "keeps_larger", random_elements({3, 1, 5}), {1, 4, 1});
    add("Expand", "more_axes", random_elements({3}), {2, 4, 3});
    add("Expand", "smaller_rank", random_elements({2, 3, 4}), {1});
    add("Expand", "scalar", random_elements({}), {3, 70});
    add("Expand", "to_empty", random_elements({1, 3}), {0, 3});
    add("Expand", "large", random_elements({64, 1, 1}), {64, 40, 41});
    add("Expand", "image", random_elements({2, 3, 1, 1}), {2, 3, 6, 5});
    add("Tile", "both", random_elements({2, 3}), {3, 2});
    add("Tile", "none", random_elements({2, 3}), {1, 1});
    add("Tile", "zero", random_elements({2, 3}), {0, 2});
    add("Tile", "scalar", random_elements({}), {});
    add("Tile", "image", random_elements({2, 3, 4, 5}), {1, 2, 2, 3});
    add("Tile", "rank8", random_elements({1, 2, 1, 2, 1, 2, 1, 2}), {2, 2, 2, 1, 1, 2, 2, 2});
    for (const DType dtype : types_of_all_sizes()) {
        add("Expand", std::string(name_of(dtype)), random_elements({3, 1, 2}, dtype), {3, 5, 2});
        add("Tile", std::string(name_of(dtype)), random_elements({3, 5}, dtype), {2, 2});
    }
    add("Expand", "strings", given_strings({2, 1}), {2, 2});
    add("Tile", "strings", given_strings({2, 1}), {2, 2});
    return cases;
}

}  // namespace leat::testing
