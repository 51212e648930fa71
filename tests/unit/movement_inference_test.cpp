// Shape inference of the movement operators, with names, unknown extents and unknown operands.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>

#include "graph/op_def.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

using Ints = std::vector<int64_t>;
using ::testing::AllOf;
using ::testing::HasSubstr;

ValueFact typed(std::vector<DimSpec> dims, DType dtype = DType::kFloat32) {
    ValueFact fact;
    fact.type = TypeInfo::tensor(dtype, std::move(dims));
    return fact;
}

ValueFact of_unknown_rank() {
    ValueFact fact;
    fact.type = TypeInfo::tensor(DType::kFloat32, std::nullopt);
    return fact;
}

ValueFact known(const Ints& values) {
    ValueFact fact = typed({int64_t(values.size())}, DType::kInt64);
    fact.value = Tensor::from<int64_t>({int64_t(values.size())}, values).value();
    return fact;
}

ValueFact known_scalar(int64_t value) {
    ValueFact fact = typed({}, DType::kInt64);
    fact.value = Tensor::from<int64_t>({}, Ints{value}).value();
    return fact;
}

ValueFact known_condition(bool value) {
    ValueFact fact = typed({}, DType::kBool);
    fact.value = Tensor::allocate(DType::kBool, {}).value();
    fact.value->mutable_bytes()[0] = std::byte(value ? 1 : 0);
    return fact;
}

// A shape vector with names.
ValueFact symbolic(std::vector<DimSpec> extents) {
    ValueFact fact = typed({int64_t(extents.size())}, DType::kInt64);
    fact.extents = std::move(extents);
    return fact;
}

struct Inferred {
    Status status;
    std::vector<ValueFact> outputs;

    std::string type(size_t i = 0) const {
        return status.ok() ? outputs[i].type.to_string() : status.message();
    }
    // "a,3,?" or "-" if nothing is known.
    std::string extents(size_t i = 0) const {
        if (!outputs[i].extents) {
            return "-";
        }
        std::string text;
        for (const DimSpec& dim : *outputs[i].extents) {
            text += text.empty() ? "" : ",";
            text += dim.is_fixed()       ? std::to_string(dim.extent())
                    : dim.name().empty() ? "?"
                                         : dim.name();
        }
        return text;
    }
};

Inferred infer(const char* op,
               const std::vector<ValueFact>& inputs,
               Attributes attributes = {},
               int output_count = 1) {
    NodeData node;
    node.op_type = op;
    node.def = find_op("", op);
    node.attributes = std::move(attributes);
    for (int i = 0; i < output_count; ++i) {
        node.outputs.push_back(ValueId{100 + i});
    }
    std::vector<const ValueFact*> pointers;
    pointers.reserve(inputs.size());
    for (const ValueFact& input : inputs) {
        // A fact of undefined type stands for an absent input.
        pointers.push_back(input.type.dtype == DType::kUndefined ? nullptr : &input);
    }
    node.inputs.resize(inputs.size());
    Inferred result;
    result.outputs.resize(size_t(output_count));
    result.status = infer_node(node, pointers, result.outputs);
    return result;
}

TEST(ReshapeInference, CancelsNamesForTheInferredExtent) {
    EXPECT_EQ(infer("Reshape", {typed({"n", 3, 4}), known({0, -1})}).type(), "f32[n,12]");
    EXPECT_EQ(infer("Reshape", {typed({"n", "s", 768}), known({0, 0, 12, -1})}).type(),
              "f32[n,s,12,64]");
    EXPECT_EQ(infer("Reshape", {typed({"n", 6}), known({-1, 3})}).type(), "f32[2*n,3]");
    EXPECT_EQ(infer("Reshape", {typed({"n", 7}), known({-1, 3})}).type(), "f32[?,3]");
}

TEST(ReshapeInference, KeepsNamesOfASymbolicShape) {
    EXPECT_EQ(infer("Reshape", {typed({"n", "s", 8}), symbolic({"n", "s", 2, 4})}).type(),
              "f32[n,s,2,4]");
}

