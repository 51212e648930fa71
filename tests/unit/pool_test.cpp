// LpPool and GlobalLpPool: norms of windows, in every version.
#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<int64_t>;

class LpPool : public ::testing::TestWithParam<const char*> {
  protected:
    Result<Tensor> line(const char* op, const Attributes& attributes, int64_t opset = 22) {
        return result_on(GetParam(),
                         {op, {floats_of({1, 1, 6}, {3, -4, 0, 1, 2, -2})}, attributes, opset});
    }
};

TEST_P(LpPool, GivesNormsOfWindows) {
    expect_floats(line("LpPool", {{"kernel_shape", Ints{2}}, {"p", int64_t{1}}}), {1, 1, 5},
                  {7, 4, 1, 3, 4});
    expect_floats(line("LpPool", {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}), {1, 1, 3},
                  {5, 1, 2.8284271F});
    expect_floats(line("LpPool", {{"kernel_shape", Ints{2}}, {"dilations", Ints{2}}}), {1, 1, 4},
                  {3, 4.1231055F, 2, 2.236068F});
    expect_floats(line("LpPool", {{"kernel_shape", Ints{3}},
                                  {"pads", Ints{1, 1}},
                                  {"strides", Ints{2}},
                                  {"p", int64_t{3}}}),
                  {1, 1, 3}, {4.4979415F, 4.0207257F, 2.5712817F});
}

TEST_P(LpPool, CountsOnlyElementsInWindowsThatAreCutOff) {
    expect_floats(
        line("LpPool",
             {{"kernel_shape", Ints{4}}, {"strides", Ints{4}}, {"ceil_mode", int64_t{1}}}),
        {1, 1, 2}, {5.0990195F, 2.8284271F});
}

TEST_P(LpPool, TakesFractionsInOpset1) {
    expect_floats(line("LpPool", {{"kernel_shape", Ints{6}}, {"p", 0.5F}}, 1), {1, 1, 1},
                  {57.160827F}, 1e-5);
    expect_floats(line("GlobalLpPool", {{"p", 1.0F}}, 1), {1, 1, 1}, {12});
    expect_floats(line("GlobalLpPool", {}, 1), {1, 1, 1}, {5.8309519F});
}

TEST_P(LpPool, GivesNormsOfWholeImages) {
    for (const int64_t opset : {2, 22}) {
        expect_floats(line("GlobalLpPool", {{"p", int64_t{1}}}, opset), {1, 1, 1}, {12});
        expect_floats(line("GlobalLpPool", {}, opset), {1, 1, 1}, {5.8309519F});
    }
}

INSTANTIATE_TEST_SUITE_P(Devices,
                         LpPool,
                         ::testing::Values("cpu", "reference"),
                         [](const auto& info) { return std::string(info.param); });

TEST(LpPoolInference, WantsANorm) {
    const ValueFact x = fact_of({"n", 3, 8});
    EXPECT_EQ(inferred_type("GlobalLpPool", {x}), "f32[n,3,1]");
    EXPECT_EQ(inferred_type("LpPool", {x}, {{"kernel_shape", Ints{3}}}), "f32[n,3,6]");
    EXPECT_THAT(inferred_type("GlobalLpPool", {x}, {{"p", int64_t{0}}}), HasSubstr("'p'"));
}

}  // namespace
}  // namespace leat::testing
