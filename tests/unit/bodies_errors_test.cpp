// What is wrong with bodies of If, Loop and Scan is an error that says where; also in files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/graph_data.h"
#include "saved/compiled_record.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::without_numa;

Tensor floats(const std::vector<float>& values) {
    return *Tensor::from<float>({int64_t(values.size())}, values);
}

Graph branch_of(DType dtype, int outputs = 1) {
    Graph branch("branch");
    for (int i = 0; i < outputs; ++i) {
        branch.output("y" + std::to_string(i),
                      branch.constant("c" + std::to_string(i), *Tensor::allocate(dtype, {2})));
    }
    return branch;
}

//  y = If(condition) {then_branch, else_branch}
Graph if_of(Graph then_branch, Graph else_branch) {
    Graph graph("if");
    const ValueId condition = graph.input("condition", DType::kBool, {});
    graph.output("y",
                 graph.if_(condition, std::move(then_branch), std::move(else_branch), "if")[0]);
    return graph;
}

// A body that only hands on: (i, condition, v0, ...) -> (condition, v0, ...).
Graph loop_body(int inputs, int outputs) {
    Graph body("body");
    body.input("i", DType::kInt64, {});
    const ValueId condition = body.input("condition", DType::kBool, {});
    std::vector<ValueId> values;
    values.reserve(size_t(inputs));
    for (int v = 0; v < inputs; ++v) {
        values.push_back(body.input("v" + std::to_string(v), DType::kFloat32, {2}));
    }
    body.output("goes_on", condition);
    for (int v = 0; v < outputs; ++v) {
        body.output("next" + std::to_string(v), values[size_t(v)]);
    }
    return body;
}

//  y = Loop(trips, _, x) {body}
Graph loop_of(Graph body, DType trip_type = DType::kInt64) {
    Graph graph("loop");
    const ValueId trips = graph.input("trips", trip_type, {});
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    graph.output("y", graph.loop(trips, {}, {x}, std::move(body), "loop")[0]);
    return graph;
}

std::string problem(const Graph& graph) {
    const Status status = graph.verify();
    return status.ok() ? "" : status.message();
}

TEST(BadBodies, AreBranchesOfDifferentTypes) {
    EXPECT_THAT(problem(if_of(branch_of(DType::kFloat32), branch_of(DType::kInt64))),
                AllOf(HasSubstr("node 'if' (If)"),
                      HasSubstr("output 0 of else_branch has another element type"),
                      HasSubstr("i64[2]"), HasSubstr("f32[2]")));
}

TEST(BadBodies, AreBranchesOfDifferentNumbersOfOutputs) {
    EXPECT_THAT(
        problem(if_of(branch_of(DType::kFloat32, 2), branch_of(DType::kFloat32, 1))),
        AllOf(HasSubstr("node 'if' (If)"),
              HasSubstr("the branches have different numbers of outputs"), HasSubstr("2 and 1")));
    EXPECT_THAT(problem(if_of(branch_of(DType::kFloat32, 1), branch_of(DType::kFloat32, 2))),
                HasSubstr("1 and 2"));
    EXPECT_THAT(problem(if_of(branch_of(DType::kFloat32, 0), branch_of(DType::kFloat32, 0))),
                HasSubstr("too few outputs"));
}

// Also where the condition is known, and only one of the branches ever runs.
TEST(BadBodies, AreDifferentNumbersOfOutputsUnderAKnownCondition) {
    Graph graph("if");
    Tensor yes = *Tensor::allocate(DType::kBool, {});
    yes.mutable_bytes()[0] = std::byte{1};
    graph.output("y", graph.if_(graph.constant("yes", yes), branch_of(DType::kFloat32, 1),
                                branch_of(DType::kFloat32, 2))[0]);
    EXPECT_THAT(problem(graph), HasSubstr("the branches have different numbers of outputs"));
}

