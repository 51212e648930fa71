#include <fmt/core.h>

#include "ops/matmul_integer/integer_cases.h"

namespace leat::testing {

std::vector<OpCase> conv_integer_cases();

namespace {

struct Problem {
    std::string name;
    Shape x;
    Shape w;
    Attributes attributes;
};

std::vector<Problem> problems() {
    const Ints ones{1, 1, 1, 1};
    return {
        {"pointwise", {2, 12, 7, 9}, {21, 12, 1, 1}, {}},
        {"pointwise_wide", {1, 64, 20, 30}, {40, 64, 1, 1}, {}},
        {"pointwise_strided", {1, 12, 11, 14}, {21, 12, 1, 1}, {{"strides", Ints{2, 3}}}},
        {"pointwise_padded", {1, 3, 5, 4}, {4, 3, 1, 1}, {{"pads", ones}}},
        {"k3", {1, 20, 11, 13}, {33, 20, 3, 3}, {{"pads", ones}}},
        {"k3_stride2", {2, 9, 15, 14}, {17, 9, 3, 3}, {{"pads", ones}, {"strides", Ints{2, 2}}}},
        {"k5_no_pad", {1, 4, 12, 12}, {6, 4, 5, 5}, {}},
        {"covers_input", {2, 8, 5, 4}, {10, 8, 5, 4}, {}},
        {"asymmetric", {1, 5, 9, 10}, {7, 5, 3, 2}, {{"pads", Ints{0, 1, 2, 0}}}},
        {"dilated",
         {1, 6, 13, 12},
         {8, 6, 3, 3},
         {{"dilations", Ints{2, 3}}, {"pads", Ints{2, 3, 2, 3}}}},
        {"pads_beyond_kernel", {1, 3, 4, 4}, {4, 3, 2, 2}, {{"pads", Ints{3, 3, 3, 3}}}},
        {"groups", {2, 12, 8, 8}, {20, 3, 3, 3}, {{"group", int64_t{4}}, {"pads", ones}}},
        {"depthwise", {1, 40, 12, 11}, {40, 1, 3, 3}, {{"group", int64_t{40}}, {"pads", ones}}},
        {"depthwise_multiplier", {1, 6, 8, 8}, {12, 1, 3, 3}, {{"group", int64_t{6}}}},
        {"depthwise_stride2",
         {2, 19, 13, 80},
         {19, 1, 3, 3},
         {{"group", int64_t{19}}, {"pads", ones}, {"strides", Ints{2, 2}}}},
        {"depthwise_stride3",
         {1, 5, 13, 20},
         {5, 1, 3, 3},
         {{"group", int64_t{5}}, {"strides", Ints{1, 3}}}},
        {"depthwise_dilated",
         {1, 6, 14, 70},
         {6, 1, 5, 5},
         {{"group", int64_t{6}}, {"pads", Ints{4, 4, 4, 4}}, {"dilations", Ints{2, 2}}}},
        {"depthwise_crops",
         {1, 3, 9, 9},
         {3, 1, 2, 2},
         {{"group", int64_t{3}}, {"strides", Ints{3, 2}}}},
        {"depthwise_1d", {2, 7, 40}, {7, 1, 4}, {{"group", int64_t{7}}, {"pads", Ints{3, 0}}}},
        {"depthwise_3d", {1, 4, 5, 6, 7}, {4, 1, 2, 2, 2}, {{"group", int64_t{4}}}},
        {"same_upper",
         {1, 5, 10, 9},
         {6, 5, 4, 3},
         {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 1}}}},
        {"same_lower",
         {1, 5, 10, 9},
         {6, 5, 4, 3},
         {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{2, 1}}}},
        {"valid", {1, 5, 10, 9}, {6, 5, 4, 3}, {{"auto_pad", std::string("VALID")}}},
        {"1d", {2, 8, 30}, {16, 8, 5}, {{"pads", Ints{2, 2}}, {"strides", Ints{3}}}},
        {"3d",
         {1, 4, 6, 7, 8},
         {5, 4, 3, 3, 3},
         {{"pads", Ints{1, 1, 1, 1, 1, 1}}, {"strides", Ints{1, 2, 2}}}},
        {"batch_zero", {0, 6, 8, 8}, {9, 6, 3, 3}, {}},
    };
}

OpCase requantized(const std::string& name,
                   const Problem& problem,
                   DType x,
                   const CaseInput& w,
                   DType y,
                   bool by_channel,
                   bool has_bias) {
    const Shape channels{problem.w[0]};
    const Shape own = by_channel ? channels : Shape{};
    std::vector<CaseInput> inputs{
        bytes(problem.x, x), scale(),          bytes({}, x), w, scale(own),
        bytes(own, w.dtype), scale({}, 2, 40), bytes({}, y)};
    if (has_bias) {
        inputs.push_back(random_input(channels, DType::kInt32, -30000, 30000));
    }
    return exact(make_case("QLinearConv", name, std::move(inputs), problem.attributes));
}

}  // namespace

std::vector<OpCase> conv_integer_cases() {
    std::vector<OpCase> cases;
    for (const Problem& problem : problems()) {
        cases.push_back(
            exact(make_case("ConvInteger", problem.name,
                            {bytes(problem.x), weights(problem.w), bytes({}), bytes({}, kI8)},
                            problem.attributes)));
        cases.push_back(
            requantized(problem.name, problem, kU8, weights(problem.w), kU8, true, true));
    }
    const Problem plain{"", {2, 7, 9, 8}, {10, 7, 3, 3}, {{"pads", Ints{1, 1, 1, 1}}}};
    for (const DType x : {kU8, kI8}) {
        for (const DType w : {kU8, kI8}) {
            const std::string name = fmt::format("{}_{}", name_of(x), name_of(w));
            cases.push_back(exact(make_case(
                "ConvInteger", name, {bytes(plain.x, x), bytes(plain.w, w)}, plain.attributes)));
            cases.push_back(exact(
                make_case("ConvInteger", name + "_zeros",
                          {bytes(plain.x, x), bytes(plain.w, w), bytes({1}, x), bytes({10}, w)},
                          plain.attributes)));
            cases.push_back(requantized(name, plain, x, bytes(plain.w, w), x, false, false));
            cases.push_back(
                requantized(name + "_bias", plain, x, weights(plain.w, w), x, false, true));
        }
    }
    cases.push_back(requantized("other_result", plain, kU8, weights(plain.w), kI8, true, true));
    return cases;
}

}  // namespace leat::testing
