// What valid files mean: storage of tensors, wire forms, names, functions, subgraphs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files/mapped_file.h"
#include "graph/graph_data.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using testing::bytes;
using ::testing::ElementsAre;
using testing::f32_info;
using ::testing::HasSubstr;
using testing::ModelParts;
using testing::node;
using testing::number;
using testing::TemporaryFolder;
using testing::tensor;

ModelParts unary_model(const std::string& op, const std::string& attributes = {}) {
    ModelParts parts;
    parts.nodes = {node(op, {"x"}, {"y"}, attributes, "n")};
    parts.inputs = {f32_info("x", {2})};
    parts.outputs = {f32_info("y", {2})};
    return parts;
}

// The constant that a model with this initializer has, or the one of a Constant node.
Tensor constant_of(const ModelParts& parts) {
    TemporaryFolder folder;
    Result<Graph> graph = folder.load(parts);
    EXPECT_TRUE(graph.ok()) << graph.error().message();
    for (const ValueData& value : graph.ok() ? graph->data().values : std::vector<ValueData>()) {
        if (value.constant) {
            return *value.constant;
        }
    }
    ADD_FAILURE() << "no constant";
    return {};
}
Tensor initializer(const std::string& encoded) {
    ModelParts parts = unary_model("Relu");
    parts.initializers = {encoded};
    return constant_of(parts);
}
Tensor constant_node(const std::string& attribute) {
    ModelParts parts = unary_model("Relu");
    parts.nodes.push_back(node("Constant", {}, {"c"}, attribute));
    return constant_of(parts);
}
template <class T>
std::vector<T> elements(const Tensor& tensor) {
    std::vector<T> out(size_t(tensor.element_count()));
    std::memcpy(out.data(), tensor.bytes(), out.size() * sizeof(T));
    return out;
}

TEST(OnnxReader, TypedFieldsPackedOrNotGiveTheSame) {
    const std::string packed =
        bytes(5, testing::varint(1) + testing::varint(uint64_t(-2)) + testing::varint(300));
    const std::string single = number(5, 1) + number(5, -2) + number(5, 300);
    const std::string mixed =
        number(5, 1) + bytes(5, testing::varint(uint64_t(-2)) + testing::varint(300));
    for (const std::string& data : {packed, single, mixed}) {
        EXPECT_THAT(elements<int32_t>(initializer(tensor("w", DType::kInt32, {3}, data))),
                    ElementsAre(1, -2, 300));
    }
    const std::string floats = testing::fixed32(4, 1.5F) + testing::fixed32(4, -2);
    EXPECT_THAT(elements<float>(initializer(tensor("w", DType::kFloat32, {2}, floats))),
                ElementsAre(1.5F, -2));
    const std::string run = bytes(4, testing::raw_bytes<float>({1.5F, -2}));
    EXPECT_THAT(elements<float>(initializer(tensor("w", DType::kFloat32, {2}, run))),
                ElementsAre(1.5F, -2));
    // dims, packed
    EXPECT_EQ(
        initializer(bytes(1, "\2\3") + number(2, 2) + bytes(8, "w") + bytes(9, "abcdef")).shape(),
        (Shape{2, 3}));
}

