#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> tensor_scatter_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput past, CaseInput update,
                              const Ints& indices, Attributes attributes = {}) {
        std::vector<CaseInput> inputs = {std::move(past), std::move(update)};
        if (!indices.empty()) {
            inputs.push_back(given_input<int64_t>(Shape{int64_t(indices.size())}, indices));
        }
        cases.push_back(
            exact(make_case("TensorScatter", name, std::move(inputs), std::move(attributes))));
    };
    const Attributes circular = {{"mode", std::string("circular")}};
    std::vector<DType> types = types_of_all_sizes();
    types.insert(types.end(),
                 {DType::kFloat32, DType::kBfloat16, DType::kFloat8E4M3FN, DType::kFloat4E2M1});
    for (const DType dtype : types) {
        const std::string name(name_of(dtype));
        add(name, random_elements({2, 5, 3}, dtype), random_elements({2, 2, 3}, dtype), {3, 1});
        add(name + "_circular", random_elements({2, 2, 4, 3}, dtype),
            random_elements({2, 2, 3, 3}, dtype), {2, 3}, circular);
    }
    add("no_indices", random_elements({2, 4, 3}), random_elements({2, 2, 3}), {});
    add("last_axis", random_elements({2, 3, 7}), random_elements({2, 3, 2}), {5, 0},
        {{"axis", int64_t{-1}}});
    add("axis_1", random_elements({2, 6, 2, 3}), random_elements({2, 4, 2, 3}), {2, 0},
        {{"axis", int64_t{1}}});
    add("far_indices", random_elements({3, 4, 2}), random_elements({3, 3, 2}),
        {-1, INT64_MAX, INT64_MIN}, circular);
    add("whole_cache", random_elements({2, 4, 2}), random_elements({2, 4, 2}), {1, 3}, circular);
    add("no_update", random_elements({2, 4, 2}), random_elements({2, 0, 2}), {4, 1});
    add("no_batch", random_elements({0, 4, 2}), random_elements({0, 2, 2}), {});
    add("no_positions", random_elements({2, 0, 2}), random_elements({2, 0, 2}), {0, 0}, circular);
    add("large", random_elements({3, 4, 90, 64}), random_elements({3, 4, 1, 64}), {0, 89, 41});
    add("strings", given_strings({2, 3, 1}), given_strings({2, 1, 1}), {2, 0});
    return cases;
}

}  // namespace leat::testing
