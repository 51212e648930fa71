#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

CaseInput holds(const Ints& elements) {
    CaseInput input;
    input.dtype = DType::kBool;
    input.shape = {int64_t(elements.size())};
    input.value = Tensor::allocate(DType::kBool, input.shape).value();
    for (size_t i = 0; i < elements.size(); ++i) {
        input.value.mutable_bytes()[i] = std::byte(elements[i]);
    }
    return input;
}

}  // namespace

std::vector<OpCase> compress_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, CaseInput condition) {
        cases.push_back(exact(make_case("Compress", name, {std::move(x), std::move(condition)})));
    };
    const auto add_axis = [&cases](const std::string& name, CaseInput x, CaseInput condition,
                                   int64_t axis) {
        cases.push_back(exact(
            make_case("Compress", name, {std::move(x), std::move(condition)}, {{"axis", axis}})));
    };
    for (const DType dtype : types_of_all_sizes()) {
        const std::string name(name_of(dtype));
        add(name + "_flat", random_elements({3, 5}, dtype),
            holds({0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 1, 0, 0, 1, 0}));
        add(name + "_line", random_elements({300}, dtype), random_input({300}, DType::kBool));
        add_axis(name + "_rows", random_elements({4, 3}, dtype), holds({1, 0, 1, 1}), 0);
        add_axis(name + "_middle", random_elements({2, 5, 3}, dtype), holds({0, 1, 1, 0, 1}), 1);
        add_axis(name + "_columns", random_elements({3, 7}, dtype), holds({1, 1, 0, 0, 0, 1, 0}),
                 -1);
    }
    for (const DType dtype : {DType::kBfloat16, DType::kInt8, DType::kInt16, DType::kInt64,
                              DType::kUint16, DType::kUint32, DType::kUint64}) {
        add_axis(std::string(name_of(dtype)) + "_rows", random_elements({2, 3, 4}, dtype),
                 holds({1, 0, 1}), 1);
    }
    add("strings_flat", given_strings({2, 3}), holds({0, 1, 1, 0, 0, 1}));
    add_axis("strings_columns", given_strings({3, 4}), holds({1, 0, 0, 1}), 1);
    add("short_condition", random_elements({2, 4}), holds({0, 1, 1}));
    add_axis("short_condition_axis", random_elements({2, 4}), holds({0, 1, 1}), 1);
    add_axis("long_condition", random_elements({2, 3}), holds({0, 1, 1, 1, 1, 0, 1}), 1);
    add("no_condition", random_elements({2, 3}), holds({}));
    add_axis("none", random_elements({2, 3}), holds({0, 0, 0}), 1);
    add_axis("all", random_elements({2, 3}), holds({1, 1, 1}), 1);
    add("empty", random_elements({0, 3}), holds({1, 1}));
    add_axis("empty_axis", random_elements({2, 0}), holds({1, 1}), 1);
    add_axis("empty_slices", random_elements({3, 0}), holds({1, 0, 1}), 0);
    add_axis("wide_slices", random_elements({9, 100}), holds({1, 1, 0, 1, 0, 0, 1, 1, 1}), 0);
    OpCase constant =
        make_case("Compress", "constant_condition",
                  {random_elements({5, 2}), holds({0, 1, 0, 1, 1})}, {{"axis", int64_t{0}}});
    constant.inputs[1].constant = true;
    cases.push_back(exact(std::move(constant)));
    return cases;
}

}  // namespace leat::testing