TEST(BadBodies, AreInputsOfABranch) {
    Graph branch("branch");
    branch.output("y0", branch.input("x", DType::kFloat32, {2}));
    EXPECT_THAT(problem(if_of(std::move(branch), branch_of(DType::kFloat32))),
                AllOf(HasSubstr("node 'if' (If)"), HasSubstr("then_branch"),
                      HasSubstr("a wrong number of inputs")));
}

TEST(BadBodies, AreBodiesOfLoopThatDoNotFitTheCarriedValues) {
    EXPECT_EQ(problem(loop_of(loop_body(1, 1))), "");
    const auto is_refused = AllOf(HasSubstr("node 'loop' (Loop)"),
                                  HasSubstr("the body does not fit the carried values"),
                                  HasSubstr("3 inputs, 2 outputs or more"));
    EXPECT_THAT(problem(loop_of(loop_body(2, 1))), is_refused);
    EXPECT_THAT(problem(loop_of(loop_body(1, 0))), is_refused);
    EXPECT_THAT(problem(loop_of(Graph("empty"))), is_refused);
}

TEST(BadBodies, AreTypesThatALoopChanges) {
    Graph body = loop_body(1, 0);
    const ValueId v0 = body.data().inputs[2];
    body.output("next0", body.add("Cast", {v0}, {{"to", int64_t(DType::kInt64)}}));
    EXPECT_THAT(problem(loop_of(std::move(body))),
                AllOf(HasSubstr("node 'loop' (Loop)"),
                      HasSubstr("carried value 0 has another element type"), HasSubstr("i64[2]")));
    EXPECT_THAT(problem(loop_of(loop_body(1, 1), DType::kInt32)),
                AllOf(HasSubstr("node 'loop' (Loop)"), HasSubstr("trip count")));
    Graph counts("body");
    const ValueId i = counts.input("i", DType::kInt64, {});
    counts.input("condition", DType::kBool, {});
    const ValueId v = counts.input("v", DType::kFloat32, {2});
    counts.output("goes_on", i);
    counts.output("next", v);
    EXPECT_THAT(problem(loop_of(std::move(counts))),
                HasSubstr("the condition has another element type"));
}

TEST(BadBodies, AreBodiesOfScanThatDoNotFit) {
    const auto scan_of = [](int inputs, int outputs, int64_t axis = 0) {
        Graph body("body");
        std::vector<ValueId> values;
        values.reserve(size_t(inputs));
        for (int v = 0; v < inputs; ++v) {
            values.push_back(body.input("v" + std::to_string(v), DType::kFloat32, {}));
        }
        for (int v = 0; v < outputs; ++v) {
            body.output("next" + std::to_string(v), values[0]);
        }
        Graph graph("scan");
        const ValueId state = graph.input("state", DType::kFloat32, {});
        const ValueId x = graph.input("x", DType::kFloat32, {3});
        graph.output("y", graph.scan({state}, {x}, std::move(body),
                                     {{"scan_input_axes", std::vector<int64_t>{axis}}}, "scan")[0]);
        return graph;
    };
    EXPECT_EQ(problem(scan_of(2, 2)), "");
    EXPECT_THAT(problem(scan_of(1, 1)),
                AllOf(HasSubstr("node 'scan' (Scan)"), HasSubstr("a wrong number of inputs")));
    EXPECT_THAT(problem(scan_of(3, 1)), HasSubstr("a wrong number of inputs"));
    EXPECT_THAT(problem(scan_of(2, 0)),
                AllOf(HasSubstr("node 'scan' (Scan)"), HasSubstr("too few outputs")));
    EXPECT_THAT(problem(scan_of(2, 2, 1)), HasSubstr("node 'scan' (Scan)"));
}

TEST(BadBodies, AreCapturesOfWhatIsNotThere) {
    Graph around("around");
    around.input("condition", DType::kBool, {});
    Graph branch = branch_of(DType::kFloat32, 0);
    branch.output("y0", branch.capture(around, ValueId{7}));
    EXPECT_THAT(
        problem(if_of(branch, branch)),
        AllOf(HasSubstr("a captured value is not one of graph 'around'"), HasSubstr("value id 7")));
    Graph absent = branch_of(DType::kFloat32, 0);
    absent.output("y0", absent.capture(around, ValueId{}));
    EXPECT_THAT(problem(if_of(absent, absent)), HasSubstr("value id -1"));
}