TEST(ReshapeInference, KnowsTheRankOfAnUnknownShape) {
    EXPECT_EQ(infer("Reshape", {of_unknown_rank(), typed({3}, DType::kInt64)}).type(),
              "f32[?,?,?]");
    EXPECT_EQ(infer("Reshape", {typed({2}), typed({"r"}, DType::kInt64)}).type(), "f32[*]");
}

TEST(ReshapeInference, NamesFoundAndNeededOnMismatch) {
    const Inferred wrong = infer("Reshape", {typed({2, 3}), known({4, 2})});
    EXPECT_THAT(wrong.type(), HasSubstr("[2,3]"));
    EXPECT_THAT(wrong.type(), HasSubstr("[4,2]"));
    EXPECT_FALSE(infer("Reshape", {typed({2, 3}), known({-1, -1})}).status.ok());
    EXPECT_FALSE(infer("Reshape", {typed({2, 3}), known({-1, 4})}).status.ok());
    EXPECT_FALSE(infer("Reshape", {typed({2, 3}), known({-2, 3})}).status.ok());
    EXPECT_FALSE(infer("Reshape", {typed({2, 3}), known({2, 3, 0})}).status.ok());
}

TEST(ReshapeInference, TakesZerosLiterallyIfAllowed) {
    EXPECT_EQ(infer("Reshape", {typed({0, 3}), known({3, 0})}, {{"allowzero", int64_t{1}}}).type(),
              "f32[3,0]");
}

TEST(ViewInference, HandlesNamedAxes) {
    EXPECT_EQ(infer("Flatten", {typed({"n", 3, 4})}).type(), "f32[n,12]");
    EXPECT_EQ(infer("Squeeze", {typed({"n", 1, 4}), known({1})}).type(), "f32[n,4]");
    EXPECT_EQ(infer("Squeeze", {typed({"n", 1, 4})}).type(), "f32[*]");
    EXPECT_EQ(infer("Squeeze", {typed({"n", 1, 4}), typed({1}, DType::kInt64)}).type(), "f32[?,?]");
    EXPECT_FALSE(infer("Squeeze", {typed({2, 3}), known({1})}).status.ok());
    EXPECT_EQ(infer("Unsqueeze", {typed({"n", 3}), known({-1, 0})}).type(), "f32[1,n,3,1]");
    EXPECT_FALSE(infer("Unsqueeze", {typed({2}), known({0, -3})}).status.ok());
}

TEST(ShapeArithmetic, FlowsThroughVectorOperators) {
    const Inferred shape = infer("Shape", {typed({"n", 3, "w"})});
    EXPECT_EQ(shape.extents(), "n,3,w");
    EXPECT_EQ(infer("Shape", {typed({"n", 3, "w"})}, {{"start", int64_t{-2}}}).extents(), "3,w");
    EXPECT_EQ(infer("Gather", {shape.outputs[0], known_scalar(-1)}).extents(), "w");
    EXPECT_EQ(infer("Slice", {shape.outputs[0], known({1}), known({INT64_MAX})}).extents(), "3,w");
    EXPECT_EQ(infer("Concat", {shape.outputs[0], known({7})}, {{"axis", int64_t{0}}}).extents(),
              "n,3,w,7");
    EXPECT_EQ(infer("Concat", {shape.outputs[0], typed({1}, DType::kInt64)}, {{"axis", int64_t{0}}})
                  .extents(),
              "n,3,w,?");
    EXPECT_EQ(infer("Split", {shape.outputs[0], known({1, 2})}, {}, 2).extents(1), "3,w");
    EXPECT_EQ(infer("Unsqueeze", {symbolic({"n"}), known({0})}).extents(), "-");
    EXPECT_EQ(infer("Squeeze", {symbolic({"n"}), known({0})}).extents(), "n");
}