TEST(OnnxReader, EveryTypedFieldGivesItsTypes) {
    const auto from_int32 = [](DType dtype, int64_t count, const std::vector<int64_t>& values) {
        std::string data;
        for (int64_t value : values) {
            data += number(5, value);
        }
        return elements<uint8_t>(initializer(tensor("w", dtype, {count}, data)));
    };
    EXPECT_THAT(from_int32(DType::kUint8, 2, {1, 255}), ElementsAre(1, 255));
    EXPECT_THAT(from_int32(DType::kInt8, 1, {-1}), ElementsAre(255));
    EXPECT_THAT(from_int32(DType::kBool, 3, {0, 1, 256}), ElementsAre(0, 1, 1));
    EXPECT_THAT(from_int32(DType::kFloat8E4M3FN, 1, {0x38}), ElementsAre(0x38));
    // Two elements a byte, four elements a byte.
    EXPECT_THAT(from_int32(DType::kInt4, 3, {0x21, 0x03}).size(), 3U);
    const Tensor packed4 =
        initializer(tensor("w", DType::kUint4, {3}, number(5, 0x21) + number(5, 0x03)));
    EXPECT_EQ(packed4.byte_count(), 2);
    EXPECT_EQ(int(packed4.bytes()[0]), 0x21);
    const Tensor packed2 =
        initializer(tensor("w", DType::kUint2, {5}, number(5, 0xe4) + number(5, 1)));
    EXPECT_EQ(packed2.byte_count(), 2);
    // A number for each element of 6 bits, which then lie side by side.
    EXPECT_THAT(
        elements<uint8_t>(Tensor::view(DType::kUint8, {3},
                                       initializer(tensor("w", DType::kFloat6E3M2, {4},
                                                          number(5, 0x01) + number(5, 0x21) +
                                                              number(5, 0x1f) + number(5, 0x3f)))
                                           .bytes(),
                                       nullptr)),
        ElementsAre(0x41, 0xf8, 0xfd));
    EXPECT_THAT(
        elements<uint16_t>(initializer(tensor("w", DType::kFloat16, {1}, number(5, 0x3c00)))),
        ElementsAre(0x3c00));
    EXPECT_THAT(
        elements<uint16_t>(initializer(tensor("w", DType::kBfloat16, {1}, number(5, 0x3f80)))),
        ElementsAre(0x3f80));
    EXPECT_THAT(
        elements<int64_t>(initializer(tensor("w", DType::kInt64, {1}, number(7, INT64_MIN)))),
        ElementsAre(INT64_MIN));
    EXPECT_THAT(elements<uint64_t>(initializer(tensor("w", DType::kUint64, {1}, number(11, -1)))),
                ElementsAre(UINT64_MAX));
    EXPECT_THAT(elements<uint32_t>(initializer(tensor("w", DType::kUint32, {1}, number(11, 7)))),
                ElementsAre(7U));
    EXPECT_THAT(elements<double>(initializer(tensor("w", DType::kFloat64, {1},
                                                    bytes(10, testing::raw_bytes<double>({2.5}))))),
                ElementsAre(2.5));
    const Tensor text = initializer(tensor("w", DType::kString, {2}, bytes(6, "a") + bytes(6, "")));
    EXPECT_THAT(text.data<std::string>(), ElementsAre("a", ""));
    EXPECT_EQ(initializer(tensor("w", DType::kFloat32, {0, 4}, "")).element_count(), 0);
}

TEST(OnnxReader, LargeWeightsAreViewsOfTheFileAndSmallOnesAligned) {
    TemporaryFolder folder;
    ModelParts parts = unary_model("Relu");
    parts.initializers = {
        testing::raw_tensor<float>("large", {1024}, std::vector<float>(1024, 42.0F)),
        testing::raw_tensor<double>("small", {1}, {2.0})};
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok());
    const Tensor& large = *graph->data().values[0].constant;
    EXPECT_NE(std::get_deleter<MappedFileDeleter>(large.owner()), nullptr);
    EXPECT_EQ(elements<float>(large)[1023], 42.0F);
    EXPECT_TRUE(graph->data().values[1].constant->is_aligned());
}

// Above a few MiB the structure is read apart from the weights.
TEST(OnnxReader, LargeFilesGiveTheSameGraph) {
    TemporaryFolder folder;
    ModelParts parts = unary_model("Relu");
    const int64_t count = 3 << 20;
    for (const char* name : {"first", "second"}) {
        parts.initializers.push_back(testing::raw_tensor<float>(
            name, {count}, std::vector<float>(size_t(count), name[0] == 'f' ? 1.0F : 2.0F)));
    }
    parts.initializers.push_back(testing::raw_tensor<int64_t>("third", {1}, {3}));
    const std::string model = model_bytes(parts);
    const Result<Graph> graph = folder.load(model);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(graph->data().nodes[0].name, "n");
    EXPECT_EQ(elements<float>(*graph->data().values[0].constant).back(), 1.0F);
    EXPECT_EQ(elements<float>(*graph->data().values[1].constant).front(), 2.0F);
    EXPECT_THAT(elements<int64_t>(*graph->data().values[2].constant), ElementsAre(3));
    EXPECT_FALSE(folder.load(model.substr(0, model.size() - 8)).ok());
}

TEST(OnnxReader, ConstantNodesOfEveryFormBecomeConstants) {
    EXPECT_THAT(elements<float>(constant_node(testing::float_attribute("value_float", 2.5F))),
                ElementsAre(2.5F));
    EXPECT_THAT(elements<int64_t>(constant_node(testing::int_attribute("value_int", -3))),
                ElementsAre(-3));
    EXPECT_THAT(elements<int64_t>(constant_node(testing::ints_attribute("value_ints", {4, 5}))),
                ElementsAre(4, 5));
    EXPECT_THAT(constant_node(testing::text_attribute("value_string", "s")).data<std::string>(),
                ElementsAre("s"));
    const std::string value =
        testing::attribute("value", 4, bytes(5, testing::raw_tensor<int32_t>("", {1}, {9})));
    EXPECT_THAT(elements<int32_t>(constant_node(value)), ElementsAre(9));
    // 2x3 with elements at (0, 1) and (1, 2), by flat indices and by coordinates.
    for (const std::string& indices : {testing::raw_tensor<int64_t>("", {2}, {1, 5}),
                                       testing::raw_tensor<int64_t>("", {2, 2}, {0, 1, 1, 2})}) {
        const std::string sparse = bytes(1, testing::raw_tensor<float>("s", {2}, {7, 8})) +
                                   bytes(2, indices) + number(3, 2) + number(3, 3);
        EXPECT_THAT(elements<float>(
                        constant_node(testing::attribute("sparse_value", 11, bytes(22, sparse)))),
                    ElementsAre(0, 7, 0, 0, 0, 8));
    }
}

