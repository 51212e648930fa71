// Shape inference of the quantized operators: result types, names that pass through, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/op_def.h"

namespace leat {
namespace {

using ::testing::HasSubstr;

constexpr DType kF32 = DType::kFloat32;
constexpr DType kU8 = DType::kUint8;
constexpr DType kI8 = DType::kInt8;

ValueFact typed(DType dtype, std::vector<DimSpec> dims = {}) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(dtype, std::move(dims));
    return fact;
}

// "u8[n,3]", or the error. A fact of undefined type is an absent input.
std::string infer(const char* op,
                  const std::vector<ValueFact>& inputs,
                  Attributes attributes = {}) {
    NodeData node;
    node.op_type = op;
    node.def = find_op("", op);
    node.attributes = std::move(attributes);
    node.outputs = {ValueId{100}};
    node.inputs.resize(inputs.size());
    std::vector<const ValueFact*> pointers;
    pointers.reserve(inputs.size());
    for (const ValueFact& input : inputs) {
        pointers.push_back(input.type.dtype == DType::kUndefined ? nullptr : &input);
    }
    std::vector<ValueFact> outputs(1);
    const Status status = infer_node(node, pointers, outputs);
    return status.ok() ? outputs[0].type.to_string() : status.message();
}

TEST(QuantizeInference, TakesTheTypeOfTheZeroPoint) {
    const ValueFact x = typed(kF32, {"n", 3, 4});
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32)}), "u8[n,3,4]");
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32), typed(kI8)}), "i8[n,3,4]");
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32)}, {{"output_dtype", int64_t(DType::kInt4)}}),
              "i4[n,3,4]");
    EXPECT_THAT(
        infer("QuantizeLinear", {x, typed(kF32), typed(kI8)}, {{"output_dtype", int64_t(kU8)}}),
        HasSubstr("attribute 'output_dtype' and the zero point disagree"));
}

TEST(QuantizeInference, RefusesScalesThatDoNotFit) {
    const ValueFact x = typed(kF32, {"n", 3, 4});
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32, {3})}), "u8[n,3,4]");
    EXPECT_THAT(infer("QuantizeLinear", {x, typed(kF32, {5})}), HasSubstr("1 or 3 scales"));
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32, {5})}, {{"axis", int64_t{0}}}), "u8[n,3,4]");
    EXPECT_THAT(infer("QuantizeLinear", {x, typed(kF32, {3})}, {{"axis", int64_t{3}}}),
                HasSubstr("axis"));
    EXPECT_THAT(infer("QuantizeLinear", {x, typed(kF32, {3}), typed(kU8, {4})}),
                HasSubstr("the zero point must have the shape of the scale"));
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32, {"n", 2, 4})}, {{"block_size", int64_t{2}}}),
              "u8[n,3,4]");
    EXPECT_THAT(
        infer("QuantizeLinear", {x, typed(kF32, {"n", 3, 4})}, {{"block_size", int64_t{2}}}),
        HasSubstr("2 scales along axis 1 for blocks of 2"));
}

// An extent that a run may make 1: one element is as good as a scalar.
TEST(QuantizeInference, TakesOpenExtentsForOneElement) {
    const ValueFact x = typed(kF32, {"n"});
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32), typed(kU8, {"z"})}), "u8[n]");
    EXPECT_EQ(infer("QuantizeLinear", {x, typed(kF32, {"s"}), typed(kU8)}), "u8[n]");
    EXPECT_THAT(infer("QuantizeLinear", {x, typed(kF32), typed(kU8, {2})}),
                HasSubstr("the zero point must have the shape of the scale"));
}

TEST(DequantizeInference, TakesTheTypeOfTheScale) {
    EXPECT_EQ(infer("DequantizeLinear", {typed(kU8, {"n"}), typed(DType::kFloat16)}), "f16[n]");
    EXPECT_THAT(infer("DequantizeLinear", {typed(kU8, {"n"}), typed(kF32), typed(kI8)}),
                HasSubstr("must have the same element type"));
}

TEST(IntegerProductInference, BroadcastsAsMatMul) {
    const ValueFact absent;
    EXPECT_EQ(infer("MatMulInteger", {typed(kU8, {"b", 2, 3}), typed(kI8, {3, "n"})}),
              "i32[b,2,n]");
    EXPECT_THAT(infer("MatMulInteger", {typed(kU8, {2, 3}), typed(kI8, {4, 5})}),
                HasSubstr("A's columns must equal B's rows"));
    EXPECT_EQ(
        infer("MatMulInteger", {typed(kU8, {2, 3}), typed(kI8, {3, 5}), absent, typed(kI8, {5})}),
        "i32[2,5]");
    EXPECT_THAT(infer("MatMulInteger",
                      {typed(kU8, {2, 3}), typed(kI8, {3, 5}), typed(kU8), typed(kI8, {4})}),
                HasSubstr("the zero point of B must have one element"));
    EXPECT_EQ(
        infer("QLinearMatMul", {typed(kU8, {2, 3}), typed(kF32), typed(kU8), typed(kI8, {3, 5}),
                                typed(kF32), typed(kI8), typed(kF32), typed(kI8)}),
        "i8[2,5]");
}

TEST(IntegerConvInference, KnowsWindowsAndChannels) {
    const ValueFact x = typed(kU8, {"n", 3, 8, 8});
    const ValueFact w = typed(kI8, {4, 3, 3, 3});
    EXPECT_EQ(infer("ConvInteger", {x, w}), "i32[n,4,6,6]");
    EXPECT_THAT(infer("ConvInteger", {x, w, typed(kU8), typed(kI8, {3})}),
                HasSubstr("the zero point of W has the wrong shape"));
    const ValueFact scale = typed(kF32);
    EXPECT_EQ(infer("QLinearConv", {x, scale, typed(kU8), w, scale, typed(kI8), scale, typed(kU8),
                                    typed(DType::kInt32, {4})}),
              "u8[n,4,6,6]");
    EXPECT_THAT(infer("QLinearConv", {x, scale, typed(kU8), w, scale, typed(kI8), scale, typed(kU8),
                                      typed(DType::kInt32, {5})}),
                HasSubstr("the bias must have an element for each output channel"));
}

}  // namespace
}  // namespace leat