TEST(ConcatInference, AddsNamesAndMergesTheRest) {
    EXPECT_EQ(infer("Concat", {typed({"n", 2}), typed({4, 3})}, {{"axis", int64_t{1}}}).type(),
              "f32[4,5]");
    EXPECT_EQ(infer("Concat", {typed({2, 2}), of_unknown_rank()}, {{"axis", int64_t{1}}}).type(),
              "f32[2,?]");
    EXPECT_FALSE(
        infer("Concat", {typed({2, 2}), typed({3, 2})}, {{"axis", int64_t{1}}}).status.ok());
    EXPECT_FALSE(infer("Concat", {typed({2}), typed({2, 2})}, {{"axis", int64_t{0}}}).status.ok());
}

TEST(ConcatInference, NeedsEveryInput) {
    const Inferred lacking =
        infer("Concat", {typed({2}), ValueFact(), typed({2})}, {{"axis", int64_t{0}}});
    EXPECT_THAT(lacking.type(), HasSubstr("input 1 is absent but required"));
}

TEST(VariadicInference, NeedsEveryInput) {
    for (const char* op : {"Max", "Mean", "Min", "Sum"}) {
        EXPECT_THAT(infer(op, {typed({2}), ValueFact()}).type(),
                    HasSubstr("input 1 is absent but required"));
        EXPECT_THAT(infer(op, {typed({2}), typed({2}), ValueFact(), typed({2})}).type(),
                    HasSubstr("input 2 is absent but required"));
    }
}

TEST(SliceInference, KeepsWholeNamedAxes) {
    EXPECT_EQ(infer("Slice", {typed({"n", 9}), known({0, 1}), known({INT64_MAX, -1})}).type(),
              "f32[n,7]");
    EXPECT_EQ(infer("Slice", {typed({"n", 9}), known({1}), known({5}), known({0})}).type(),
              "f32[?,9]");
    EXPECT_EQ(
        infer("Slice", {typed({4, 9}), typed({1}, DType::kInt64), known({5}), known({0})}).type(),
        "f32[?,9]");
    EXPECT_FALSE(
        infer("Slice", {typed({4}), known({0}), known({5}), known({0}), known({0})}).status.ok());
}

TEST(PadInference, GrowsNamedAxes) {
    EXPECT_EQ(infer("Pad", {typed({"n", 5}), known({0, 1, 0, 2})}).type(), "f32[n,8]");
    EXPECT_EQ(infer("Pad", {typed({4, 5}), typed({4}, DType::kInt64)}).type(), "f32[?,?]");
    EXPECT_FALSE(infer("Pad", {typed({4}), known({-3, -2})}).status.ok());
    EXPECT_FALSE(infer("Pad", {typed({4}), known({1})}).status.ok());
    EXPECT_FALSE(infer("Pad", {typed({4}), known({INT64_MAX, 1})}).status.ok());
}

TEST(ExpandInference, BroadcastsNames) {
    EXPECT_EQ(infer("Expand", {typed({1, 3}), symbolic({"n", 1})}).type(), "f32[n,3]");
    EXPECT_EQ(infer("Tile", {typed({"n", 3}), known({1, 2})}).type(), "f32[n,6]");
    EXPECT_FALSE(infer("Tile", {typed({2, 3}), known({2})}).status.ok());
    EXPECT_FALSE(infer("Expand", {typed({2}), known({3})}).status.ok());
}

TEST(SplitInference, ChecksTheSum) {
    EXPECT_EQ(infer("Split", {typed({7, "n"})}, {}, 3).type(2), "f32[1,n]");
    EXPECT_FALSE(infer("Split", {typed({7}), known({3, 3})}, {}, 2).status.ok());
    EXPECT_FALSE(infer("Split", {typed({7}), known({INT64_MAX, 8})}, {}, 2).status.ok());
}

TEST(RangeInference, CountsToAName) {
    ValueFact limit = symbolic({"s"});
    limit.type = TypeInfo::tensor(DType::kInt64, std::vector<DimSpec>{});
    EXPECT_EQ(infer("Range", {known_scalar(0), limit, known_scalar(1)}).type(), "i64[s]");
    EXPECT_EQ(infer("Range", {known_scalar(2), known_scalar(-7), known_scalar(-3)}).type(),
              "i64[3]");
    EXPECT_FALSE(infer("Range", {known_scalar(2), known_scalar(7), known_scalar(0)}).status.ok());
    EXPECT_FALSE(infer("Range", {known_scalar(INT64_MIN), known_scalar(INT64_MAX), known_scalar(1)})
                     .status.ok());
}