TEST(BadBodies, AreCapturesOfANodeWithoutABody) {
    const Result<Graph> graph = parse_graph(R"(graph "g" (x: f32[2], w: f32[2]) -> (y: f32[2]) {
  y = Relu(x)[w]
})");
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_THAT(problem(*graph), AllOf(HasSubstr("node 'y' (Relu)"), HasSubstr("no body")));
}

TEST(BadBodies, AreUnknownOperatorsInThem) {
    const Result<Graph> graph = parse_graph(R"(graph "g" (c: bool[], x: f32[2]) -> (y: f32[2]) {
  y = If(c)[x] {then_branch=graph "a" (x: f32[2]) -> (n: f32[2]) {
    n = Neg(x)
  }, else_branch=graph "b" (x: f32[2]) -> (m: f32[2]) {
    m = NoSuchOp(x)
  }}
})");
    ASSERT_TRUE(graph.ok()) << graph.error().message();
    EXPECT_THAT(problem(*graph), HasSubstr("NoSuchOp (node 'm' in node 'y' (If), else_branch)"));
}

// The graph that takes the body has fewer values than the one that it captures from.
TEST(BadBodies, AreCapturesFromAnotherGraph) {
    Graph other("other");
    ValueId last;
    for (int i = 0; i < 9; ++i) {
        last = other.input("x" + std::to_string(i), DType::kFloat32, {2});
    }
    Graph branch = branch_of(DType::kFloat32, 0);
    branch.output("y0", branch.capture(other, last));
    EXPECT_THAT(problem(if_of(branch, branch)),
                AllOf(HasSubstr("If 'if', attribute 'then_branch'"),
                      HasSubstr("'x8' is captured from another graph"), HasSubstr("value id 8")));
}

// A graph that captures is no graph before a node has it.
TEST(BadBodies, AreBodiesWithoutANode) {
    Graph around("around");
    const ValueId x = around.input("x", DType::kFloat32, {2});
    Graph body("body");
    body.output("y", body.add("Neg", {body.capture(around, x)}));
    const auto is_refused = HasSubstr("'x' is captured from a graph around, and there is none");
    EXPECT_THAT(problem(body), is_refused);
    EXPECT_THAT(Runtime(without_numa(1)).compile(body).error().message(), is_refused);
    const ScratchFolder folder;
    EXPECT_THAT(save_onnx(body, (folder.path() / "body.onnx").string()).message(), is_refused);
}

// y = If(condition)[x] in as many bodies as that.
Graph nested_in(int bodies) {
    Graph inner("innermost");
    inner.output("y", inner.constant("c", floats({1, 2})));
    for (int i = 0; i < bodies; ++i) {
        Graph around("body");
        Tensor yes = *Tensor::allocate(DType::kBool, {});
        yes.mutable_bytes()[0] = std::byte{1};
        around.output(
            "y", around.if_(around.constant("yes", yes), inner,
                            inner.data().nodes.empty() ? inner : branch_of(DType::kFloat32))[0]);
        inner = std::move(around);
    }
    return inner;
}

TEST(BadBodies, AreMoreBodiesInEachOtherThanAnyWalkMayTake) {
    EXPECT_EQ(problem(nested_in(kMaxBodyNesting)), "");
    EXPECT_THAT(problem(nested_in(kMaxBodyNesting + 1)),
                AllOf(HasSubstr("bodies are nested too deep"), HasSubstr("at most 100")));
}

