#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> split_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, int64_t axis, int outputs,
                              std::vector<CaseInput> inputs) {
        cases.push_back({"Split/" + name, "Split", std::move(inputs), {{"axis", axis}}, outputs});
    };
    add("equal", 0, 3, {random_elements({6, 5})});
    add("last_is_less", 1, 3, {random_elements({2, 7})});
    add("last_is_empty", 0, 4, {random_elements({5, 2})});
    add("given", -1, 2, {random_elements({3, 8}), constant_ints({2, 6})});
    add("given_otherwise", -1, 2, {random_elements({3, 8}), constant_ints({5, 3})});
    add("given_empty", 0, 3, {random_elements({4, 3}), constant_ints({0, 4, 0})});
    add("channels", 1, 2, {random_elements({2, 10, 6, 6}), constant_ints({3, 7})});
    add("large", 1, 2, {random_elements({1, 64, 56, 56})});
    for (const DType dtype : types_of_all_sizes()) {
        add(std::string(name_of(dtype)), 1, 2, {random_elements({3, 5}, dtype)});
    }
    add("strings", 1, 2, {given_strings({2, 3})});
    return cases;
}

}  // namespace leat::testing