TEST(OneHotInference, PutsTheDepthAtItsAxis) {
    const ValueFact indices = typed({"n", 3}, DType::kInt64);
    const ValueFact values = typed({2});
    EXPECT_EQ(infer("OneHot", {indices, known_scalar(5), values}).type(), "f32[n,3,5]");
    EXPECT_EQ(infer("OneHot", {indices, known({5}), values}, {{"axis", int64_t{0}}}).type(),
              "f32[5,n,3]");
    EXPECT_EQ(infer("OneHot", {indices, symbolic({"d"}), values}, {{"axis", int64_t{-2}}}).type(),
              "f32[n,d,3]");
    EXPECT_EQ(infer("OneHot", {indices, typed({}, DType::kFloat32), values}).type(), "f32[n,3,?]");
    EXPECT_EQ(infer("OneHot", {of_unknown_rank(), known_scalar(5), values}).type(), "f32[*]");

    EXPECT_THAT(infer("OneHot", {indices, known_scalar(-1), values}).type(),
                AllOf(HasSubstr("depth is no extent"), HasSubstr("-1"), HasSubstr(">= 0")));
    EXPECT_THAT(infer("OneHot", {indices, known({2, 3}), values}).type(),
                HasSubstr("depth must have one element"));
    EXPECT_THAT(infer("OneHot", {indices, known_scalar(5), typed({3})}).type(),
                HasSubstr("2 elements"));
    EXPECT_THAT(infer("OneHot", {indices, known_scalar(5), values}, {{"axis", int64_t{3}}}).type(),
                HasSubstr("axis"));
    EXPECT_THAT(
        infer("OneHot", {typed({1, 1, 1, 1, 1, 1, 1, 1}, DType::kInt64), known_scalar(5), values})
            .type(),
        HasSubstr("too many dimensions"));
}

// The standard has axes in [0, rank), and ONNX Runtime refuses others.
TEST(TransposeInference, RefusesNegativeAxes) {
    const auto with = [](const std::vector<int64_t>& perm) {
        return infer("Transpose", {typed({2, 3})}, {{"perm", perm}}).status;
    };
    EXPECT_TRUE(with({1, 0}).ok());
    EXPECT_EQ(with({-1, 0}).code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(with({1, -2}).message(), HasSubstr("perm has a negative axis"));
}

// As ONNX's reference evaluator and ONNX Runtime do.
TEST(ResizeInference, RefusesAntialiasInModeNearest) {
    const std::vector<ValueFact> inputs = {typed({4}), ValueFact(), ValueFact(), known({2})};
    const auto with = [&](const char* mode, int64_t antialias) {
        return infer("Resize", inputs, {{"mode", std::string(mode)}, {"antialias", antialias}});
    };
    EXPECT_EQ(with("nearest", 0).type(), "f32[2]");
    EXPECT_EQ(with("linear", 1).type(), "f32[2]");
    EXPECT_EQ(with("cubic", 1).type(), "f32[2]");
    const Status status = with("nearest", 1).status;
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("attribute 'antialias'"));
    EXPECT_EQ(infer("Resize", inputs, {{"antialias", int64_t{1}}}).status.code(),
              StatusCode::kInvalidArgument);
}

TEST(ResizeInference, ScalesNames) {
    ValueFact scales = typed({3});
    scales.value = Tensor::from<float>({3}, std::vector<float>{1, 2, 1.5F}).value();
    EXPECT_EQ(infer("Resize", {typed({"n", "h", 5}), ValueFact(), scales}).type(), "f32[n,2*h,7]");
    EXPECT_EQ(
        infer("Resize", {typed({1, 2, 3}), ValueFact(), ValueFact(), known({1, 4, 6})}).type(),
        "f32[1,4,6]");
    EXPECT_FALSE(infer("Resize", {typed({1, 2})}).status.ok());
    EXPECT_FALSE(infer("Resize", {typed({0}), ValueFact(), ValueFact(), known({3})}).status.ok());
}

