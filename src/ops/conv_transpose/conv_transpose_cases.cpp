#include <string>
#include <utility>

#include "conformance/case_inputs.h"

namespace leat::testing {

namespace {

// x, w and perhaps a bias.
OpCase conv_transpose(const std::string& name,
                      Shape x,
                      Shape w,
                      int64_t bias,
                      Attributes attributes = {},
                      DType dtype = DType::kFloat32) {
    std::vector<CaseInput> inputs = {random_input(x, dtype, -1, 1), random_constant(w, dtype)};
    inputs[1].low = -0.5;
    inputs[1].high = 0.5;
    if (bias > 0) {
        inputs.push_back(random_constant({bias}, dtype));
    }
    return make_case("ConvTranspose", name, std::move(inputs), std::move(attributes));
}

void add_conv_transpose_extents(std::vector<OpCase>& cases) {
    const Ints two{2, 2};
    const Shape x{2, 3, 4, 5};
    const Shape w{3, 4, 3, 3};
    cases.push_back(conv_transpose("pads", x, w, 4, {{"pads", Ints{1, 0, 0, 1}}}));
    cases.push_back(conv_transpose(
        "output_padding", x, w, 4,
        {{"strides", two}, {"output_padding", Ints{1, 0}}, {"pads", Ints{1, 1, 1, 1}}}));
    cases.push_back(conv_transpose("output_padding_by_dilation", x, w, 4,
                                   {{"dilations", Ints{3, 2}}, {"output_padding", Ints{2, 1}}}));
    for (const char* mode : {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"}) {
        const std::string name = std::string("_") + mode;
        cases.push_back(conv_transpose("auto_pad" + name, x, w, 0,
                                       {{"auto_pad", std::string(mode)}, {"strides", two}}));
        cases.push_back(conv_transpose(
            "output_shape" + name, x, w, 0,
            {{"auto_pad", std::string(mode)}, {"strides", two}, {"output_shape", Ints{8, 10}}}));
    }
    // More than the windows reach: the rest is the bias.
    cases.push_back(
        conv_transpose("beyond_windows", x, {3, 4, 2, 2}, 4,
                       {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{4, 3}}}));
    cases.push_back(conv_transpose("large_output_shape", x, w, 4,
                                   {{"strides", two}, {"output_shape", Ints{12, 15}}}));
}

void add_conv_transpose_shapes(std::vector<OpCase>& cases) {
    const Ints two{2, 2};
    cases.push_back(conv_transpose("plain", {1, 3, 5, 4}, {3, 2, 3, 2}, 2));
    cases.push_back(conv_transpose("strides", {1, 16, 9, 11}, {16, 19, 4, 4}, 19,
                                   {{"strides", two}, {"pads", Ints{1, 1, 1, 1}}}));
    cases.push_back(
        conv_transpose("stride_is_kernel", {2, 9, 6, 5}, {9, 7, 2, 2}, 7, {{"strides", two}}));
    cases.push_back(conv_transpose("dilated", {1, 4, 6, 7}, {4, 5, 3, 2}, 5,
                                   {{"dilations", Ints{2, 3}}, {"strides", Ints{1, 2}}}));
    cases.push_back(conv_transpose("groups", {2, 6, 5, 6}, {6, 5, 3, 3}, 15,
                                   {{"group", int64_t{3}}, {"strides", two}}));
    cases.push_back(conv_transpose("depthwise", {1, 10, 6, 7}, {10, 1, 4, 4}, 0,
                                   {{"group", int64_t{10}},
                                    {"strides", two},
                                    {"pads", Ints{1, 1, 1, 1}},
                                    {"kernel_shape", Ints{4, 4}}}));
    cases.push_back(conv_transpose("pointwise", {1, 12, 6, 7}, {12, 10, 1, 1}, 10));
    cases.push_back(conv_transpose("1d", {2, 5, 9}, {5, 6, 4}, 6,
                                   {{"strides", Ints{3}}, {"pads", Ints{1, 2}}}));
    cases.push_back(conv_transpose("3d", {1, 3, 3, 4, 5}, {3, 2, 2, 3, 2}, 2,
                                   {{"strides", Ints{2, 1, 2}}, {"pads", Ints{1, 0, 1, 0, 1, 0}}}));
    cases.push_back(conv_transpose(
        "large", {1, 40, 21, 23}, {40, 35, 3, 3}, 35,
        {{"strides", two}, {"pads", Ints{1, 1, 1, 1}}, {"output_padding", Ints{1, 1}}}));
    cases.push_back(conv_transpose("batch_zero", {0, 3, 4, 4}, {3, 2, 3, 3}, 2));
    cases.push_back(conv_transpose("no_elements", {1, 3, 0, 4}, {3, 2, 3, 3}, 2));
    cases.push_back(conv_transpose("no_channels", {1, 0, 3, 4}, {0, 2, 3, 3}, 2));
}

}  // namespace

std::vector<OpCase> conv_transpose_cases() {
    std::vector<OpCase> cases;
    add_conv_transpose_shapes(cases);
    add_conv_transpose_extents(cases);
    for (const DType dtype : {DType::kFloat64, DType::kFloat16, DType::kBfloat16}) {
        cases.push_back(conv_transpose(std::string(name_of(dtype)), {1, 4, 5, 4}, {4, 3, 3, 3}, 6,
                                       {{"group", int64_t{2}}, {"strides", Ints{2, 2}}}, dtype));
    }
    return cases;
}

}  // namespace leat::testing
