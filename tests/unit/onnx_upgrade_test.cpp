// Nodes of old opsets in canonical form. Each test writes the old node and looks at what the graph
// holds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_data.h"
#include "graph/op_def.h"
#include "support/onnx_bytes.h"

namespace leat {
namespace {

using testing::bytes;
using ::testing::ElementsAre;
using testing::f32_info;
using testing::float_attribute;
using ::testing::HasSubstr;
using testing::int_attribute;
using testing::ints_attribute;
using testing::ModelParts;
using testing::node;
using testing::TemporaryFolder;
using testing::text_attribute;

// One node with inputs x, a, b, ... and outputs y, y1, ...
struct OldNode {
    std::string op;
    int64_t opset = 1;
    std::string attributes;
    std::vector<std::vector<int64_t>> input_dims = {{2, 3, 4, 5}};
    int outputs = 1;
    bool known_rank = true;
};

class Upgraded {
  public:
    explicit Upgraded(const OldNode& old) {
        static const char* const kInputs[] = {"x", "a", "b", "c", "d"};
        ModelParts parts;
        parts.opset = old.opset;
        std::vector<std::string> inputs;
        for (const std::vector<int64_t>& dims : old.input_dims) {
            inputs.emplace_back(kInputs[inputs.size()]);
            const std::string no_shape =
                testing::value_info(inputs.back(), bytes(1, testing::number(1, 1)));
            parts.inputs.push_back(old.known_rank ? f32_info(inputs.back(), dims) : no_shape);
        }
        std::vector<std::string> outputs;
        for (int i = 0; i < old.outputs; ++i) {
            outputs.push_back(i == 0 ? "y" : "y" + std::to_string(i));
            parts.outputs.push_back(testing::value_info(outputs.back(), ""));
        }
        parts.nodes = {node(old.op, inputs, outputs, old.attributes, "n")};
        TemporaryFolder folder;
        Result<Graph> graph = folder.load(parts);
        error = graph.error().message();
        if (graph.ok()) {
            graph_ = std::make_unique<Graph>(std::move(graph).value());
        }
    }

    std::string error;
    const GraphData& data() const { return graph_->data(); }
    std::vector<std::string> ops() const {
        std::vector<std::string> names;
        for (const NodeData& made : data().nodes) {
            names.push_back(made.op_type);
        }
        return names;
    }
    const NodeData& op(const std::string& name) const {
        for (const NodeData& made : data().nodes) {
            if (made.op_type == name) {
                return made;
            }
        }
        ADD_FAILURE() << "no " << name;
        return data().nodes[0];
    }
    const NodeData& only() const {
        EXPECT_EQ(data().node_count(), 1);
        return data().nodes[0];
    }
    // Elements of a constant input.
    template <class T>
    std::vector<T> input(const NodeData& made, size_t i) const {
        if (i >= made.inputs.size() || !made.inputs[i].valid() ||
            !data().value(made.inputs[i]).constant) {
            ADD_FAILURE() << "input " << i << " is no constant";
            return {};
        }
        const Tensor& tensor = *data().value(made.inputs[i]).constant;
        EXPECT_EQ(tensor.dtype(), kDTypeOf<T>);
        return {tensor.data<T>().begin(), tensor.data<T>().end()};
    }

