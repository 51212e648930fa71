// Tables of measured times: signatures of operators, the text form, merging, and estimates.
#include "partition/measured_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/inference.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::HasSubstr;

constexpr DeviceRates kRates{1e9, 1e9};  // a flop and a byte a nanosecond

OperatorSignature signed_as(const std::string& text) {
    return {signature_hash(text), text};
}

MeasuredOperator measured(const std::string& signature,
                          const std::string& op_type,
                          Cost work,
                          double median_ns) {
    return {signature, op_type, work, median_ns, 0.125, 15, 0};
}

OperatorSignature signature_in(const Graph& graph, size_t node = 0) {
    const GraphData& data = graph.data();
    std::vector<ValueFact> given;
    given.reserve(data.inputs.size());
    for (const ValueId input : data.inputs) {
        given.emplace_back(data.value(input).type);
    }
    const SharedFacts facts = *infer_graph_again(data, given, {}, {{}, {}});
    const std::optional<NodeOperands> operands = operands_of(data, data.nodes[node], facts);
    return operands ? signature_of(data.nodes[node], *operands) : OperatorSignature();
}

Graph convolution(const Shape& weights, std::vector<int64_t> pads, float weight = 1) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 3, 8, 8});
    const std::vector<float> elements(size_t(weights.element_count()), weight);
    const ValueId w = graph.constant("w", *Tensor::from<float>(weights, elements));
    graph.output("y", graph.add("Conv", {x, w}, {{"pads", std::move(pads)}}));
    return graph;
}

TEST(OperatorSignature, SaysWhatTheTimeDependsOn) {
    const Graph graph = convolution({4, 3, 3, 3}, {1, 1, 1, 1});
    EXPECT_EQ(signature_in(graph).text,
              "Conv(f32[1,3,8,8], const f32[4,3,3,3]) {pads=[1,1,1,1]} -> f32[1,4,8,8]");
    EXPECT_EQ(signature_in(graph).hash, signature_hash(signature_in(graph).text));
}

TEST(OperatorSignature, IsTheSameForOtherWeights) {
    EXPECT_EQ(signature_in(convolution({4, 3, 3, 3}, {1, 1, 1, 1}, 1)),
              signature_in(convolution({4, 3, 3, 3}, {1, 1, 1, 1}, 2)));
}

TEST(OperatorSignature, DiffersByAttributesShapesAndConstants) {
    const OperatorSignature base = signature_in(convolution({4, 3, 3, 3}, {1, 1, 1, 1}));
    EXPECT_NE(base.hash, signature_in(convolution({4, 3, 3, 3}, {0, 0, 0, 0})).hash);
    EXPECT_NE(base.hash, signature_in(convolution({5, 3, 3, 3}, {1, 1, 1, 1})).hash);
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 3, 8, 8});
    const ValueId w = graph.input("w", DType::kFloat32, {4, 3, 3, 3});
    graph.output("y", graph.add("Conv", {x, w}, {{"pads", std::vector<int64_t>{1, 1, 1, 1}}}));
    EXPECT_NE(base.hash, signature_in(graph).hash);
}

// Axes decide what a reduction does, so their elements count.
TEST(OperatorSignature, HoldsSmallKnownIntegers) {
    const auto reduction = [](int64_t axis) {
        Graph graph;
        const ValueId x = graph.input("x", DType::kFloat32, {2, 3});
        const ValueId axes =
            graph.constant("axes", *Tensor::from<int64_t>({1}, std::vector<int64_t>{axis}));
        graph.output("y", graph.add("ReduceSum", {x, axes}));
        return signature_in(graph).text;
    };
    EXPECT_THAT(reduction(1), HasSubstr("const i64[1]{1}"));
    EXPECT_NE(reduction(0), reduction(1));
}

TEST(OperatorSignature, NamesLayoutAndEpilogue) {
    Graph graph = convolution({4, 3, 3, 3}, {1, 1, 1, 1});
    GraphData& data = graph.data();
    data.values[0].layout = Layout::kChannelsLast;
    EpilogueStep step;
    step.op = find_op("", "Relu");
    data.nodes[0].epilogue.push_back(step);
    const std::string text = signature_in(graph).text;
    EXPECT_THAT(text, HasSubstr("f32[1,3,8,8] @channels_last"));
    EXPECT_THAT(text, HasSubstr("+Relu()"));
}

// A list with a number a channel belongs to the weights.
TEST(OperatorSignature, CountsLongListsOfFloats) {
    const auto text_with = [](float last) {
        Graph graph = convolution({4, 3, 3, 3}, {1, 1, 1, 1});
        std::vector<float> scale(32, 1.0F);
        scale.back() = last;
        graph.data().nodes[0].attributes["scale"] = std::move(scale);
        return signature_in(graph).text;
    };
    EXPECT_THAT(text_with(1), HasSubstr("{scale=<32 floats>}"));
    EXPECT_EQ(text_with(1), text_with(2));
}

TEST(OperatorSignature, NeedsFixedShapes) {
    Graph graph;
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 2});
    graph.output("y", graph.add("Relu", {x}));
    const GraphData& data = graph.data();
    EXPECT_EQ(operands_of(data, data.nodes[0], {}), std::nullopt);
}

