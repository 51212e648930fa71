#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

OpCase scatter(const char* op,
               const std::string& name,
               std::vector<CaseInput> inputs,
               Attributes attributes) {
    return {std::string(op) + "/" + name, op, std::move(inputs), std::move(attributes)};
}

}  // namespace

std::vector<OpCase> scatter_cases() {
    std::vector<OpCase> cases;
    const auto positions = given_input<int64_t>({3, 1}, Ints{2, -4, 2});
    const auto rows = given_input<int64_t>({2, 3}, Ints{0, 3, -1, 1, 1, 2});
    for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
        for (const DType dtype :
             {DType::kFloat32, DType::kFloat16, DType::kBfloat16, DType::kFloat64, DType::kInt8,
              DType::kInt16, DType::kInt32, DType::kInt64, DType::kUint8, DType::kUint16,
              DType::kUint32, DType::kUint64, DType::kBool}) {
            const std::string name = std::string(reduction) + "_" + std::string(name_of(dtype));
            const Attributes attributes = {{"reduction", std::string(reduction)}};
            cases.push_back(
                scatter("ScatterND", name,
                        {random_elements({4, 5}, dtype), positions, random_elements({3, 5}, dtype)},
                        attributes));
            cases.push_back(
                scatter("ScatterElements", name,
                        {random_elements({4, 3}, dtype), rows, random_elements({2, 3}, dtype)},
                        attributes));
        }
    }
    cases.push_back(scatter(
        "ScatterND", "no_updates",
        {random_elements({4, 5}), random_elements({0, 1}, DType::kInt64), random_elements({0, 5})},
        {}));
    cases.push_back(
        scatter("ScatterND", "strings", {given_strings({4}), positions, given_strings({3})}, {}));
    cases.push_back(scatter("ScatterElements", "columns",
                            {random_elements({2, 4}), rows, random_elements({2, 3})},
                            {{"axis", int64_t{1}}}));
    cases.push_back(scatter(
        "ScatterND", "elements",
        {random_elements({4, 5}), given_input<int64_t>({2, 2, 2}, Ints{0, 1, -1, -5, 3, 0, 0, 1}),
         random_elements({2, 2})},
        {{"reduction", std::string("add")}}));
    // A position without indices is all of the data.
    cases.push_back(scatter("ScatterND", "whole",
                            {random_elements({4, 5}), random_elements({2, 0}, DType::kInt64),
                             random_elements({2, 4, 5})},
                            {}));
    cases.push_back(scatter(
        "ScatterElements", "large",
        {random_elements({60, 70}), given_input<int32_t>({50, 1}, std::vector<int32_t>(50, -1)),
         random_elements({50, 1})},
        {{"axis", int64_t{1}}}));
    for (const DType dtype : types_of_all_sizes()) {
        cases.push_back(scatter(
            "ScatterND", "type_" + std::string(name_of(dtype)),
            {random_elements({4, 5}, dtype), positions, random_elements({3, 5}, dtype)}, {}));
    }
    return cases;
}

}  // namespace leat::testing