TEST(BadBodies, AreMoreBodiesInEachOtherInATextThanAnyWalkMayTake) {
    const auto text_of = [](int bodies) {
        std::string text;
        for (int i = 0; i <= bodies; ++i) {
            text +=
                "graph g () -> (y: f32[2]) {\n const c: f32[2] = {1, 2}\n y = If(c) {else_branch=";
        }
        return text;
    };
    EXPECT_THAT(parse_graph(text_of(kMaxBodyNesting + 1)).error().message(),
                HasSubstr("a body that is not nested so deeply"));
    EXPECT_THAT(parse_graph(text_of(10000)).error().message(),
                HasSubstr("a body that is not nested so deeply"));
    const Graph deep = nested_in(kMaxBodyNesting);
    const Result<Graph> parsed = parse_graph(deep.to_text());
    ASSERT_TRUE(parsed.ok()) << parsed.error().message();
    EXPECT_EQ(parsed->to_text(), deep.to_text());
}

// A record of a graph whose first body begins again and again, each in the one before.
TEST(BadBodies, AreMoreBodiesInEachOtherInASavedFileThanAnyWalkMayTake) {
    CompiledRecord record;
    record.graph = nested_in(3).data();
    BlobWriter blobs;
    const std::string good = write_record(record, blobs);
    constexpr size_t kLengthBytes = sizeof(uint64_t);  // of a graph's name, which comes first
    const size_t first = good.find("body", good.find("body") + 1) - kLengthBytes;
    const size_t second = good.find("body", first + kLengthBytes + 1) - kLengthBytes;
    const auto error_of = [&](int again) {
        std::string bytes = good.substr(0, first);
        for (int i = 0; i < again; ++i) {
            bytes += good.substr(first, second - first);
        }
        bytes += good.substr(second);
        std::vector<std::byte> memory(1 << 20);
        const auto owner = std::make_shared<int>();
        BlobReader reader({blobs.places().begin(), blobs.places().end()}, {memory, owner}, {});
        return read_record(std::as_bytes(std::span<const char>(bytes)), reader).error();
    };
    EXPECT_TRUE(error_of(1).ok()) << error_of(1).message();
    EXPECT_EQ(error_of(10000).code(), StatusCode::kParse);
}

class DamagedBodies : public ::testing::Test {
  protected:
    ScratchFolder folder_;
    const std::filesystem::path file_ = folder_.path() / "graph.leat";
    const Runtime runtime_{without_numa(1)};
};

// Hashes say nothing about whoever writes a file on purpose: then an error comes, or a graph that
// runs or says why not.
TEST_F(DamagedBodies, AreErrorsInSavedFilesWithTrueHashes) {
    Graph graph("loops");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const ValueId condition = graph.input("condition", DType::kBool, {});
    Graph body = loop_body(1, 0);
    Graph branch("branch");
    branch.output("z", branch.add("Add", {branch.capture(body, body.data().inputs[2]),
                                          branch.constant("c", floats({1, 2}))}));
    Graph other("other");
    other.output("z", other.add("Neg", {other.capture(body, body.data().inputs[2])}));
    body.output("next", body.if_(body.capture(graph, condition), branch, other)[0]);
    // Not in the file: a damaged one may be any number, and the loop right and endless.
    const ValueId trips = graph.input("trips", DType::kInt64, {});
    graph.output("y", graph.loop(trips, {}, {x}, body)[0]);
    const auto compiled = runtime_.compile(graph);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    ASSERT_TRUE(compiled->save(file_).ok());
    const NamedTensors inputs = {{"x", floats({1, 2})},
                                 {"condition", *Tensor::allocate(DType::kBool, {})},
                                 {"trips", *Tensor::from<int64_t>({}, std::vector<int64_t>{2})}};
    ASSERT_TRUE(output_bytes(*compiled, inputs).ok());
    const std::string good = contents_of(file_);
    const size_t bytes = testing_support::body_bytes(good);
    int refused = 0;
    constexpr int kChanges[] = {0x01, 0x80, 0xff};
    for (size_t at = 0; at < bytes; at += 5) {
        refused += int(testing_support::is_refused_with_change(runtime_, file_, good, at,
                                                               kChanges[at % 3], inputs));
    }
    EXPECT_GT(refused, int(bytes / 20));
}

}  // namespace
}  // namespace leat