TEST(OperatorSignature, ShortensLongTexts) {
    const auto text_with = [](int64_t last) {
        Graph graph;
        const ValueId x = graph.input("x", DType::kFloat32, {1, 3, 8, 8});
        std::vector<int64_t> list(1000, 1);
        list.back() = last;
        graph.output("y", graph.add("Relu", {x}, {{"list", std::move(list)}}));
        return signature_in(graph);
    };
    EXPECT_LT(text_with(1).text.size(), 700U);
    EXPECT_NE(text_with(1).hash, text_with(2).hash);
    EXPECT_NE(text_with(1).text, text_with(2).text);
}

MeasuredCosts full_table() {
    MeasuredCosts costs;
    costs.add(measured("Relu(f32[4])", "Relu", {4, 32}, 12.5));
    costs.add(measured("Add(f32[4], \"odd\\ntext\")", "Add", {4, 48}, 1e9));
    costs.links = MeasuredLinks{{1000, 5e9}, {2000, 4e9}, 1.5};
    costs.launch_ns = 25'000;
    costs.set_round(3);
    return costs;
}

TEST(MeasuredCosts, TextKeepsAllOfIt) {
    const MeasuredCosts costs = full_table();
    const Result<MeasuredCosts> again = MeasuredCosts::parse(costs.to_text());
    ASSERT_TRUE(again.ok()) << again.error().message();
    EXPECT_EQ(again->to_text(), costs.to_text());
    ASSERT_EQ(again->operator_count(), 2U);
    const MeasuredOperator* relu = again->find(signed_as("Relu(f32[4])"));
    ASSERT_NE(relu, nullptr);
    EXPECT_EQ(relu->median_ns, 12.5);
    EXPECT_EQ(relu->work.bytes, 32);
    EXPECT_EQ(relu->spread, 0.125);
    EXPECT_EQ(relu->runs, 15);
    EXPECT_EQ(relu->round, 3);
    EXPECT_EQ(again->links->from_device.latency_ns, 2000);
    EXPECT_EQ(again->links->contention, 1.5);
    EXPECT_EQ(again->launch_ns, 25'000);
    EXPECT_EQ(again->round, 3);
}

TEST(MeasuredCosts, RefusesWhatIsNoTable) {
    const std::string text = full_table().to_text();
    const auto with = [&](std::string_view old, std::string_view changed) {
        std::string other = text;
        other.replace(other.find(old), old.size(), changed);
        return MeasuredCosts::parse(other).error();
    };
    EXPECT_EQ(MeasuredCosts::parse("").error().code(), StatusCode::kParse);
    EXPECT_EQ(MeasuredCosts::parse(text.substr(0, text.size() / 2)).error().code(),
              StatusCode::kParse);
    EXPECT_THAT(MeasuredCosts::parse("[]").error().message(), HasSubstr("format"));
    EXPECT_THAT(with("\"format\": 1", "\"format\": 2").message(), HasSubstr("found 2; needed 1"));
    EXPECT_THAT(with("\"median_ns\": 12.5", "\"median_ns\": -1").message(), HasSubstr("median_ns"));
    EXPECT_THAT(with("\"median_ns\": 12.5", "\"median_ns\": \"12\"").message(),
                HasSubstr("a number >= 0"));
    EXPECT_THAT(with("\"op\": \"Relu\"", "\"op\": \"\"").message(), HasSubstr("no name"));
    EXPECT_THAT(with("\"contention\": 1.5", "\"contention\": null").message(),
                HasSubstr("contention"));
    EXPECT_TRUE(with("\"round\": 3", "\"round\": 4").ok());
}

TEST(MeasuredCosts, MergingKeepsWhatIsNewer) {
    MeasuredCosts costs = full_table();
    MeasuredCosts newer;
    newer.add(measured("Relu(f32[4])", "Relu", {4, 32}, 20));
    newer.add(measured("Neg(f32[4])", "Neg", {4, 32}, 30));
    newer.set_round(4);
    costs.merge(newer);
    EXPECT_EQ(costs.operator_count(), 3U);
    EXPECT_EQ(costs.find(signed_as("Relu(f32[4])"))->median_ns, 20);
    EXPECT_EQ(costs.find(signed_as("Neg(f32[4])"))->median_ns, 30);
    ASSERT_TRUE(costs.links.has_value());
    EXPECT_EQ(costs.links->to_device.latency_ns, 1000);
    EXPECT_EQ(costs.launch_ns, 25'000);
    EXPECT_EQ(costs.round, 4);
}

TEST(MeasuredCosts, FindsNoOtherTextOfTheHash) {
    const MeasuredCosts costs = full_table();
    const OperatorSignature other{signature_hash("Relu(f32[4])"), "Relu(f32[5])"};
    EXPECT_EQ(costs.find(other), nullptr);
}

TEST(MeasuredCosts, DropsTheOldestBeyondItsBound) {
    MeasuredCosts old;
    old.add(measured("old", "Relu", {1, 1}, 1));
    old.set_round(1);
    MeasuredCosts newer;
    for (size_t i = 0; i < MeasuredCosts::kMostOperators; ++i) {
        newer.add(measured("new " + std::to_string(i), "Relu", {1, 1}, 1));
    }
    newer.set_round(2);
    old.merge(newer);
    EXPECT_EQ(old.operator_count(), MeasuredCosts::kMostOperators);
    EXPECT_EQ(old.find(signed_as("old")), nullptr);
    EXPECT_NE(old.find(signed_as("new 0")), nullptr);
}

TEST(Estimates, AreMeasuredElseScaledElseOfTheDefinition) {
    MeasuredCosts costs;
    costs.add(measured("Conv a", "Conv", {100, 0}, 200));  // twice the roofline
    costs.add(measured("Conv b", "Conv", {100, 0}, 400));
    costs.add(measured("Conv c", "Conv", {100, 0}, 10'000));
    const DeviceEstimates estimates(kRates, &costs);
    const OperatorSignature known = signed_as("Conv a");
    const NodeEstimate exact = estimates.of(&known, "Conv", {100, 0});
    EXPECT_EQ(exact.source, CostSource::kMeasured);
    EXPECT_EQ(exact.ns, 200);
    const OperatorSignature unknown = signed_as("Conv d");
    const NodeEstimate scaled = estimates.of(&unknown, "Conv", {50, 0});
    EXPECT_EQ(scaled.source, CostSource::kScaled);
    EXPECT_DOUBLE_EQ(scaled.ns, 4 * 50);  // the median of 2, 4 and 100
    const NodeEstimate other = estimates.of(&unknown, "Relu", {50, 70});
    EXPECT_EQ(other.source, CostSource::kDefinition);
    EXPECT_DOUBLE_EQ(other.ns, 70);
}

TEST(Estimates, AreOfTheDefinitionWhereNothingWasMeasured) {
    const DeviceEstimates estimates(kRates, nullptr);
    EXPECT_EQ(estimates.scale_of("Conv"), std::nullopt);
    const NodeEstimate estimate = estimates.of(nullptr, "Conv", {7, 3});
    EXPECT_EQ(estimate.source, CostSource::kDefinition);
    EXPECT_DOUBLE_EQ(estimate.ns, 7);
}

// A view does nothing, whatever others of its type took.
TEST(Estimates, ScaleNothingToNothing) {
    MeasuredCosts costs;
    costs.add(measured("Slice a", "Slice", {0, 100}, 300));
    const DeviceEstimates estimates(kRates, &costs);
    EXPECT_EQ(estimates.of(nullptr, "Slice", {0, 0}).source, CostSource::kDefinition);
    EXPECT_EQ(estimates.of(nullptr, "Slice", {0, 0}).ns, 0);
    EXPECT_DOUBLE_EQ(estimates.of(nullptr, "Slice", {0, 10}).ns, 30);
}

TEST(LinkFit, FindsLatencyAndRate) {
    std::vector<CopySample> samples;
    samples.reserve(4);
    for (const int64_t bytes : {4096, 65536, 1 << 20, 1 << 24}) {
        samples.push_back({bytes, 5000 + double(bytes) / 2});  // 2 bytes a nanosecond
    }
    const std::optional<LinkRates> link = fit_link(samples);
    ASSERT_TRUE(link.has_value());
    EXPECT_NEAR(link->latency_ns, 5000, 1e-6);
    EXPECT_NEAR(link->bytes_per_s, 2e9, 1);
}

// A relative error counts the same at every size, so small copies still say what the latency is.
TEST(LinkFit, KeepsTheLatencyBesideNoisyLargeCopies) {
    const CopySample samples[] = {{0, 1000}, {1000, 2000}, {1'000'000, 1.2e6}, {10'000'000, 0.9e7}};
    const std::optional<LinkRates> link = fit_link(samples);
    ASSERT_TRUE(link.has_value());
    EXPECT_NEAR(link->latency_ns, 1000, 150);
}

TEST(LinkFit, NeedsTimesThatGrow) {
    EXPECT_EQ(fit_link({}), std::nullopt);
    const CopySample one[] = {{100, 50}, {100, 60}};
    EXPECT_EQ(fit_link(one), std::nullopt);
    const CopySample falling[] = {{100, 60}, {200, 50}};
    EXPECT_EQ(fit_link(falling), std::nullopt);
    const CopySample none[] = {{0, 0}, {100, 0}};
    EXPECT_EQ(fit_link(none), std::nullopt);
}

TEST(QuartilesOf, Interpolate) {
    const double values[] = {4, 1, 3, 2};
    EXPECT_DOUBLE_EQ(quartiles_of(values).first, 1.75);
    EXPECT_DOUBLE_EQ(quartiles_of(values).median, 2.5);
    EXPECT_DOUBLE_EQ(quartiles_of(values).third, 3.25);
    EXPECT_EQ(quartiles_of({}).median, 0);
    const double one[] = {7};
    EXPECT_EQ(quartiles_of(one).third, 7);
}

}  // namespace
}  // namespace leat
