// DepthToSpace and SpaceToDepth in both orders of channels, and files of old opsets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/one_node.h"

namespace leat::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const Attributes kDcr = {{"blocksize", int64_t{2}}, {"mode", std::string("DCR")}};
const Attributes kCrd = {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}};

// Two channels of 2x4 pixels.
const std::vector<float> kWide = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

TEST(DepthToSpace, KeepsTheOrderOfItsMode) {
    const Tensor wide = tensor_of<float>({1, 2, 2, 4}, kWide);
    const Tensor dcr =
        tensor_of<float>({1, 8, 1, 2}, {1, 3, 9, 11, 2, 4, 10, 12, 5, 7, 13, 15, 6, 8, 14, 16});
    const Tensor crd =
        tensor_of<float>({1, 8, 1, 2}, {1, 3, 2, 4, 5, 7, 6, 8, 9, 11, 10, 12, 13, 15, 14, 16});
    expect_result({"SpaceToDepth", {wide}, kDcr}, dcr);
    expect_result({"SpaceToDepth", {wide}, kCrd}, crd);
    expect_result({"SpaceToDepth", {wide}, {{"blocksize", int64_t{2}}}}, dcr);
    expect_result({"DepthToSpace", {dcr}, kDcr}, wide);
    expect_result({"DepthToSpace", {crd}, kCrd}, wide);
    expect_result({"DepthToSpace", {dcr}, {{"blocksize", int64_t{2}}}}, wide);
}

TEST(DepthToSpace, FollowsNamesOfExtents) {
    const ValueFact x = fact_of({"n", 8, "h", 3});
    EXPECT_EQ(inferred_type("DepthToSpace", {x}, kDcr), "f32[n,2,2*h,6]");
    const ValueFact even = fact_of({"n", "c", "h", 4});
    EXPECT_EQ(inferred_type("SpaceToDepth", {even}, kDcr), "f32[n,4*c,?,2]");
    const ValueFact anything = fact_of_unknown_rank();
    EXPECT_EQ(inferred_type("SpaceToDepth", {anything}, kDcr), "f32[?,?,?,?]");
}

TEST(DepthToSpace, NamesFoundAndNeeded) {
    const ValueFact x = fact_of({1, 6, 3, 4});
    EXPECT_THAT(inferred_type("DepthToSpace", {x}, kDcr),
                AllOf(HasSubstr("extent 6"), HasSubstr("a multiple of 4")));
    EXPECT_THAT(inferred_type("SpaceToDepth", {x}, kDcr),
                AllOf(HasSubstr("extent 3"), HasSubstr("a multiple of 2")));
    EXPECT_THAT(inferred_type("DepthToSpace", {x}, {{"blocksize", int64_t{0}}}),
                HasSubstr("blocksize"));
    EXPECT_THAT(inferred_type("DepthToSpace", {x},
                              {{"blocksize", int64_t{1}}, {"mode", std::string("RDC")}}),
                AllOf(HasSubstr("RDC"), HasSubstr("DCR or CRD")));
    EXPECT_THAT(inferred_type("DepthToSpace", {fact_of({4, 3, 4})}, kDcr), HasSubstr("rank"));
}

// mode came with opset 11 to one of them, and with opset 28 to the other.
TEST(DepthToSpace, HasNoModeInOldOpsets) {
    const auto read = [](const char* op_type, int64_t opset, bool has_mode) {
        NamedModel model;
        model.inputs = {{"x", DType::kFloat32, {1, 4, 2, 2}}};
        model.nodes = {{op_type, {"x"}, {"y"}, {{"blocksize", int64_t{2}}}}};
        if (has_mode) {
            model.nodes[0].attributes.emplace("mode", std::string("CRD"));
        }
        model.outputs = {"y"};
        const ScratchFolder folder;
        const std::string file = (folder.path() / "model.onnx").string();
        write_contents(file, onnx_bytes_of(model, opset));
        return load_onnx(file).ok();
    };
    EXPECT_TRUE(read("DepthToSpace", 1, false));
    EXPECT_FALSE(read("DepthToSpace", 1, true));
    EXPECT_TRUE(read("DepthToSpace", 11, true));
    EXPECT_TRUE(read("SpaceToDepth", 1, false));
    EXPECT_FALSE(read("SpaceToDepth", 27, true));
    EXPECT_TRUE(read("SpaceToDepth", 28, true));
}

}  // namespace
}  // namespace leat::testing
