// ConvTranspose: extents and pads in every form, results that ONNX Runtime gives, too.
#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

class ConvTranspose : public ::testing::TestWithParam<const char*> {
  protected:
    // x = 1 2 3, w = 1 10 100, stride 2: unless pads cut it, 1 10 102 20 203 30 300.
    Result<Tensor> line(Attributes attributes, int64_t opset = 22) {
        attributes.emplace("strides", Ints{2});
        return result_on(GetParam(),
                         {"ConvTranspose",
                          {floats_of({1, 1, 3}, {1, 2, 3}), floats_of({1, 1, 3}, {1, 10, 100})},
                          attributes,
                          opset});
    }
};

TEST_P(ConvTranspose, AddsWindows) {
    expect_floats(line({}), {1, 1, 7}, {1, 10, 102, 20, 203, 30, 300});
}

TEST_P(ConvTranspose, CutsPadsAndAddsOutputPadding) {
    expect_floats(line({{"pads", Ints{1, 1}}}), {1, 1, 5}, {10, 102, 20, 203, 30});
    expect_floats(line({{"pads", Ints{1, 1}}, {"output_padding", Ints{1}}}), {1, 1, 6},
                  {10, 102, 20, 203, 30, 300});
}

TEST_P(ConvTranspose, CutsTheOddElementWhereAutoPadSays) {
    for (const int64_t opset : {1, 11, 22}) {
        expect_floats(line({{"auto_pad", std::string("SAME_UPPER")}}, opset), {1, 1, 6},
                      {1, 10, 102, 20, 203, 30});
        expect_floats(line({{"auto_pad", std::string("SAME_LOWER")}}, opset), {1, 1, 6},
                      {10, 102, 20, 203, 30, 300});
        expect_floats(line({{"output_shape", Ints{6}}}, opset), {1, 1, 6},
                      {10, 102, 20, 203, 30, 300});
        expect_floats(line({{"output_shape", Ints{4}}}, opset), {1, 1, 4}, {102, 20, 203, 30});
    }
}

TEST_P(ConvTranspose, AddsNothingBeyondTheWindows) {
    expect_floats(line({{"output_shape", Ints{8}}}), {1, 1, 8}, {1, 10, 102, 20, 203, 30, 300, 0});
    expect_floats(line({{"auto_pad", std::string("SAME_LOWER")}, {"strides", Ints{5}}}), {1, 1, 15},
                  {1, 10, 100, 0, 0, 2, 20, 200, 0, 0, 3, 30, 300, 0, 0});
}

TEST_P(ConvTranspose, SpreadsWindowsByDilations) {
    expect_floats(result_on(GetParam(), {"ConvTranspose",
                                         {floats_of({1, 1, 2, 2}, {1, 2, 3, 4}),
                                          floats_of({1, 1, 2, 2}, {1, 10, 100, 1000})},
                                         {{"dilations", Ints{2, 1}}},
                                         24}),
                  {1, 1, 4, 3}, {1, 12, 20, 3, 34, 40, 100, 1200, 2000, 300, 3400, 4000});
}

TEST_P(ConvTranspose, KeepsGroupsApartAndAddsTheBias) {
    expect_floats(result_on(GetParam(), {"ConvTranspose",
                                         {floats_of({1, 2, 1, 2}, {1, 2, 3, 4}),
                                          floats_of({2, 1, 1, 2}, {1, 10, 100, 1000}),
                                          floats_of({2}, {0.5F, -0.5F})},
                                         {{"group", int64_t{2}}, {"strides", Ints{1, 2}}},
                                         24}),
                  {1, 2, 1, 4}, {1.5F, 10.5F, 2.5F, 20.5F, 299.5F, 2999.5F, 399.5F, 3999.5F});
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         ConvTranspose,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST(ConvTransposeInference, KeepsNamesWhereItCan) {
    const ValueFact x = fact_of({"n", 3, "h", 8});
    const ValueFact w = fact_of({3, 5, 4, 4});
    EXPECT_EQ(inferred_type("ConvTranspose", {x, w},
                            {{"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}}),
              "f32[n,5,2*h,16]");
    EXPECT_EQ(inferred_type("ConvTranspose", {x, w}), "f32[n,5,?,11]");
    EXPECT_EQ(inferred_type("ConvTranspose", {x, w}, {{"output_shape", Ints{9, 7}}}),
              "f32[n,5,9,7]");
    EXPECT_EQ(inferred_type("ConvTranspose", {fact_of_unknown_rank(), w}), "f32[?,5,?,?]");
}

TEST(ConvTransposeInference, NamesWhatDoesNotFit) {
    const ValueFact x = fact_of({1, 3, 8});
    const ValueFact w = fact_of({3, 5, 3});
    EXPECT_THAT(inferred_type("ConvTranspose", {x, w}, {{"output_padding", Ints{1}}}),
                AllOf(HasSubstr("output_padding"), HasSubstr("less than 1")));
    EXPECT_THAT(inferred_type("ConvTranspose", {x, w}, {{"output_shape", Ints{1, 5, 9}}}),
                AllOf(HasSubstr("output_shape"), HasSubstr("1 integers")));
    EXPECT_THAT(inferred_type("ConvTranspose", {x, w}, {{"pads", Ints{5, 5}}}),
                HasSubstr("leave nothing"));
    EXPECT_THAT(inferred_type("ConvTranspose", {x, w}, {{"group", int64_t{2}}}),
                HasSubstr("divide the input channels"));
    EXPECT_THAT(inferred_type("ConvTranspose", {fact_of({1, 4, 8}), w}), HasSubstr("4 and 3"));
    EXPECT_THAT(inferred_type("ConvTranspose", {x, w, fact_of({4})}), HasSubstr("5 elements"));
}

}  // namespace
}  // namespace leat::testing
