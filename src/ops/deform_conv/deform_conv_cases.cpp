#include <string>
#include <utility>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

struct DeformCase {
    std::string name;
    Shape x;
    Shape w;
    Shape out;  // extents of the result
    Attributes attributes = {};
    int64_t offset_groups = 1;
    bool has_bias = true;
    bool has_mask = true;
    DType dtype = DType::kFloat32;
};

OpCase deform_conv(const DeformCase& row) {
    const int64_t axes = row.x.rank() - 2;
    const int64_t taps = row.offset_groups * row.w.element_count(2, row.w.rank());
    const auto by_position = [&](int64_t channels) {
        std::vector<int64_t> extents = {row.x[0], channels};
        for (int64_t axis = 0; axis < axes; ++axis) {
            extents.push_back(row.out[int(axis)]);
        }
        return random_input(Shape::make(extents).value(), row.dtype);
    };
    std::vector<CaseInput> inputs = {random_input(row.x, row.dtype),
                                     random_constant(row.w, row.dtype), by_position(taps * axes)};
    inputs.push_back(row.has_bias ? random_constant({row.w[0]}, row.dtype) : absent_input());
    if (row.has_mask) {
        inputs.push_back(by_position(taps));
    }
    Attributes attributes = row.attributes;
    attributes["offset_group"] = row.offset_groups;
    return make_case("DeformConv", row.name, std::move(inputs), std::move(attributes));
}

}  // namespace

std::vector<OpCase> deform_conv_cases() {
    const Ints ones{1, 1, 1, 1};
    std::vector<OpCase> cases;
    for (const DeformCase& row : std::vector<DeformCase>{
             {"plain", {2, 3, 6, 5}, {4, 3, 3, 2}, {4, 4}, {}, 1, false, false},
             {"bias", {1, 3, 6, 5}, {4, 3, 3, 2}, {4, 4}, {}, 1, true, false},
             {"mask", {1, 3, 6, 5}, {4, 3, 3, 2}, {4, 4}, {}, 1, false, true},
             {"pads", {1, 3, 6, 5}, {4, 3, 3, 3}, {6, 5}, {{"pads", ones}}},
             {"strides",
              {1, 2, 7, 8},
              {3, 2, 3, 3},
              {4, 3},
              {{"pads", Ints{1, 0, 1, 1}}, {"strides", Ints{2, 3}}}},
             {"dilated", {1, 2, 7, 8}, {3, 2, 2, 3}, {5, 4}, {{"dilations", Ints{2, 2}}}},
             {"groups",
              {2, 6, 5, 5},
              {4, 3, 2, 2},
              {4, 4},
              {{"group", int64_t{2}}, {"kernel_shape", Ints{2, 2}}}},
             {"offset_groups", {2, 6, 5, 5}, {4, 6, 2, 2}, {4, 4}, {}, 3},
             {"both_groups", {1, 12, 4, 5}, {4, 6, 2, 2}, {3, 4}, {{"group", int64_t{2}}}, 4},
             {"1d", {1, 3, 9}, {2, 3, 3}, {7}},
             {"3d", {1, 2, 4, 3, 4}, {2, 2, 2, 2, 2}, {3, 2, 3}},
             {"batch_zero", {0, 2, 4, 4}, {2, 2, 2, 2}, {3, 3}},
         }) {
        cases.push_back(deform_conv(row));
    }
    for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
        DeformCase row{std::string(name_of(dtype)), {1, 2, 4, 4}, {2, 2, 2, 2}, {3, 3}};
        row.dtype = dtype;
        cases.push_back(deform_conv(row));
    }
    return cases;
}

}  // namespace leat::testing
