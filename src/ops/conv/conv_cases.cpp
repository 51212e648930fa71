// Conformance cases of Conv.
#include <algorithm>

#include "conformance/op_case.h"
#include "ops/conv/conv.h"

namespace leat::testing {

namespace {

using Ints = std::vector<int64_t>;

CaseInput in(Shape shape, DType dtype = DType::kFloat32) {
    CaseInput input;
    input.dtype = dtype;
    input.shape = shape;
    return input;
}

CaseInput filters(Shape shape) {
    CaseInput input = in(shape);
    input.constant = true;
    return input;
}

OpCase conv(const char* name, std::vector<CaseInput> inputs, Attributes attributes = {}) {
    OpCase op_case{std::string("Conv/") + name, "Conv", std::move(inputs), std::move(attributes)};
    // A sum of products in f32 that cancel: errors grow with their number, not with the result.
    const Shape& w = op_case.inputs[1].shape;
    op_case.atol = std::max(1e-6, 1e-7 * double(w.element_count(1, w.rank())));
    return op_case;
}

void add_plain_cases(std::vector<OpCase>& cases) {
    const Ints ones4{1, 1, 1, 1};
    cases.push_back(conv("pointwise", {in({1, 16, 7, 9}), filters({32, 16, 1, 1}), filters({32})}));
    cases.push_back(conv("pointwise_stride2", {in({2, 24, 8, 8}), filters({40, 24, 1, 1})},
                         {{"strides", Ints{2, 2}}}));
    cases.push_back(conv("k3_same", {in({1, 20, 11, 13}), filters({33, 20, 3, 3}), filters({33})},
                         {{"pads", ones4}}));
    cases.push_back(conv("k3_stride2", {in({2, 9, 15, 14}), filters({17, 9, 3, 3})},
                         {{"pads", ones4}, {"strides", Ints{2, 2}}}));
    cases.push_back(conv("k7_stem", {in({1, 3, 32, 32}), filters({64, 3, 7, 7}), filters({64})},
                         {{"pads", Ints{3, 3, 3, 3}}, {"strides", Ints{2, 2}}}));
    cases.push_back(conv("k5_no_pad", {in({1, 4, 12, 12}), filters({6, 4, 5, 5})}));
    cases.push_back(conv("kernel_covers_input", {in({2, 8, 5, 4}), filters({10, 8, 5, 4})}));
    cases.push_back(conv("asymmetric", {in({1, 5, 9, 10}), filters({7, 5, 3, 2})},
                         {{"pads", Ints{0, 1, 2, 0}}, {"strides", Ints{2, 1}}}));
    cases.push_back(conv("dilated", {in({1, 6, 13, 12}), filters({8, 6, 3, 3}), filters({8})},
                         {{"dilations", Ints{2, 3}}, {"pads", Ints{2, 3, 2, 3}}}));
    cases.push_back(conv("pads_beyond_kernel", {in({1, 3, 4, 4}), filters({4, 3, 2, 2})},
                         {{"pads", Ints{3, 3, 3, 3}}}));
    cases.push_back(conv("weights_not_constant", {in({1, 6, 8, 8}), in({9, 6, 3, 3}), in({9})},
                         {{"pads", ones4}}));
    cases.push_back(conv("batch_zero", {in({0, 6, 8, 8}), filters({9, 6, 3, 3})}));
    // Rows that end within a run of 7 positions, on the one side with padding.
    cases.push_back(conv("odd_rows_stride2", {in({2, 5, 13, 19}), filters({18, 5, 3, 3})},
                         {{"strides", Ints{2, 2}}, {"pads", Ints{0, 2, 1, 0}}}));
    cases.push_back(conv("odd_rows_dilated", {in({2, 3, 12, 17}), filters({7, 3, 3, 3})},
                         {{"dilations", Ints{2, 1}}, {"pads", Ints{2, 0, 0, 2}}}));
    cases.push_back(
        conv("many_channels", {in({1, 300, 5, 5}), filters({70, 300, 3, 3})}, {{"pads", ones4}}));
}

void add_group_cases(std::vector<OpCase>& cases) {
    const Ints ones4{1, 1, 1, 1};
    cases.push_back(conv("groups", {in({1, 12, 8, 8}), filters({20, 3, 3, 3}), filters({20})},
                         {{"group", int64_t{4}}, {"pads", ones4}}));
    cases.push_back(conv("groups_of_16", {in({1, 32, 9, 9}), filters({64, 16, 1, 1})},
                         {{"group", int64_t{2}}}));
    cases.push_back(conv("depthwise", {in({1, 40, 12, 11}), filters({40, 1, 3, 3}), filters({40})},
                         {{"group", int64_t{40}}, {"pads", ones4}}));
    cases.push_back(conv("depthwise_stride2", {in({2, 19, 13, 12}), filters({19, 1, 3, 3})},
                         {{"group", int64_t{19}}, {"pads", ones4}, {"strides", Ints{2, 2}}}));
    cases.push_back(
        conv("depthwise_k5_dilated", {in({1, 16, 14, 14}), filters({16, 1, 5, 5})},
             {{"group", int64_t{16}}, {"pads", Ints{4, 4, 4, 4}}, {"dilations", Ints{2, 2}}}));
    cases.push_back(conv("depthwise_multiplier", {in({1, 6, 8, 8}), filters({12, 1, 3, 3})},
                         {{"group", int64_t{6}}}));
}

std::vector<float> scales(int64_t channels) {
    std::vector<float> values;
    values.reserve(size_t(channels));
    for (int64_t c = 0; c < channels; ++c) {
        values.push_back(float(c % 5) - 1.75F);
    }
    return values;
}

void add_scaled_cases(std::vector<OpCase>& cases) {
    const Ints ones4{1, 1, 1, 1};
    const std::string scale(kWeightScale);
    cases.push_back(conv("scaled", {in({1, 20, 11, 13}), filters({33, 20, 3, 3}), filters({33})},
                         {{"pads", ones4}, {scale, scales(33)}}));
    cases.push_back(conv("scaled_groups",
                         {in({1, 12, 8, 8}), filters({20, 3, 3, 3}), filters({20})},
                         {{"group", int64_t{4}}, {"pads", ones4}, {scale, scales(20)}}));
    cases.push_back(conv("scaled_depthwise",
                         {in({1, 40, 12, 11}), filters({40, 1, 3, 3}), filters({40})},
                         {{"group", int64_t{40}}, {"pads", ones4}, {scale, scales(40)}}));
    // Products of matrices on some devices.
    cases.push_back(conv("scaled_pointwise",
                         {in({2, 12, 7, 9}), filters({21, 12, 1, 1}), filters({21})},
                         {{scale, scales(21)}}));
    cases.push_back(conv("scaled_pointwise_strided",
                         {in({2, 12, 11, 14}), filters({21, 12, 1, 1}), filters({21})},
                         {{"strides", Ints{2, 3}}, {scale, scales(21)}}));
    cases.push_back(conv("pointwise_strided_groups", {in({2, 8, 9, 9}), filters({24, 4, 1, 1})},
                         {{"group", int64_t{2}}, {"strides", Ints{2, 2}}}));
    cases.push_back(conv("scaled_pointwise_groups", {in({2, 12, 6, 6}), filters({22, 6, 1, 1})},
                         {{"group", int64_t{2}}, {scale, scales(22)}}));
}

void add_auto_pad_cases(std::vector<OpCase>& cases) {
    for (const char* mode : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
        const std::string name = std::string("auto_pad_") + mode;
        cases.push_back(conv(name.c_str(), {in({1, 5, 10, 9}), filters({6, 5, 4, 3})},
                             {{"auto_pad", std::string(mode)}, {"strides", Ints{2, 1}}}));
        cases.push_back(conv((name + "_dilated").c_str(),
                             {in({1, 5, 11, 9}), filters({6, 5, 3, 2})},
                             {{"auto_pad", std::string(mode)}, {"dilations", Ints{2, 3}}}));
    }
}

void add_other_ranks(std::vector<OpCase>& cases) {
    cases.push_back(conv("1d", {in({2, 8, 30}), filters({16, 8, 5}), filters({16})},
                         {{"pads", Ints{2, 2}}, {"strides", Ints{3}}}));
    cases.push_back(conv("1d_groups_dilated", {in({1, 8, 31}), filters({12, 2, 3})},
                         {{"group", int64_t{4}}, {"dilations", Ints{4}}}));
    cases.push_back(conv("3d", {in({1, 4, 6, 7, 8}), filters({5, 4, 3, 3, 3}), filters({5})},
                         {{"pads", Ints{1, 1, 1, 1, 1, 1}}, {"strides", Ints{1, 2, 2}}}));
    cases.push_back(conv("3d_dilated", {in({2, 3, 7, 6, 8}), filters({4, 3, 2, 2, 3})},
                         {{"dilations", Ints{3, 2, 2}}}));
    OpCase f64 =
        conv("f64", {in({1, 3, 5, 5}, DType::kFloat64), in({4, 3, 3, 3}, DType::kFloat64)});
    OpCase f16 =
        conv("f16", {in({1, 3, 5, 5}, DType::kFloat16), in({4, 3, 3, 3}, DType::kFloat16)});
    OpCase bf16 =
        conv("bf16", {in({1, 3, 5, 5}, DType::kBfloat16), in({4, 3, 3, 3}, DType::kBfloat16)});
    cases.push_back(conv("pointwise_groups_f64",
                         {in({2, 6, 4, 5}, DType::kFloat64), in({8, 3, 1, 1}, DType::kFloat64),
                          in({8}, DType::kFloat64)},
                         {{"group", int64_t{2}}}));
    cases.push_back(conv("batch_groups_f64",
                         {in({3, 6, 5, 7}, DType::kFloat64), in({10, 3, 3, 2}, DType::kFloat64),
                          in({10}, DType::kFloat64)},
                         {{"group", int64_t{2}}, {"pads", Ints{1, 0, 0, 1}}}));
    f16.rtol = f16.atol = 1e-2;
    bf16.rtol = bf16.atol = 5e-2;
    cases.push_back(std::move(f64));
    cases.push_back(std::move(f16));
    cases.push_back(std::move(bf16));
}

}  // namespace

std::vector<OpCase> conv_cases() {
    std::vector<OpCase> cases;
    add_plain_cases(cases);
    add_group_cases(cases);
    add_scaled_cases(cases);
    add_auto_pad_cases(cases);
    add_other_ranks(cases);
    return cases;
}

}  // namespace leat::testing
