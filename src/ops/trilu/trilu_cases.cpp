#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> trilu_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, const Ints& k, int64_t upper) {
        std::vector<CaseInput> inputs = {std::move(x)};
        if (!k.empty()) {
            inputs.push_back(given_input<int64_t>({}, k));
        }
        cases.push_back(exact(make_case("Trilu", name, std::move(inputs), {{"upper", upper}})));
    };
    for (const DType dtype : types_of_all_sizes()) {
        const std::string name(name_of(dtype));
        add(name + "_upper", random_elements({4, 5}, dtype), {}, 1);
        add(name + "_lower", random_elements({2, 5, 3}, dtype), {}, 0);
        add(name + "_upper_k", random_elements({2, 3, 7}, dtype), {2}, 1);
        add(name + "_lower_k", random_elements({7, 3}, dtype), {-1}, 0);
    }
    for (const DType dtype : {DType::kBfloat16, DType::kInt8, DType::kInt16, DType::kInt64,
                              DType::kUint16, DType::kUint32, DType::kUint64}) {
        add(std::string(name_of(dtype)), random_elements({2, 3, 4}, dtype), {1}, 0);
    }
    for (const int64_t k :
         {int64_t{0}, int64_t{-2}, int64_t{3}, int64_t{-9}, int64_t{9}, INT64_MIN, INT64_MAX}) {
        const std::string name = "k_" + std::to_string(k);
        add(name + "_upper", random_elements({3, 5}), {k}, 1);
        add(name + "_lower", random_elements({3, 5}), {k}, 0);
    }
    cases.push_back(exact(make_case("Trilu", "default", {random_elements({3, 3})})));
    CaseInput list = given_input<int64_t>({1}, {1});
    list.constant = true;
    cases.push_back(exact(make_case("Trilu", "k_in_a_list", {random_elements({3, 3}), list})));
    add("no_rows", random_elements({2, 0, 3}), {1}, 1);
    add("no_columns", random_elements({3, 0}), {}, 0);
    add("no_matrices", random_elements({0, 3, 3}), {}, 0);
    add("rank8", random_elements({1, 2, 1, 2, 1, 2, 3, 3}), {-1}, 1);
    add("large", random_elements({3, 200, 310}), {5}, 0);
    add("strings", given_strings({3, 3}), {}, 1);
    return cases;
}

}  // namespace leat::testing