TEST(OnnxReader, SubmessagesThatOccurTwiceMerge) {
    // The graph in two parts, and a type whose dtype and shape come apart.
    ModelParts first;
    first.nodes = {node("Relu", {"x"}, {"y"})};
    ModelParts second;
    second.inputs = {bytes(1, "x") + bytes(2, bytes(1, number(1, 1))) +
                     bytes(2, bytes(1, bytes(2, testing::shape({2, 3}))))};
    second.outputs = {f32_info("y", {2, 3})};
    TemporaryFolder folder;
    const Result<Graph> graph =
        folder.load(number(1, 8) + bytes(7, graph_bytes(first)) + bytes(7, graph_bytes(second)) +
                    bytes(8, number(2, 13)));
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(graph->node_count(), 1);
    EXPECT_EQ(graph->data().value(graph->data().inputs[0]).type.to_string(), "f32[2,3]");
}

// From IR version 4 on they are defaults: runtime_default_inputs_test.cpp.
TEST(OnnxReader, InitializersThatAreInputsAreConstantsWithOneWarningInOldFiles) {
    ModelParts parts = unary_model("Relu");
    parts.nodes = {node("Add", {"x", "w"}, {"h"}), node("Add", {"h", "v"}, {"y"})};
    parts.inputs.push_back(f32_info("w", {2}));
    parts.inputs.push_back(f32_info("v", {2}));
    parts.initializers = {testing::raw_tensor<float>("w", {2}, {1, 2}),
                          testing::raw_tensor<float>("v", {2}, {1, 2})};
    parts.ir_version = 3;
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph->inputs().size(), 1U);
    EXPECT_TRUE(graph->default_inputs().empty());
    ASSERT_EQ(graph->warnings().size(), 1U);
    EXPECT_THAT(graph->warnings()[0], HasSubstr("'w'"));
}

TEST(OnnxReader, DimsMayBeNumbersNamesOrUnknown) {
    const std::string dims = bytes(1, bytes(2, "batch")) + bytes(1, number(1, 3)) + bytes(1, "");
    ModelParts parts = unary_model("Relu");
    parts.inputs = {bytes(1, "x") + bytes(2, bytes(1, number(1, 1) + bytes(2, dims)))};
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok());
    const std::vector<DimSpec> found = graph->inputs()[0].dims;
    ASSERT_EQ(found.size(), 3U);
    EXPECT_EQ(found[0].name(), "batch");
    EXPECT_EQ(found[1].extent(), 3);
    EXPECT_FALSE(found[2].is_fixed());
}

TEST(OnnxReader, NodesInAnyOrderAreSorted) {
    ModelParts parts = unary_model("Relu");
    parts.nodes = {node("Relu", {"h"}, {"y"}), node("Exp", {"x"}, {"h"})};
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph->data().nodes[0].op_type, "Exp");
}

TEST(OnnxReader, OptionalInputsMayBeAbsent) {
    ModelParts parts = unary_model("Clip");
    parts.nodes = {node("Clip", {"x", "", "m"}, {"y"}), node("Clip", {"x", "", ""}, {"z"})};
    parts.initializers = {testing::raw_tensor<float>("m", {}, {6})};
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok());
    EXPECT_EQ(graph->data().nodes[0].inputs.size(), 3U);
    EXPECT_FALSE(graph->data().nodes[0].inputs[1].valid());
    EXPECT_EQ(graph->data().nodes[1].inputs.size(), 1U);
}

TEST(OnnxReader, UnknownOperatorsLoadAndVerifyListsThemAll) {
    ModelParts parts = unary_model("Relu");
    parts.nodes = {node("NoSuchOp", {"x"}, {"h"}, {}, "a"),
                   node("Other", {"h"}, {"y"}) + bytes(7, "com.acme")};
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok());
    const Status status = graph->verify();
    EXPECT_EQ(status.code(), StatusCode::kUnsupported);
    EXPECT_THAT(status.message(), HasSubstr("NoSuchOp"));
    EXPECT_THAT(status.message(), HasSubstr("com.acme.Other"));
}