TEST(DropoutInference, KnowsTheRatioThatItDrops) {
    ValueFact training = typed({}, DType::kBool);
    training.value = Tensor::allocate(DType::kBool, {}).value();
    *training.value->mutable_bytes() = std::byte{1};
    ValueFact ratio = typed({});
    ratio.value = Tensor::from<float>({}, std::vector<float>{0.0F}).value();
    EXPECT_EQ(infer("Dropout", {typed({"n"}), ratio, training}, {}, 2).type(1), "bool[n]");
    EXPECT_EQ(infer("Dropout", {typed({"n"}), ValueFact(), training}).type(), "f32[n]");
    ratio.value = Tensor::from<float>({}, std::vector<float>{1.0F}).value();
    EXPECT_THAT(infer("Dropout", {typed({"n"}), ratio, training}).status.message(),
                HasSubstr("[0, 1)"));
}

// Indices as an i64 matrix.
ValueFact known_rows(int64_t rows, const Ints& values) {
    const Shape shape{rows, int64_t(values.size()) / rows};
    ValueFact fact = typed({shape[0], shape[1]}, DType::kInt64);
    fact.value = Tensor::from<int64_t>(shape, values).value();
    return fact;
}

// Of numpy: a[[...]] raises IndexError for each of these.
TEST(GatherInference, KnowsIndicesThatAreOutOfRange) {
    const auto fails = [](const Inferred& inferred, const char* range) {
        EXPECT_THAT(inferred.type(), HasSubstr("an index is out of range"));
        EXPECT_THAT(inferred.type(), HasSubstr(range));
    };
    const Attributes axis_1 = {{"axis", int64_t{1}}};
    const ValueFact x = typed({2, 5});
    EXPECT_EQ(infer("Gather", {x, known({4, -5})}, axis_1).type(), "f32[2,2]");
    fails(infer("Gather", {x, known({4, 5})}, axis_1), "[-5, 5)");
    fails(infer("Gather", {x, known({-6})}, axis_1), "[-5, 5)");
    fails(infer("Gather", {x, known_scalar(2)}), "[-2, 2)");
    EXPECT_EQ(infer("Gather", {typed({"n"}), known({100})}).type(), "f32[1]") << "n may be 101";
    fails(infer("GatherElements", {x, known_rows(2, {0, 1, 2, 5})}, axis_1), "[-5, 5)");
    fails(infer("ScatterElements", {x, known_rows(1, {0, 3}), typed({1, 2})}), "[-2, 2)");
    EXPECT_EQ(infer("GatherND", {x, known_rows(2, {0, 4, -2, -5})}).type(), "f32[2]");
    fails(infer("GatherND", {x, known_rows(2, {0, 4, 1, 5})}), "[-5, 5)");
    fails(infer("GatherND", {x, known_rows(2, {0, 4, 2, 0})}), "[-2, 2)");
    fails(infer("GatherND", {x, known_rows(2, {0, 5})}, {{"batch_dims", int64_t{1}}}), "[-5, 5)");
    fails(infer("ScatterND", {x, known_rows(1, {1, -6}), typed({1})}), "[-5, 5)");
    // Positions of no index pick the whole.
    EXPECT_EQ(infer("GatherND", {x, typed({3, 0}, DType::kInt64)}).type(), "f32[3,2,5]");
}

TEST(GatherRun, NamesTheIndexThatIsOutOfRange) {
    const Tensor x = Tensor::from<float>({2}, std::vector<float>{1, 2}).value();
    const Tensor index = Tensor::from<int64_t>({1}, Ints{-3}).value();
    Tensor y = Tensor::allocate(DType::kFloat32, {1}).value();
    NodeData node;
    node.name = "pick";
    node.op_type = "Gather";
    const TensorArg inputs[] = {arg_of(x), arg_of(index)};
    const TensorArg outputs[] = {arg_of(y)};
    const Status status = find_op("", "Gather")->reference({node, inputs, outputs});
    EXPECT_THAT(status.message(), HasSubstr("pick"));
    EXPECT_THAT(status.message(), HasSubstr("-3"));
    EXPECT_THAT(status.message(), HasSubstr("[-2, 2)"));
}

