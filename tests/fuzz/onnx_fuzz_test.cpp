// Mutants of small models: whatever the bytes are, loading, verifying and saving give a result or
// an error. What it finds under the address and undefined-behaviour sanitizers is a bug.
// Deterministic: a failing mutant is named by its number.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <random>

#include "support/onnx_bytes.h"

namespace leat {
namespace {

using testing::attribute;
using testing::bytes;
using testing::f32_info;
using testing::float_attribute;
using testing::int_attribute;
using testing::ints_attribute;
using testing::ModelParts;
using testing::node;
using testing::number;
using testing::raw_tensor;
using testing::TemporaryFolder;
using testing::tensor;
using testing::text_attribute;

using Random = std::mt19937;

size_t below(Random& random, size_t bound) {
    return bound == 0 ? 0 : size_t(random()) % bound;
}

template <class T>
const T& pick(Random& random, const std::vector<T>& choices) {
    return choices[below(random, choices.size())];
}

// ---- structure: values that are valid bytes and wrong otherwise ----

int64_t odd_number(Random& random) {
    static const std::vector<int64_t> kNumbers = {
        0,  1,  2,         3,         -1,        -2,        4,         7,
        8,  9,  16,        27,        1000,      INT32_MAX, INT32_MIN, INT64_MAX,
        -9, 64, INT64_MIN, 1LL << 31, 1LL << 32, 1LL << 62};
    return pick(random, kNumbers);
}

std::vector<int64_t> odd_dims(Random& random, std::vector<int64_t> usual) {
    if (below(random, 3) == 0) {
        const size_t rank = below(random, 10);
        usual.resize(rank, 2);
        if (rank > 0) {
            usual[below(random, rank)] = odd_number(random);
        }
    }
    return usual;
}

std::string odd_attribute(Random& random,
                          const std::string& name,
                          const std::vector<int64_t>& usual) {
    switch (below(random, 8)) {
        case 0:
            return {};
        case 1:
            return int_attribute(name, odd_number(random));
        case 2:
            return float_attribute(name, std::numeric_limits<float>::infinity());
        case 3:
            return text_attribute(name, "SAME_UPPER");
        case 4:
            return attribute(name, 4,
                             bytes(5, raw_tensor<int64_t>("", {2}, {odd_number(random), 1})));
        case 5:
            return ints_attribute(name, odd_dims(random, usual));
        default:
            return usual.size() == 1 ? int_attribute(name, usual[0]) : ints_attribute(name, usual);
    }
}

std::string any_op(Random& random) {
    static const std::vector<std::string> kOps = {"Add",
                                                  "Mul",
                                                  "Pow",
                                                  "And",
                                                  "PRelu",
                                                  "Gemm",
                                                  "MatMul",
                                                  "Conv",
                                                  "MaxPool",
                                                  "AveragePool",
                                                  "GlobalAveragePool",
                                                  "Softmax",
                                                  "LogSoftmax",
                                                  "Hardmax",
                                                  "BatchNormalization",
                                                  "InstanceNormalization",
                                                  "LayerNormalization",
                                                  "LRN",
                                                  "Dropout",
                                                  "Clip",
                                                  "Slice",
                                                  "Pad",
                                                  "Split",
                                                  "Squeeze",
                                                  "Unsqueeze",
                                                  "ReduceSum",
                                                  "ReduceMean",
                                                  "ReduceMax",
                                                  "ArgMax",
                                                  "Concat",
                                                  "Reshape",
                                                  "Flatten",
                                                  "Transpose",
                                                  "Tile",
                                                  "Expand",
                                                  "Gather",
                                                  "GatherElements",
                                                  "GatherND",
                                                  "ScatterND",
                                                  "ScatterElements",
                                                  "Scatter",
                                                  "TopK",
                                                  "Upsample",
                                                  "Resize",
                                                  "Cast",
                                                  "Shape",
                                                  "Size",
                                                  "Range",
                                                  "CumSum",
                                                  "QuantizeLinear",
                                                  "DequantizeLinear",
                                                  "DynamicQuantizeLinear",
                                                  "MatMulInteger",
                                                  "QLinearMatMul",
                                                  "ConvInteger",
                                                  "QLinearConv",
                                                  "Where",
                                                  "Identity",
                                                  "ConstantOfShape",
                                                  "Constant",
                                                  "Max",
                                                  "Mean",
                                                  "BitShift",
                                                  "Mod",
                                                  "Gelu",
                                                  "Selu",
                                                  "OneHot",
                                                  "LSTM",
                                                  "GRU",
                                                  "RNN",
                                                  "If",
                                                  "Loop",
                                                  "NoSuchOperator"};
    return pick(random, kOps);
}

// Up to four attributes that some operator has, most of them with wrong values.
std::string odd_attributes(Random& random) {
    static const std::vector<std::string> kAttributes = {
        "axis",       "axes",       "perm",         "shape",       "value",     "pads",
        "strides",    "dilations",  "kernel_shape", "group",       "split",     "starts",
        "ends",       "scales",     "to",           "k",           "broadcast", "min",
        "max",        "auto_pad",   "mode",         "keepdims",    "epsilon",   "num_outputs",
        "batch_dims", "ceil_mode",  "then_branch",  "size",        "transA",    "direction",
        "spatial",    "block_size", "output_dtype", "hidden_size", "layout",    "clip",
        "activations"};
    std::string attributes;
    for (size_t i = below(random, 5); i > 0; --i) {
        attributes += odd_attribute(
            random, pick(random, kAttributes),
            pick<std::vector<int64_t>>(random, {{1}, {0}, {1, 1}, {0, 2, 1}, {1, 1, 1, 1}}));
    }
    return attributes;
}

// An operator of any opset with inputs of any number and shape, and attributes that fit some
// operator.
std::string odd_model(Random& random) {
    static const std::vector<std::string> kInputs = {"x", "x", "w", "i", "s", "b", "z", "", "y"};
    ModelParts parts;
    parts.opset =
        pick<int64_t>(random, {1, 5, 6, 7, 9, 10, 11, 12, 13, 17, 18, 20, 22, odd_number(random)});
    std::vector<std::string> inputs = {pick<std::string>(random, {"x", "x", "x", "b"})};
    for (size_t i = below(random, 9); i > 0; --i) {
        inputs.push_back(pick(random, kInputs));
    }
    const std::string attributes = odd_attributes(random);
    std::vector<std::string> outputs = {"h"};
    for (size_t i = below(random, 3); i > 0; --i) {
        outputs.push_back("h" + std::to_string(i));
    }
    parts.nodes = {node(any_op(random), inputs, outputs, attributes),
                   node(any_op(random), {"h", "w"}, {"y"})};
    parts.inputs = {f32_info("x", odd_dims(random, {1, 2, 4, 4}))};
    parts.outputs = {testing::value_info("y", "")};
    parts.initializers = {
        raw_tensor<float>("w", {2}, {1, 2}), raw_tensor<int64_t>("i", {2}, {odd_number(random), 1}),
        raw_tensor<uint8_t>("b", {1, 2, 1, 2}, {1, 2, 3, 4}), raw_tensor<uint8_t>("z", {}, {3}),
        tensor("s",
               pick<DType>(random, {DType::kInt64, DType::kFloat16, DType::kInt4, DType::kString}),
               odd_dims(random, {1}),
               number(5, odd_number(random)) + number(7, odd_number(random)) + bytes(6, "t"))};
    return model_bytes(parts);
}

// ---- bytes ----

std::string mutate_bytes(Random& random, std::string model) {
    for (size_t edits = 1 + below(random, 4); edits > 0 && !model.empty(); --edits) {
        const size_t at = below(random, model.size());
        const size_t length = std::min(below(random, 12) + 1, model.size() - at);
        switch (below(random, 7)) {
            case 0:
                model[at] = char(random());
                break;
            case 1:
                model[at] = char(uint8_t(model[at]) ^ (1U << below(random, 8)));
                break;
            case 2:
                model.erase(at, length);
                break;
            case 3:
                model.insert(at, model.substr(below(random, model.size()), length));
                break;
            case 4:
                model.insert(at, length, '\xff');
                break;
            case 5:
                model.resize(at);
                break;
            default:
                model.replace(at, length, length,
                              pick<char>(random, {'\0', '\x7f', '\x80', '\x08', '\x12'}));
                break;
        }
    }
    return model;
}

std::string function_model() {
    ModelParts body;
    body.nodes = {node("Add", {"x", "w"}, {"z"})};
    body.outputs = {f32_info("z", {2})};
    ModelParts parts;
    parts.nodes = {node("Twice", {"x"}, {"h"}, float_attribute("alpha", 3)) + bytes(7, "f"),
                   node("If", {"c"}, {"k"},
                        attribute("then_branch", 5, bytes(6, graph_bytes(body))) +
                            attribute("else_branch", 5, bytes(6, graph_bytes(body)))),
                   node("Constant", {}, {"q"}, ints_attribute("value_ints", {1, 2})),
                   node("Add", {"h", "k"}, {"y"})};
    parts.inputs = {
        f32_info("x", {2}), testing::value_info("c", testing::tensor_type(DType::kBool, {})),
        testing::value_info(
            "o", bytes(9, bytes(1, bytes(4, bytes(1, testing::tensor_type(DType::kInt64, {2}))))))};
    parts.outputs = {f32_info("y", {2})};
    parts.initializers = {
        raw_tensor<float>("w", {2}, {1, 2}),
        tensor("e", DType::kFloat32, {2},
               bytes(13, bytes(1, "location") + bytes(2, "w.bin")) +
                   bytes(13, bytes(1, "offset") + bytes(2, "8")) + number(14, 1))};
    parts.more_graph = bytes(15, bytes(1, raw_tensor<float>("sp", {2}, {7, 8})) +
                                     bytes(2, raw_tensor<int64_t>("", {2, 2}, {0, 1, 1, 2})) +
                                     number(3, 2) + number(3, 3));
    parts.more_model = bytes(
        25,
        bytes(1, "Twice") + bytes(10, "f") + bytes(4, "a") + bytes(5, "b") +
            bytes(11, bytes(1, "alpha") + testing::fixed32(2, 2.0F) + number(20, 1)) +
            bytes(7, node("LeakyRelu", {"a"}, {"t"}, testing::ref_attribute("alpha", "alpha", 1))) +
            bytes(7, node("Relu", {"t"}, {"b"})) + bytes(9, number(2, 13)));
    return model_bytes(parts);
}

// A Softmax, a broadcast and a Clip of opset 6, so that mutants go through upgrade rules.
std::string old_model() {
    ModelParts parts;
    parts.opset = 6;
    parts.nodes = {
        node("Add", {"x", "w"}, {"a"}, int_attribute("broadcast", 1) + int_attribute("axis", 1)),
        node("Softmax", {"a"}, {"s"}, int_attribute("axis", 1)),
        node("Clip", {"s"}, {"c"}, float_attribute("min", 0) + float_attribute("max", 6)),
        node("Pad", {"c"}, {"p"}, ints_attribute("pads", {0, 0, 0, 1, 0, 0, 0, 1})),
        node("ReduceMean", {"p"}, {"r"}, ints_attribute("axes", {2, 3})),
        node("Reshape", {"r", "i"}, {"y"})};
    parts.inputs = {f32_info("x", {1, 2, 3, 4}), f32_info("w", {2})};
    parts.outputs = {f32_info("y", {2})};
    parts.initializers = {raw_tensor<float>("w", {2}, {1, 2}), raw_tensor<int64_t>("i", {1}, {-1})};
    return model_bytes(parts);
}

void load_verify_save(const TemporaryFolder& folder, const std::string& model) {
    const Result<Graph> graph = folder.load(model);
    if (!graph.ok()) {
        EXPECT_FALSE(graph.error().file().empty());
        return;
    }
    (void)graph->verify().ok();
    (void)graph->to_text();
    (void)save_onnx(*graph, folder.path() / "saved.onnx").ok();
}

void run_mutants(int count, const std::function<std::string(Random&)>& make) {
    TemporaryFolder folder;
    folder.write("w.bin", std::string(32, '\1'));
    for (int i = 0; i < count; ++i) {
        SCOPED_TRACE("mutant " + std::to_string(i));
        Random random(static_cast<uint32_t>(i));
        load_verify_save(folder, make(random));
    }
}

TEST(OnnxFuzz, OddOperatorsNeverCrash) {
    run_mutants(1500, [](Random& random) { return odd_model(random); });
}

TEST(OnnxFuzz, BytesOfAModelWithFunctionsNeverCrash) {
    TemporaryFolder folder;
    folder.write("w.bin", std::string(32, '\1'));
    const std::string whole = function_model();
    const Result<Graph> graph = folder.load(whole);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    run_mutants(1000, [&](Random& random) { return mutate_bytes(random, whole); });
}

TEST(OnnxFuzz, BytesOfAnOldModelNeverCrash) {
    TemporaryFolder folder;
    const std::string whole = old_model();
    const Result<Graph> graph = folder.load(whole);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    run_mutants(1000, [&](Random& random) { return mutate_bytes(random, whole); });
}

TEST(OnnxFuzz, BytesOfValueFilesNeverCrash) {
    TemporaryFolder folder;
    const Tensor numbers = *Tensor::from<float>({3}, std::vector<float>{1, 2, 3});
    const Tensor strings = *Tensor::from<std::string>({2}, std::vector<std::string>{"ab", "c"});
    const Value values[] = {numbers, strings, Value::sequence({numbers, strings}),
                            Value::optional({Value::sequence({numbers})})};
    for (const Value& value : values) {
        const std::filesystem::path file = folder.path() / "v.pb";
        ASSERT_TRUE(save_onnx_value(value, file).ok());
        std::string whole(std::filesystem::file_size(file), '\0');
        std::ifstream(file, std::ios::binary).read(whole.data(), std::streamsize(whole.size()));
        for (int i = 0; i < 300; ++i) {
            Random random(static_cast<uint32_t>(i));
            folder.write("v.pb", mutate_bytes(random, whole));
            (void)load_onnx_value(file, value.kind()).ok();
        }
    }
}

}  // namespace
}  // namespace leat
