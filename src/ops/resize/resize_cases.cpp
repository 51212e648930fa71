#include <fmt/core.h>

#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

CaseInput constant_floats(const std::vector<float>& values) {
    CaseInput input = given_input<float>({int64_t(values.size())}, values);
    input.constant = true;
    return input;
}

// Every coordinate mode, growing and shrinking, for one interpolation.
void add_coordinates(std::vector<OpCase>& cases, const std::string& mode) {
    for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                    "align_corners", "asymmetric"}) {
        const Attributes attributes = {
            {"mode", mode}, {"coordinate_transformation_mode", std::string(coordinates)}};
        const std::string name = "Resize/" + mode + "_" + coordinates;
        cases.push_back(
            {name + "_grow",
             "Resize",
             {random_elements({1, 3, 5, 7}), absent_input(), constant_floats({1, 1, 2, 2.5F})},
             attributes});
        cases.push_back({name + "_shrink",
                         "Resize",
                         {random_elements({1, 3, 9, 8}), absent_input(), absent_input(),
                          constant_ints({1, 3, 1, 5})},
                         attributes});
    }
}

void add_modes(std::vector<OpCase>& cases, const std::string& mode) {
    const auto add = [&](const std::string& name, CaseInput x, std::vector<CaseInput> operands,
                         Attributes attributes) {
        attributes.emplace("mode", mode);
        operands.insert(operands.begin(), std::move(x));
        cases.push_back(
            {"Resize/" + mode + "_" + name, "Resize", std::move(operands), std::move(attributes)});
    };
    const auto none = absent_input();
    add("rows_only", random_elements({2, 3, 6, 10}), {none, constant_floats({1, 1, 2, 1})}, {});
    add("columns_only", random_elements({2, 3, 6, 10}), {none, constant_floats({1, 1, 1, 3})}, {});
    add("volume", random_elements({1, 2, 3, 4, 5}), {none, constant_floats({1, 1, 2, 2, 2})}, {});
    add("batch", random_elements({2, 3, 4}), {none, constant_floats({2, 1, 1})}, {});
    add("line", random_elements({9}), {none, none, constant_ints({31})}, {});
    add("identity", random_elements({2, 3, 4, 5}), {none, none, constant_ints({2, 3, 4, 5})}, {});
    add("axes", random_elements({4, 6, 3}), {none, none, constant_ints({7, 9})},
        {{"axes", Ints{1, 0}}});
    add("not_larger", random_elements({1, 1, 6, 9}), {none, none, constant_ints({13, 12})},
        {{"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", std::string("not_larger")}});
    add("not_smaller", random_elements({1, 1, 6, 9}), {none, none, constant_ints({13, 12})},
        {{"axes", Ints{2, 3}}, {"keep_aspect_ratio_policy", std::string("not_smaller")}});
    add("crop", random_elements({1, 1, 6, 9}),
        {constant_floats({0, 0, 0.2F, -0.1F, 1, 1, 0.8F, 1.3F}), none, constant_ints({1, 1, 5, 6})},
        {{"coordinate_transformation_mode", std::string("tf_crop_and_resize")},
         {"extrapolation_value", 9.0F}});
    add("empty", random_elements({0, 3, 4}), {none, constant_floats({1, 2, 2})}, {});
    add("to_empty", random_elements({2, 3}), {none, none, constant_ints({2, 0})}, {});
    add("large", random_elements({1, 20, 40, 44}), {none, constant_floats({1, 1, 2, 2})}, {});
}

}  // namespace

std::vector<OpCase> resize_cases() {
    std::vector<OpCase> cases;
    for (const char* mode : {"nearest", "linear", "cubic"}) {
        add_coordinates(cases, mode);
        add_modes(cases, mode);
    }
    const auto shrink = [&cases](const std::string& name, Attributes attributes) {
        cases.push_back(
            {"Resize/" + name,
             "Resize",
             {random_elements({1, 2, 9, 8}), absent_input(), constant_floats({1, 1, 0.4F, 0.6F})},
             std::move(attributes)});
    };
    for (const char* mode : {"linear", "cubic"}) {
        shrink(std::string(mode) + "_antialias",
               {{"mode", std::string(mode)}, {"antialias", int64_t{1}}});
        shrink(std::string(mode) + "_exclude_outside",
               {{"mode", std::string(mode)}, {"exclude_outside", int64_t{1}}});
    }
    for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
        shrink(std::string("nearest_") + rounding, {{"nearest_mode", std::string(rounding)}});
    }
    // Positions that are whole numbers, or half way between two, where the scale is no double.
    for (const char* coordinates :
         {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
          "tf_half_pixel_for_nn", "tf_crop_and_resize"}) {
        for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
            cases.push_back({fmt::format("Resize/exact_{}_{}", coordinates, rounding),
                             "Resize",
                             {random_elements({14, 21, 26}), constant_floats({0, 0, 0, 1, 1, 1}),
                              absent_input(), constant_ints({18, 49, 65})},
                             {{"coordinate_transformation_mode", std::string(coordinates)},
                              {"nearest_mode", std::string(rounding)}}});
        }
    }
    for (const DType dtype : types_of_all_sizes()) {
        cases.push_back(
            {"Resize/nearest_type_" + std::string(name_of(dtype)),
             "Resize",
             {random_elements({3, 5}, dtype), absent_input(), constant_floats({2, 3})}});
    }
    for (const DType dtype :
         {DType::kUint8, DType::kInt8, DType::kUint16, DType::kInt16, DType::kUint32, DType::kInt32,
          DType::kUint64, DType::kInt64, DType::kFloat16, DType::kBfloat16, DType::kFloat64}) {
        cases.push_back({"Resize/linear_type_" + std::string(name_of(dtype)),
                         "Resize",
                         {random_elements({3, 5}, dtype), absent_input(), constant_floats({2, 3})},
                         {{"mode", std::string("linear")}}});
        // A unit in the last place: some sums are as far from one number as from the next.
        cases.back().rtol = dtype == DType::kFloat16    ? 1e-3
                            : dtype == DType::kBfloat16 ? 8e-3
                                                        : cases.back().rtol;
    }
    return cases;
}

}  // namespace leat::testing