  private:
    std::unique_ptr<Graph> graph_;
};

TEST(OnnxUpgrade, AxisOfOldBroadcastsBecomesTrailingAxes) {
    const std::string attributes = int_attribute("broadcast", 1) + int_attribute("axis", 1);
    const Upgraded add({"Add", 6, attributes, {{2, 3, 4, 5}, {3, 4}}});
    EXPECT_THAT(add.ops(), ElementsAre("Unsqueeze", "Add"));
    EXPECT_THAT(add.input<int64_t>(add.op("Unsqueeze"), 1), ElementsAre(2));
    EXPECT_TRUE(add.op("Add").attributes.empty());
    // The last axes, and no axis at all, need nothing.
    EXPECT_THAT(Upgraded({"Mul",
                          6,
                          int_attribute("broadcast", 1) + int_attribute("axis", 2),
                          {{2, 3, 4, 5}, {4, 5}}})
                    .ops(),
                ElementsAre("Mul"));
    EXPECT_THAT(Upgraded({"Pow", 1, int_attribute("broadcast", 1), {{2, 3}, {3}}}).ops(),
                ElementsAre("Pow"));
    EXPECT_THAT(Upgraded({"Sub", 6, attributes, {{2, 3}, {2, 3, 4}}}).error,
                HasSubstr("'axis' does not fit"));
}

TEST(OnnxUpgrade, AxisOfOldBroadcastsWorksWithoutRanks) {
    OldNode old{
        "Add", 6, int_attribute("broadcast", 1) + int_attribute("axis", 1), {{2, 3, 4, 5}, {3, 4}}};
    old.known_rank = false;
    const Upgraded add(old);
    EXPECT_EQ(add.data().nodes.back().op_type, "Add");
    EXPECT_EQ(add.op("Reshape").attr("allowzero", int64_t{0}), 1);
}

TEST(OnnxUpgrade, PReluSlopeGetsTheAxesOfImages) {
    const Upgraded prelu({"PRelu", 6, "", {{2, 3, 4, 5}, {3}}});
    EXPECT_THAT(prelu.input<int64_t>(prelu.op("Unsqueeze"), 1), ElementsAre(1, 2));
    EXPECT_THAT(Upgraded({"PRelu", 7, "", {{2, 3, 4, 5}, {3, 1, 1}}}).ops(), ElementsAre("PRelu"));
    EXPECT_FALSE(Upgraded({"Gemm", 6, int_attribute("broadcast", 1), {{2, 3}, {3, 4}, {4}}})
                     .only()
                     .has_attr("broadcast"));
}

TEST(OnnxUpgrade, OldGemmsBroadcastCOnlyWhereTheySaySo) {
    const std::string trans_b = int_attribute("transB", 1);
    for (const int64_t opset : {1, 6}) {
        EXPECT_EQ(Upgraded({"Gemm", opset, "", {{2, 3}, {3, 4}, {2, 4}}}).error, "ok");
        EXPECT_EQ(Upgraded({"Gemm", opset, trans_b, {{2, 3}, {4, 3}, {2, 4}}}).error, "ok");
        for (const std::vector<int64_t>& c :
             std::vector<std::vector<int64_t>>{{4}, {1}, {}, {1, 4}, {2, 1}}) {
            EXPECT_THAT(Upgraded({"Gemm", opset, "", {{2, 3}, {3, 4}, c}}).error,
                        HasSubstr("needed 2 x 4"));
            EXPECT_EQ(
                Upgraded({"Gemm", opset, int_attribute("broadcast", 1), {{2, 3}, {3, 4}, c}}).error,
                "ok");
        }
    }
    OldNode unknown{"Gemm", 6, "", {{2, 3}, {3, 4}, {4}}};
    unknown.known_rank = false;
    EXPECT_EQ(Upgraded(unknown).error, "ok");
    EXPECT_EQ(Upgraded({"Gemm", 7, "", {{2, 3}, {3, 4}, {4}}}).error, "ok");
}

// Of a number beyond the type the low bits stay, as in casts of integers.
TEST(OnnxUpgrade, CastsToPackedIntegersWrapSinceOpset25) {
    const std::string to_int4 = int_attribute("to", int64_t(DType::kInt4));
    EXPECT_THAT(Upgraded({"Cast", 24, to_int4}).ops(), ElementsAre("Cast"));
    const Upgraded wraps({"Cast", 25, to_int4});
    EXPECT_THAT(wraps.ops(), ElementsAre("Cast", "Cast"));
    EXPECT_EQ(wraps.data().nodes[0].attr("to", int64_t{0}), int64_t(DType::kInt64));
    EXPECT_EQ(wraps.data().nodes[1].attr("to", int64_t{0}), int64_t(DType::kInt4));
    const std::string to_small_float = int_attribute("to", int64_t(DType::kFloat4E2M1));
    EXPECT_THAT(Upgraded({"Cast", 28, to_small_float}).ops(), ElementsAre("Cast"));
}

TEST(OnnxUpgrade, CastLikeIsACastWhereTheTypeIsKnown) {
    const Upgraded known({"CastLike", 15, "", {{2, 3}, {4}}});
    ASSERT_THAT(known.ops(), ElementsAre("Cast"));
    EXPECT_EQ(known.data().nodes[0].attr("to", int64_t{0}), int64_t(DType::kFloat32));
    EXPECT_EQ(known.data().nodes[0].inputs.size(), 1U);
}

TEST(OnnxUpgrade, AttributesThatBecameInputs) {
    const Upgraded slice({"Slice", 1,
                          ints_attribute("axes", {1}) + ints_attribute("starts", {0}) +
                              ints_attribute("ends", {-1})});
    EXPECT_THAT(slice.input<int64_t>(slice.only(), 1), ElementsAre(0));
    EXPECT_THAT(slice.input<int64_t>(slice.only(), 2), ElementsAre(-1));
    EXPECT_THAT(slice.input<int64_t>(slice.only(), 3), ElementsAre(1));
    const Upgraded squeeze({"Squeeze", 11, ints_attribute("axes", {0})});
    EXPECT_THAT(squeeze.input<int64_t>(squeeze.only(), 1), ElementsAre(0));
    const Upgraded mean(
        {"ReduceMean", 13, ints_attribute("axes", {2, 3}) + int_attribute("keepdims", 0)});
    EXPECT_THAT(mean.input<int64_t>(mean.only(), 1), ElementsAre(2, 3));
    EXPECT_EQ(mean.only().attr("keepdims", int64_t{1}), 0);
    EXPECT_EQ(Upgraded({"ReduceSum", 11, ""}).only().inputs.size(), 1U);
    const Upgraded reshape({"Reshape", 1, ints_attribute("shape", {6, -1})});
    EXPECT_THAT(reshape.input<int64_t>(reshape.only(), 1), ElementsAre(6, -1));
    const Upgraded top({"TopK", 1, int_attribute("k", 2), {{4}}, 2});
    EXPECT_THAT(top.input<int64_t>(top.only(), 1), ElementsAre(2));
    EXPECT_FALSE(top.only().has_attr("k"));
    const Upgraded top_of_axis(
        {"TopK", 9, int_attribute("axis", 0) + int_attribute("k", 3), {{4, 5}}, 2});
    EXPECT_EQ(top_of_axis.only().attr("axis", int64_t{-1}), 0);
    EXPECT_THAT(top_of_axis.input<int64_t>(top_of_axis.only(), 1), ElementsAre(3));
    // From opset 10 on k is an input.
    EXPECT_EQ(Upgraded({"TopK", 10, "", {{4}, {1}}, 2}).only().inputs.size(), 2U);
    EXPECT_THAT(Upgraded({"TopK", 10, int_attribute("k", 2), {{4}, {1}}, 2}).error,
                HasSubstr("'k'"));
    EXPECT_THAT(Upgraded({"TopK", 9, "", {{4}}, 2}).error, HasSubstr("'k'"));
}

TEST(OnnxUpgrade, ClipAndPadValuesTakeTheInputsType) {
    const Upgraded clip({"Clip", 6, float_attribute("max", 6)});
    EXPECT_FALSE(clip.only().inputs[1].valid());
    EXPECT_THAT(clip.input<float>(clip.only(), 2), ElementsAre(6.0F));
    EXPECT_EQ(Upgraded({"Clip", 6, ""}).only().inputs.size(), 1U);
    const Upgraded pad({"Pad",
                        2,
                        ints_attribute("pads", {0, 1, 0, 1}) + float_attribute("value", 2.5F) +
                            text_attribute("mode", "constant"),
                        {{2, 2}}});
    EXPECT_THAT(pad.input<int64_t>(pad.only(), 1), ElementsAre(0, 1, 0, 1));
    EXPECT_THAT(pad.input<float>(pad.only(), 2), ElementsAre(2.5F));
    EXPECT_EQ(pad.only().attr("mode", ""), "constant");
    const Upgraded first({"Pad", 1, ints_attribute("paddings", {1, 1}), {{2}}});
    EXPECT_THAT(first.input<int64_t>(first.only(), 1), ElementsAre(1, 1));
}

TEST(OnnxUpgrade, SplitSaysHowManyParts) {
    const Upgraded sizes(
        {"Split", 2, ints_attribute("split", {2, 4}) + int_attribute("axis", 1), {{1, 6}}, 2});
    EXPECT_THAT(sizes.input<int64_t>(sizes.only(), 1), ElementsAre(2, 4));
    EXPECT_FALSE(sizes.only().has_attr("num_outputs"));
    EXPECT_EQ(Upgraded({"Split", 13, "", {{6}}, 3}).only().attr("num_outputs", int64_t{0}), 3);
}

TEST(OnnxUpgrade, OldSoftmaxSeesAMatrix) {
    const Upgraded middle({"Softmax", 11, int_attribute("axis", 2)});
    EXPECT_THAT(middle.ops(), ElementsAre("Shape", "Flatten", "Softmax", "Reshape"));
    EXPECT_EQ(middle.op("Flatten").attr("axis", int64_t{0}), 2);
    EXPECT_EQ(middle.op("Softmax").attr("axis", int64_t{0}), -1);
    EXPECT_EQ(middle.data().value(middle.data().outputs[0]).name, "y");
    EXPECT_EQ(middle.data().value(middle.data().outputs[0]).producer.index, 3);
    // The default axis is 1, which is the last one of a matrix.
    EXPECT_THAT(Upgraded({"LogSoftmax", 1, "", {{2, 3}}}).ops(), ElementsAre("LogSoftmax"));
    EXPECT_THAT(Upgraded({"Hardmax", 11, int_attribute("axis", -1)}).ops(), ElementsAre("Hardmax"));
    EXPECT_FALSE(Upgraded({"Softmax", 13, ""}).only().has_attr("axis"));
}

TEST(OnnxUpgrade, BatchNormalizationTrainsWhenItHasMoreOutputs) {
    const std::vector<std::vector<int64_t>> inputs = {{2, 3, 4, 5}, {3}, {3}, {3}, {3}};
    const Upgraded test({"BatchNormalization", 6,
                         int_attribute("is_test", 1) + float_attribute("epsilon", 1e-3F), inputs,
                         3});
    EXPECT_EQ(test.only().outputs.size(), 1U);
    EXPECT_FALSE(test.only().has_attr("is_test"));
    EXPECT_EQ(test.only().attr("epsilon", 0.0F), 1e-3F);
    const Upgraded train({"BatchNormalization", 9, "", inputs, 3});
    EXPECT_EQ(train.only().attr("training_mode", int64_t{0}), 1);
    EXPECT_EQ(train.only().outputs.size(), 3U);
    EXPECT_THAT(Upgraded({"BatchNormalization", 9, "", inputs, 5}).error, HasSubstr("saved_mean"));
    const Upgraded elements({"BatchNormalization", 6, int_attribute("spatial", 0), inputs});
    EXPECT_THAT(elements.ops(), ElementsAre("Sub", "Add", "Sqrt", "Div", "Mul", "Add"));
    EXPECT_EQ(elements.data().value(elements.data().outputs[0]).producer.index, 5);
}

TEST(OnnxUpgrade, OldDropoutPassesItsInputOn) {
    EXPECT_TRUE(
        Upgraded({"Dropout", 6, float_attribute("ratio", 0.3F) + int_attribute("is_test", 1)})
            .only()
            .attributes.empty());
    const Upgraded mask({"Dropout", 7, "", {{2}}, 2});
    EXPECT_THAT(mask.ops(), ElementsAre("Dropout", "Cast"));
    EXPECT_EQ(mask.op("Cast").attr("to", int64_t{0}), 1);
    EXPECT_THAT(Upgraded({"Dropout", 10, "", {{2}}, 2}).ops(), ElementsAre("Dropout"));
}

TEST(OnnxUpgrade, UpsampleBecomesResize) {
    const auto floats = testing::attribute("scales", 6,
                                           testing::fixed32(7, 1) + testing::fixed32(7, 1) +
                                               testing::fixed32(7, 2) + testing::fixed32(7, 2));
    for (const OldNode& old :
         {OldNode{"Upsample", 7, floats + text_attribute("mode", "linear")},
          OldNode{"Upsample", 1,
                  float_attribute("height_scale", 2) + float_attribute("width_scale", 2) +
                      text_attribute("mode", "bilinear")}}) {
        const Upgraded resize(old);
        EXPECT_EQ(resize.only().op_type, "Resize");
        EXPECT_FALSE(resize.only().inputs[1].valid());
        EXPECT_THAT(resize.input<float>(resize.only(), 2), ElementsAre(1, 1, 2, 2));
        EXPECT_EQ(resize.only().attr("mode", ""), "linear");
        EXPECT_EQ(resize.only().attr("coordinate_transformation_mode", ""), "asymmetric");
    }
    const Upgraded ten({"Resize", 10, "", {{1, 1, 2, 2}, {4}}});
    EXPECT_EQ(ten.only().inputs.size(), 3U);
    EXPECT_EQ(ten.only().attr("nearest_mode", ""), "floor");
}

// Opset 11 had all four inputs, those that are not meant empty.
TEST(OnnxUpgrade, EmptySizesOfResizeLeaveItsScales) {
    ModelParts parts;
    parts.opset = 11;
    parts.inputs = {f32_info("x", {1, 1, 2, 2})};
    parts.outputs = {testing::value_info("y", "")};
    parts.initializers = {testing::raw_tensor<float>("roi", {0}, {}),
                          testing::raw_tensor<float>("scales", {4}, {1, 1, 2, 2}),
                          testing::raw_tensor<int64_t>("sizes", {0}, {})};
    parts.nodes = {node("Resize", {"x", "roi", "scales", "sizes"}, {"y"}, "", "n")};
    const TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    const NodeData& resize = graph->data().nodes[0];
    EXPECT_TRUE(resize.inputs[2].valid());
    EXPECT_FALSE(resize.inputs.size() > 3 && resize.inputs[3].valid());
}

TEST(OnnxUpgrade, OtherForms) {
    EXPECT_EQ(Upgraded({"Cast", 1, text_attribute("to", "INT64")}).only().attr("to", int64_t{0}),
              7);
    EXPECT_THAT(Upgraded({"Cast", 1, text_attribute("to", "LONG")}).error, HasSubstr("'LONG'"));
    EXPECT_EQ(Upgraded({"Concat", 1, "", {{2, 3}, {2, 3}}}).only().attr("axis", int64_t{0}), 1);
    EXPECT_FALSE(Upgraded({"Relu", 1, ints_attribute("consumed_inputs", {0})})
                     .only()
                     .has_attr("consumed_inputs"));
    EXPECT_EQ(Upgraded({"Selu", 1, ""}).only().attr("gamma", 0.0F), 1.0507F);
    const std::vector<std::vector<int64_t>> lstm = {{5, 3, 4}, {1, 24, 4}, {1, 24, 6}};
    EXPECT_TRUE(Upgraded({"LSTM", 1, int_attribute("output_sequence", 1), lstm, 3})
                    .only()
                    .attributes.empty());
    EXPECT_EQ(Upgraded({"Scatter", 9, "", {{3}, {3}, {3}}}).only().op_type, "ScatterElements");
    EXPECT_EQ(Upgraded({"Tile", 1, "", {{2, 3}, {}, {}}}).data().nodes.back().inputs.size(), 2U);
    EXPECT_THAT(Upgraded({"Clip", 6, int_attribute("max", 6)}).error,
                HasSubstr("node 'n' (Clip): attribute 'max' has the wrong type"));
}

bool is_error(const ModelParts& parts) {
    const TemporaryFolder folder;
    const Result<Graph> graph = folder.load(parts);
    return !graph.ok() || !graph->verify().ok();
}

// Of a node with so many inputs, and outputs without names.
void expect_error_without_names(const std::string& op,
                                int64_t opset,
                                size_t inputs,
                                size_t outputs) {
    ModelParts parts;
    parts.opset = opset;
    parts.inputs = {f32_info("x", {2, 3, 4, 5})};
    parts.outputs = {testing::value_info("y", "")};
    parts.nodes = {
        node(op, std::vector<std::string>(inputs, "x"), std::vector<std::string>(outputs), "", "n"),
        node("Identity", {"x"}, {"y"})};
    const bool may_lack_names = op == "Split" && outputs > 0;
    EXPECT_TRUE(may_lack_names || is_error(parts)) << op << ", opset " << opset;
}

// Rules look at outputs that a node need not have, or name.
TEST(OnnxUpgrade, NodesWithoutAFirstOutputAreErrors) {
    std::vector<std::string> names = {"Upsample", "Scatter"};
    for (const OpDef* def : all_ops()) {
        names.emplace_back(def->name);
    }
    for (const std::string& op : names) {
        for (const int64_t opset : {1, 6, 8, 9, 10, 11, 12, 13, 17, 21}) {
            for (const size_t inputs : {1, 2, 5}) {
                expect_error_without_names(op, opset, inputs, 0);
                expect_error_without_names(op, opset, inputs, 1);
            }
        }
    }
}

}  // namespace
}  // namespace leat
