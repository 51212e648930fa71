#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> concat_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, int64_t axis,
                              std::vector<CaseInput> inputs) {
        cases.push_back({"Concat/" + name, "Concat", std::move(inputs), {{"axis", axis}}});
    };
    add("one", 0, {random_elements({2, 3})});
    add("rows", 0, {random_elements({2, 3}), random_elements({4, 3}), random_elements({1, 3})});
    add("columns", -1, {random_elements({2, 3}), random_elements({2, 4}), random_elements({2, 1})});
    add("channels", 1, {random_elements({2, 3, 9, 9}), random_elements({2, 5, 9, 9})});
    add("large", 1, {random_elements({2, 64, 40, 40}), random_elements({2, 32, 40, 40})});
    add("with_empty", 1,
        {random_elements({2, 0, 3}), random_elements({2, 5, 3}), random_elements({2, 0, 3})});
    add("all_empty", 1, {random_elements({0, 2}), random_elements({0, 3})});
    for (const DType dtype : types_of_all_sizes()) {
        add(std::string(name_of(dtype)), 1,
            {random_elements({3, 5}, dtype), random_elements({3, 2}, dtype)});
    }
    add("strings", 0, {given_strings({2, 2}), given_strings({1, 2})});
    // Rows of which 16, 8 and 2 bytes move as one element.
    for (const int64_t extent : {32, 24, 6}) {
        add("wide_rows_" + std::to_string(extent), 1,
            {random_elements({3, 16}, DType::kUint8), random_elements({3, extent}, DType::kUint8)});
    }
    return cases;
}

}  // namespace leat::testing