// f.Scale(a; alpha = 2) -> b:  c = LeakyRelu(a; alpha), b = Relu(c)
std::string scale_function() {
    return bytes(25, bytes(1, "Scale") + bytes(10, "f") + bytes(4, "a") + bytes(5, "b") +
                         bytes(11, bytes(1, "alpha") + testing::fixed32(2, 2.0F) + number(20, 1)) +
                         bytes(7, node("LeakyRelu", {"a"}, {"c"},
                                       testing::ref_attribute("alpha", "alpha", 1), "leaky")) +
                         bytes(7, node("Relu", {"c"}, {"b"})) + bytes(9, number(2, 13)));
}

TEST(OnnxReader, FunctionsAreInlinedWithTheirDefaults) {
    ModelParts parts = unary_model("Relu");
    parts.nodes = {
        node("Scale", {"x"}, {"h"}, {}, "one") + bytes(7, "f"),
        node("Scale", {"h"}, {"y"}, testing::float_attribute("alpha", 3), "two") + bytes(7, "f")};
    parts.more_model = scale_function();
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const GraphData& data = graph->data();
    ASSERT_EQ(data.node_count(), 4);
    EXPECT_EQ(data.nodes[0].name, "one/leaky");
    EXPECT_EQ(data.nodes[0].attr("alpha", 0.0F), 2.0F);
    EXPECT_EQ(data.nodes[2].attr("alpha", 0.0F), 3.0F);
    EXPECT_EQ(data.value(data.outputs[0]).name, "y");
}

TEST(OnnxReader, OverloadsOfFunctionsAreToldApart) {
    ModelParts parts = unary_model("Relu");
    parts.nodes = {node("Scale", {"x"}, {"y"}) + bytes(7, "f") + bytes(8, "v2")};
    const std::string other =
        bytes(25, bytes(1, "Scale") + bytes(10, "f") + bytes(13, "v2") + bytes(4, "a") +
                      bytes(5, "b") + bytes(7, node("Exp", {"a"}, {"b"})));
    parts.more_model = scale_function() + other;
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_EQ(graph->data().nodes[0].op_type, "Exp");
}

TEST(OnnxReader, SubgraphsKeepNamesOfTheGraphAround) {
    ModelParts body;
    body.nodes = {node("Add", {"x", "h"}, {"z"})};
    body.outputs = {f32_info("z", {2})};
    ModelParts parts = unary_model("Relu");
    parts.nodes = {node("If", {"c"}, {"y"},
                        testing::attribute("then_branch", 5, bytes(6, graph_bytes(body))) +
                            testing::attribute("else_branch", 5, bytes(6, graph_bytes(body)))),
                   node("Relu", {"x"}, {"h"})};
    parts.inputs.push_back(testing::value_info("c", testing::tensor_type(DType::kBool, {})));
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    // Sorted behind what its bodies read.
    const NodeData& node = graph->data().nodes[1];
    ASSERT_TRUE(node.has_bodies());
    const GraphData& inner = *node.body("then_branch");
    ASSERT_EQ(inner.node_count(), 1);
    EXPECT_EQ(inner.value(inner.nodes[0].inputs[1]).name, "h");
    // Both captured values are operands of the node and inputs of the body.
    EXPECT_EQ(node.own_inputs(), 1U);
    ASSERT_EQ(node.captured_count(), 2U);
    ASSERT_EQ(inner.inputs.size(), 2U);
    for (size_t k = 0; k < 2; ++k) {
        EXPECT_EQ(inner.nodes[0].inputs[k], inner.inputs[k]);
        EXPECT_EQ(inner.value(inner.inputs[k]).name, graph->data().value(node.inputs[1 + k]).name);
    }
    EXPECT_TRUE(graph->verify().ok()) << graph->verify().message();
}

TEST(OnnxReader, TypesOfSequencesAndOptionals) {
    ModelParts parts = unary_model("Relu");
    const std::string element = testing::tensor_type(DType::kInt64, {2});
    parts.inputs = {f32_info("x", {2}), testing::value_info("s", bytes(4, bytes(1, element))),
                    testing::value_info("o", bytes(9, bytes(1, bytes(4, bytes(1, element)))))};
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok());
    const GraphData& data = graph->data();
    EXPECT_EQ(data.value(data.inputs[1]).type.kind, TypeInfo::Kind::kSequence);
    EXPECT_EQ(data.value(data.inputs[2]).type.element->element->to_string(), "i64[2]");
}

}  // namespace
}  // namespace leat