// ---- Elements that inference follows ----

struct Followed {
    const char* op;
    std::vector<ValueFact> inputs;
    Attributes attributes = {};
};

// Operators that follow elements of integer vectors, with n of them.
std::vector<Followed> followed_operators(int64_t n) {
    Ints counting;
    Ints backwards;
    for (int64_t i = 0; i < n; ++i) {
        counting.push_back(3 + i);
        backwards.push_back(n - 1 - i);
    }
    ValueFact chosen = typed({n}, DType::kBool);
    chosen.value = Tensor::allocate(DType::kBool, {n}).value();
    for (int64_t i = 0; i < n; ++i) {
        chosen.value->mutable_bytes()[i] = std::byte(i % 3 == 0 ? 1 : 0);
    }
    const ValueFact numbers = known(counting);
    const ValueFact seven = known_scalar(7);
    const ValueFact two = known({2});
    const Tensor element = *known({7}).value;
    return {{"Where", {chosen, numbers, seven}},
            {"Where", {chosen, seven, two}},
            {"Where", {known_condition(true), numbers, seven}},
            {"Equal", {numbers, seven}},
            {"Add", {numbers, seven}},
            {"Sub", {numbers, two}},
            {"Mul", {seven, numbers}},
            {"Div", {numbers, two}},
            {"Cast", {numbers}, {{"to", int64_t(DType::kInt32)}}},
            {"Concat", {numbers, two, numbers}, {{"axis", int64_t{0}}}},
            {"ConstantOfShape", {known({n})}, {{"value", element}}},
            {"Expand", {seven, known({n})}},
            {"Gather", {numbers, known(backwards)}},
            {"Identity", {numbers}},
            {"Reshape", {numbers, known({-1})}},
            {"Slice", {numbers, known({-1}), known({INT64_MIN}), known({0}), known({-2})}},
            {"Transpose", {numbers}}};
}

// Of every length, also where there are more than shapes have: as many as there are, and right.
TEST(FollowedElements, AreThoseThatARunComputes) {
    for (int64_t n = 1; n <= 70; ++n) {
        for (const Followed& row : followed_operators(n)) {
            SCOPED_TRACE(fmt::format("{} of {}", row.op, n));
            const Inferred inferred = infer(row.op, row.inputs, row.attributes);
            ASSERT_TRUE(inferred.status.ok()) << inferred.status.message();
            const auto& extents = inferred.outputs[0].extents;
            if (!extents) {
                continue;
            }
            NodeData node;
            node.op_type = row.op;
            node.def = find_op("", row.op);
            node.attributes = row.attributes;
            node.inputs.resize(row.inputs.size());
            node.outputs.resize(1);
            std::vector<const Tensor*> values;
            for (const ValueFact& input : row.inputs) {
                values.push_back(&*input.value);
            }
            const auto results = evaluate_node(node, values, inferred.outputs);
            ASSERT_TRUE(results.ok()) << results.error().message();
            const Tensor& result = results->front();
            ASSERT_EQ(int64_t(extents->size()), result.element_count());
            for (size_t i = 0; i < extents->size(); ++i) {
                const int64_t element = load_integer(result.dtype(), result.bytes(), int64_t(i));
                EXPECT_EQ((*extents)[i].extent(), element) << i;
            }
        }
    }
}

TEST(FollowedElements, OfALongChoiceAreAllThere) {
    ValueFact condition = typed({10}, DType::kBool);
    condition.value = Tensor::allocate(DType::kBool, {10}).value();
    for (int i = 0; i < 10; ++i) {
        condition.value->mutable_bytes()[i] = std::byte(i < 8 ? 1 : 0);
    }
    EXPECT_EQ(infer("Where", {condition, symbolic({"n"}), known_scalar(5)}).extents(),
              "n,n,n,n,n,n,n,n,5,5");
}

}  // namespace
}  // namespace leat
