// Files that are not what they should be: each gives an error that names the file, and the node if
// there is one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/onnx_bytes.h"

namespace leat {
namespace {

using ::testing::AllOf;
using testing::bytes;
using testing::f32_info;
using ::testing::HasSubstr;
using testing::ModelParts;
using testing::node;
using testing::number;
using testing::TemporaryFolder;
using testing::tensor;

ModelParts relu_model() {
    ModelParts parts;
    parts.nodes = {node("Relu", {"x"}, {"y"}, {}, "act")};
    parts.inputs = {f32_info("x", {2})};
    parts.outputs = {f32_info("y", {2})};
    return parts;
}

std::string error_of(const std::string& model) {
    TemporaryFolder folder;
    const Result<Graph> graph = folder.load(model);
    return graph.ok() ? "no error" : graph.error().message();
}
std::string error_of(const ModelParts& parts) {
    return error_of(model_bytes(parts));
}

TEST(OnnxBadInput, FilesThatAreNoOnnxNameTheFile) {
    EXPECT_THAT(error_of(""), AllOf(HasSubstr("m.onnx"), HasSubstr("empty")));
    EXPECT_THAT(error_of("This is a text file.\nWith two lines.\n"), HasSubstr("m.onnx"));
    EXPECT_THAT(error_of("<html></html>"), HasSubstr("m.onnx"));
    EXPECT_THAT(error_of(std::string("\x7f"
                                     "ELF\2\1\1\0\0\0\0\0\0\0\0\0\3\0\x3e\0",
                                     20)),
                HasSubstr("is it an ONNX file"));
    EXPECT_THAT(error_of(std::string(4096, '\0')), HasSubstr("is it an ONNX file"));
    EXPECT_THAT(error_of(std::string(4096, '\xff')), HasSubstr("is it an ONNX file"));
}

TEST(OnnxBadInput, MissingFileAndFolderAreErrors) {
    TemporaryFolder folder;
    EXPECT_EQ(load_onnx(folder.path() / "none.onnx").error().code(), StatusCode::kNotFound);
    EXPECT_THAT(load_onnx(folder.path()).error().message(), HasSubstr("a folder"));
}

TEST(OnnxBadInput, EveryTruncationIsAnErrorOrACompleteModel) {
    ModelParts parts = relu_model();
    parts.nodes = {node("Add", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"y"})};
    parts.initializers = {testing::raw_tensor<float>("w", {2}, {1, 2})};
    // The opset stands before the graph, so that some cuts leave all of it.
    const std::string whole = number(1, 8) + bytes(8, bytes(1, "") + number(2, 13)) +
                              bytes(7, graph_bytes(parts)) + bytes(2, "producer");
    const size_t complete = whole.size() - bytes(2, "producer").size();
    TemporaryFolder folder;
    for (size_t length = 0; length < whole.size(); ++length) {
        const Result<Graph> graph = folder.load(whole.substr(0, length));
        EXPECT_EQ(graph.ok(), length == complete) << "cut at " << length;
        EXPECT_THAT(graph.error().file(), graph.ok() ? HasSubstr("") : HasSubstr("m.onnx"));
    }
    EXPECT_TRUE(folder.load(whole).ok());
}

//  x --> a --> b --> y
//        ^-----'
TEST(OnnxBadInput, CycleNamesItsNodes) {
    ModelParts parts = relu_model();
    parts.nodes = {node("Add", {"x", "q"}, {"p"}, {}, "first"),
                   node("Relu", {"p"}, {"q"}, {}, "second"),
                   node("Relu", {"q"}, {"y"}, {}, "third")};
    EXPECT_THAT(error_of(parts), AllOf(HasSubstr("cycle"), HasSubstr("'first' (Add)"),
                                       HasSubstr("'second' (Relu)")));
    EXPECT_THAT(error_of(parts), ::testing::Not(HasSubstr("third")));
    parts.nodes = {node("Add", {"x", "y"}, {"y"}, {}, "self")};
    EXPECT_THAT(error_of(parts), HasSubstr("'self' (Add)"));
}

TEST(OnnxBadInput, DuplicateNamesAreErrors) {
    ModelParts parts = relu_model();
    parts.nodes.push_back(node("Exp", {"x"}, {"y"}, {}, "again"));
    EXPECT_THAT(error_of(parts), AllOf(HasSubstr("'y' twice"), HasSubstr("node 'again' (Exp)")));
    parts = relu_model();
    parts.inputs.push_back(f32_info("x", {2}));
    EXPECT_THAT(error_of(parts), HasSubstr("'x' twice"));
    parts = relu_model();
    parts.outputs.push_back(f32_info("y", {2}));
    EXPECT_THAT(error_of(parts), HasSubstr("'y' twice"));
    parts = relu_model();
    parts.initializers = {testing::raw_tensor<float>("w", {1}, {1}),
                          testing::raw_tensor<float>("w", {1}, {1})};
    EXPECT_THAT(error_of(parts), HasSubstr("'w' twice"));
    parts = relu_model();
    parts.nodes = {node("Relu", {"x"}, {"x"})};
    EXPECT_THAT(error_of(parts), HasSubstr("'x' twice"));
}

TEST(OnnxBadInput, UnknownInputsNameTheNode) {
    ModelParts parts = relu_model();
    parts.nodes = {node("Relu", {"nowhere"}, {"y"}, {}, "act")};
    EXPECT_THAT(error_of(parts), AllOf(HasSubstr("node 'act' (Relu)"), HasSubstr("'nowhere'")));
    parts = relu_model();
    parts.outputs = {f32_info("z", {2})};
    EXPECT_THAT(error_of(parts), HasSubstr("'z'"));
}

TEST(OnnxBadInput, TensorsMustMatchTheirDims) {
    const auto with = [](const std::string& initializer) {
        ModelParts parts = relu_model();
        parts.initializers = {initializer};
        return error_of(parts);
    };
    const std::string eight(8, '\1');
    EXPECT_THAT(with(tensor("w", DType::kFloat32, {3}, bytes(9, eight))),
                AllOf(HasSubstr("tensor 'w'"), HasSubstr("8 bytes"), HasSubstr("12 for f32[3]")));
    EXPECT_THAT(with(tensor("w", DType::kFloat64, {2}, bytes(9, eight))),
                HasSubstr("16 for f64[2]"));
    EXPECT_THAT(with(tensor("w", DType::kFloat32, {-1}, bytes(9, eight))),
                HasSubstr("negative or overflow"));
    EXPECT_THAT(
        with(tensor("w", DType::kFloat32, {int64_t{1} << 32, int64_t{1} << 32}, bytes(9, eight))),
        HasSubstr("overflow"));
    EXPECT_THAT(with(tensor("w", DType::kFloat64, {int64_t{1} << 61}, bytes(9, eight))),
                HasSubstr("overflow"));
    // No data at all: must not allocate.
    EXPECT_THAT(with(tensor("w", DType::kInt32, {int64_t{1} << 40}, "")), HasSubstr("needed"));
    EXPECT_THAT(with(tensor("w", DType::kString, {int64_t{1} << 40}, "")), HasSubstr("0 strings"));
    EXPECT_THAT(with(tensor("w", DType::kFloat32, std::vector<int64_t>(9, 1), "")),
                HasSubstr("rank 9"));
    EXPECT_THAT(with(number(2, 99) + bytes(8, "w")), HasSubstr("99"));
    EXPECT_THAT(with(bytes(8, "w")), HasSubstr("no element type"));
    EXPECT_THAT(with(tensor("w", DType::kInt32, {2}, bytes(5, "\1\2\3"))), HasSubstr("3 numbers"));
}

TEST(OnnxBadInput, WireErrorsNameTheOffset) {
    const std::string group = testing::tag(7, 3) + testing::tag(7, 4);
    EXPECT_THAT(error_of(number(1, 8) + group), HasSubstr("wire type 3 at byte 2"));
    EXPECT_THAT(error_of(number(1, 8) + testing::tag(7, 0) + "\1"), HasSubstr("field 7 at byte 2"));
    EXPECT_THAT(error_of(std::string(11, '\xff')), HasSubstr("byte 0"));
}

// TypeProto { sequence_type { elem_type { sequence_type ... } } }
TEST(OnnxBadInput, DeepNestingIsAnErrorNotACrash) {
    std::string type;
    for (int i = 0; i < 5000; ++i) {
        type = bytes(4, bytes(1, type));
    }
    ModelParts parts = relu_model();
    parts.inputs = {bytes(1, "x") + bytes(2, type)};
    EXPECT_THAT(error_of(parts), HasSubstr("nested"));
}

TEST(OnnxBadInput, AModelNeedsGraphOpsetAndVersion) {
    const ModelParts parts = relu_model();
    const std::string opset = bytes(8, bytes(1, "") + number(2, 13));
    EXPECT_THAT(error_of(number(1, 8) + opset), HasSubstr("no graph"));
    EXPECT_THAT(error_of(number(1, 8) + bytes(7, graph_bytes(parts))), HasSubstr("opset"));
    EXPECT_THAT(error_of(opset + bytes(7, graph_bytes(parts))), HasSubstr("IR version"));
    TemporaryFolder folder;
    EXPECT_TRUE(folder.load(number(1, 2) + bytes(7, graph_bytes(parts))).ok());
}

TEST(OnnxBadInput, FunctionsMustNotCallThemselves) {
    const std::string import =
        bytes(9, bytes(1, "") + number(2, 13)) + bytes(9, bytes(1, "f") + number(2, 1));
    const auto function = [&](const std::string& name, const std::string& calls) {
        return bytes(25, bytes(1, name) + bytes(10, "f") + bytes(4, "a") + bytes(5, "b") +
                             bytes(7, node(calls, {"a"}, {"b"}) + bytes(7, "f")) + import);
    };
    ModelParts parts = relu_model();
    parts.nodes = {node("F", {"x"}, {"y"}) + bytes(7, "f")};
    parts.more_model = function("F", "G") + function("G", "F");
    EXPECT_THAT(error_of(parts), HasSubstr("calls itself"));
}

// Each function calls the next one twice: 2^40 nodes in a few lines.
TEST(OnnxBadInput, FunctionsCannotFillTheMemory) {
    ModelParts parts = relu_model();
    parts.nodes = {node("F0", {"x"}, {"y"}) + bytes(7, "f")};
    for (int i = 0; i < 40; ++i) {
        const std::string callee = "F" + std::to_string(i + 1);
        parts.more_model +=
            bytes(25, bytes(1, "F" + std::to_string(i)) + bytes(10, "f") + bytes(4, "a") +
                          bytes(5, "c") + bytes(7, node(callee, {"a"}, {"b"}) + bytes(7, "f")) +
                          bytes(7, node(callee, {"b"}, {"c"}) + bytes(7, "f")));
    }
    EXPECT_THAT(error_of(parts), HasSubstr("too many nodes"));
}

}  // namespace
}  // namespace leat
