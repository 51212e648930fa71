#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> center_crop_pad_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, const Ints& shape,
                              Attributes attributes = {}) {
        cases.push_back(exact(make_case("CenterCropPad", name, {std::move(x), constant_ints(shape)},
                                        std::move(attributes))));
    };
    for (const DType dtype : types_of_all_sizes()) {
        const std::string name(name_of(dtype));
        add(name + "_crop", random_elements({5, 6, 3}, dtype), {2, 3, 2});
        add(name + "_pad", random_elements({2, 3}, dtype), {5, 7});
        add(name + "_both", random_elements({5, 2, 3}, dtype), {2, 5, 3});
    }
    for (const DType dtype : {DType::kBfloat16, DType::kInt8, DType::kInt16, DType::kInt64,
                              DType::kUint16, DType::kUint32, DType::kUint64}) {
        add(std::string(name_of(dtype)), random_elements({3, 4}, dtype), {4, 3});
    }
    add("axes", random_elements({3, 4, 5, 6}), {7, 3}, {{"axes", Ints{2, 3}}});
    add("axes_from_the_end", random_elements({2, 4, 5}), {2, 8}, {{"axes", Ints{-1, -2}}});
    add("images", random_elements({2, 3, 9, 10}), {2, 3, 12, 7});
    add("same", random_elements({2, 3}), {2, 3});
    CaseInput shape = given_input<int32_t>({2}, {3, 2});
    shape.constant = true;
    cases.push_back(
        exact(make_case("CenterCropPad", "shape_i32", {random_elements({2, 5}), shape})));
    add("scalar", random_elements({}), {});
    add("to_nothing", random_elements({2, 5}), {3, 0});
    add("from_nothing", random_elements({0, 5}), {3, 4});
    add("rank8", random_elements({1, 2, 3, 1, 2, 3, 1, 2}), {2, 1, 3, 2, 1, 3, 2, 1});
    add("large", random_elements({2, 200, 90}), {2, 170, 111});
    add("strings", given_strings({2, 3}), {4, 1});
    return cases;
}

}  // namespace leat::testing
