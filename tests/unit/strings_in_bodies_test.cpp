// Strings in If, Loop and Scan, in memory of the caller, and in two requests at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/grown_tensor.h"
#include "leat/leat.h"
#include "support/compiled_routes.h"
#include "support/saved_graphs.h"

namespace leat::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using testing_support::number;
using testing_support::truth;
using Words = std::vector<std::string>;

// Beyond what a std::string holds within itself.
const std::string kLong = "a text that is longer than the object of a string";

Tensor strings(const Shape& shape, const Words& words) {
    return *Tensor::from<std::string>(shape, words);
}
Words words_in(const Tensor& tensor) {
    const auto words = tensor.data<std::string>();
    return {words.begin(), words.end()};
}

class StringsInBodies : public ::testing::TestWithParam<std::tuple<const char*, int, bool>> {
  protected:
    StringsInBodies() : runtime_(with_built_backends(std::get<1>(GetParam()))) {
        options_.devices = std::get<0>(GetParam());
        options_.optimize = std::get<2>(GetParam());
    }

    // Of a run, of another one of the same request, and of one that is loaded.
    void check(const Graph& graph,
               const TensorsByName& given,
               const std::map<std::string, std::pair<Shape, Words>>& expected) const {
        const Result<CompiledGraph> compiled = runtime_.compile(graph, options_);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        check_runs(*compiled, given, expected);
        const ScratchFolder folder;
        const std::string file = (folder.path() / "strings.leat").string();
        const Status saved = compiled->save(file);
        ASSERT_TRUE(saved.ok()) << saved.message();
        const Result<CompiledGraph> loaded = runtime_.load(file);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message();
        check_runs(*loaded, given, expected);
    }

    static void check_runs(const CompiledGraph& compiled,
                           const TensorsByName& given,
                           const std::map<std::string, std::pair<Shape, Words>>& expected) {
        Request request = *compiled.make_request();
        for (int run = 0; run < 2; ++run) {
            for (const auto& [name, tensor] : given) {
                ASSERT_TRUE(request.bind(name, tensor).ok());
            }
            const Status status = request.run();
            ASSERT_TRUE(status.ok()) << status.message();
            for (const auto& [name, want] : expected) {
                const Tensor got = request.output(name)->tensor();
                EXPECT_EQ(got.shape(), want.first) << name;
                EXPECT_THAT(words_in(got), ElementsAreArray(want.second)) << name;
            }
        }
    }

    Runtime runtime_;
    CompileOptions options_;
};

TEST_P(StringsInBodies, OfIf) {
    Graph graph("if");
    const ValueId condition = graph.input("condition", DType::kBool, {});
    const ValueId x = graph.input("x", DType::kString, {2});
    Graph then_branch("then");
    then_branch.output("t", then_branch.add("Concat",
                                            {then_branch.capture(graph, x),
                                             then_branch.constant("c", strings({1}, {kLong}))},
                                            {{"axis", int64_t{0}}}));
    Graph else_branch("else");
    else_branch.output("e", else_branch.constant("c", strings({3}, {kLong, "", kLong + "!"})));
    graph.output("y", graph.if_(condition, std::move(then_branch), std::move(else_branch))[0]);
    const Tensor given = strings({2}, {"short", kLong + "?"});
    check(graph, {{"condition", truth(true)}, {"x", given}},
          {{"y", {{3}, {"short", kLong + "?", kLong}}}});
    check(graph, {{"condition", truth(false)}, {"x", given}},
          {{"y", {{3}, {kLong, "", kLong + "!"}}}});
}

//  v, w = w, v in each iteration; stacks of v, and of a constant
Graph swapping(bool has_trip_count) {
    Graph graph("loop");
    const ValueId limit = graph.input("limit", DType::kInt64, {});
    const ValueId v = graph.input("v", DType::kString, {2});
    const ValueId w = graph.input("w", DType::kString, {2});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId own_v = body.input("own_v", DType::kString, {2});
    const ValueId own_w = body.input("own_w", DType::kString, {2});
    const ValueId next = body.add("Add", {i, body.constant("one", number(1))});
    body.output("on",
                has_trip_count ? goes_on : body.add("Less", {next, body.capture(graph, limit)}));
    body.output("v_out", own_w);
    body.output("w_out", own_v);
    body.output("part", own_v);
    body.output("same", body.constant("same", strings({}, {kLong})));
    const std::vector<ValueId> results =
        has_trip_count
            ? graph.loop(limit, ValueId{}, {v, w}, std::move(body))
            : graph.loop(ValueId{}, graph.constant("begins", truth(true)), {v, w}, std::move(body));
    graph.output("y", results[0]);
    graph.output("z", results[1]);
    graph.output("parts", results[2]);
    graph.output("sames", results[3]);
    return graph;
}

TEST_P(StringsInBodies, OfLoop) {
    const Words v = {"v", kLong + " v"};
    const Words w = {kLong + " w", ""};
    // Lengths that the plan knows, and those that only the run does.
    for (const bool has_trip_count : {true, false}) {
        const Graph graph = swapping(has_trip_count);
        for (const int64_t limit : {1, 3, 400}) {
            Words parts;
            for (int64_t i = 0; i < limit; ++i) {
                const Words& part = i % 2 == 0 ? v : w;
                parts.insert(parts.end(), part.begin(), part.end());
            }
            check(graph, {{"limit", number(limit)}, {"v", strings({2}, v)}, {"w", strings({2}, w)}},
                  {{"y", {{2}, limit % 2 == 0 ? v : w}},
                   {"z", {{2}, limit % 2 == 0 ? w : v}},
                   {"parts", {{limit, 2}, parts}},
                   {"sames", {{limit}, Words(size_t(limit), kLong)}}});
        }
    }
}

// Numbers outside, texts within.
TEST_P(StringsInBodies, OfLoopOverNumbers) {
    Graph graph("texts_within");
    const ValueId v = graph.input("v", DType::kInt64, {2});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    const ValueId goes_on = body.input("goes_on", DType::kBool, {});
    const ValueId own = body.input("own", DType::kInt64, {2});
    const ValueId text = body.add("Cast", {own}, {{"to", int64_t(DType::kString)}});
    const ValueId is_long =
        body.add("Equal", {text, body.constant("limit", strings({1}, {"12345678901234567"}))});
    const ValueId read = body.add("Cast", {text}, {{"to", int64_t(DType::kInt64)}});
    const ValueId next = body.add("Add", {read, body.constant("one", number(1))});
    body.output("on", goes_on);
    body.output("next", body.add("Where", {is_long, own, next}));
    const std::vector<ValueId> results =
        graph.loop(graph.constant("three", number(3)), ValueId{}, {v}, std::move(body));
    graph.output("y", graph.add("Cast", {results[0]}, {{"to", int64_t(DType::kString)}}));
    check(graph, {{"v", *Tensor::from<int64_t>({2}, std::vector<int64_t>{5, 12345678901234566})}},
          {{"y", {{2}, {"8", "12345678901234567"}}}});
}

TEST_P(StringsInBodies, OfScan) {
    Graph graph("scan");
    const ValueId state = graph.input("state", DType::kString, {2});
    const ValueId columns = graph.input("columns", DType::kString, {2, 3});
    Graph body("body");
    const ValueId before = body.input("before", DType::kString, {2});
    const ValueId column = body.input("column", DType::kString, {2});
    body.output("after", column);
    body.output("shifted", before);
    body.output("again", column);
    const std::vector<ValueId> results =
        graph.scan({state}, {columns}, std::move(body),
                   {{"scan_input_axes", std::vector<int64_t>{1}},
                    {"scan_input_directions", std::vector<int64_t>{1}},
                    {"scan_output_axes", std::vector<int64_t>{1, 0}}});
    graph.output("last", results[0]);
    graph.output("shifted", results[1]);
    graph.output("again", results[2]);
    check(graph,
          {{"state", strings({2}, {"s", kLong + " s"})},
           {"columns", strings({2, 3}, {"a", kLong + " b", "c", kLong + " d", "e", ""})}},
          {{"last", {{2}, {"a", kLong + " d"}}},
           {"shifted", {{2, 3}, {"s", "c", kLong + " b", kLong + " s", "", "e"}}},
           {"again", {{3, 2}, {"c", "", kLong + " b", "e", "a", kLong + " d"}}}});
}

TEST_P(StringsInBodies, GrowAndShrink) {
    const Result<CompiledGraph> compiled = runtime_.compile(swapping(false), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    ASSERT_TRUE(request.bind("v", strings({2}, {kLong, "v"})).ok());
    ASSERT_TRUE(request.bind("w", strings({2}, {"", kLong + "!"})).ok());
    for (const int64_t limit : {5, 2000, 1, 3, 4097}) {
        const Tensor count = number(limit);
        ASSERT_TRUE(request.bind("limit", count).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const Tensor parts = request.output("parts")->tensor();
        ASSERT_EQ(parts.shape(), Shape({limit, 2}));
        EXPECT_EQ(parts.data<std::string>()[0], kLong);
        EXPECT_EQ(parts.data<std::string>()[size_t(2 * limit - 1)],
                  limit % 2 == 1 ? "v" : kLong + "!");
    }
}

// x, a copy of it with its columns changed, and a constant: each way that an output may be made.
Graph bound_graph() {
    Graph graph("bound");
    const ValueId x = graph.input("x", DType::kString, {2, 2});
    graph.output("same", graph.add("Identity", {x}));
    graph.output("moved", graph.add("Transpose", {x}));
    graph.output("fixed", graph.constant("fixed", strings({1}, {kLong})));
    graph.output(
        "left",
        graph.add(
            "StringNormalizer",
            {graph.add("Reshape", {x, graph.constant("four", *Tensor::from<int64_t>(
                                                                 {1}, std::vector<int64_t>{4}))})},
            {{"stopwords", Words{"b"}}}));
    return graph;
}

TEST_P(StringsInBodies, AreWrittenToMemoryOfTheCaller) {
    const Result<CompiledGraph> compiled = runtime_.compile(bound_graph(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const Tensor x = strings({2, 2}, {"a", "b", kLong, "d"});
    ASSERT_TRUE(request.bind("x", x).ok());
    std::map<std::string, Tensor> targets = {{"same", *Tensor::allocate(DType::kString, {2, 2})},
                                             {"moved", strings({2, 2}, {kLong, kLong, "", "x"})},
                                             {"fixed", *Tensor::allocate(DType::kString, {1})},
                                             {"left", *Tensor::allocate(DType::kString, {3})}};
    for (const auto& [name, tensor] : targets) {
        const Status status = request.bind_output(name, tensor);
        ASSERT_TRUE(status.ok()) << status.message();
    }
    for (int run = 0; run < 2; ++run) {
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_THAT(words_in(targets["same"]), ElementsAre("a", "b", kLong, "d"));
        EXPECT_THAT(words_in(targets["moved"]), ElementsAre("a", kLong, "b", "d"));
        EXPECT_THAT(words_in(targets["fixed"]), ElementsAre(kLong));
        EXPECT_THAT(words_in(targets["left"]), ElementsAre("a", kLong, "d"));
        EXPECT_EQ(request.output("moved")->tensor().bytes(), targets["moved"].bytes());
    }
    // Another shape, another type, and no memory of its own.
    ASSERT_TRUE(request.bind_output("left", *Tensor::allocate(DType::kString, {4})).ok());
    EXPECT_THAT(request.run().message(), HasSubstr("'left'"));
    ASSERT_TRUE(request.bind_output("left", *Tensor::allocate(DType::kFloat32, {3})).ok());
    EXPECT_THAT(request.run().message(), HasSubstr("'left'"));
    ASSERT_TRUE(request.bind_output("left", Tensor()).ok());
    ASSERT_TRUE(request.bind_output("moved", x).ok());
    EXPECT_THAT(request.run().message(), HasSubstr("share memory"));
    ASSERT_TRUE(request.bind_output("moved", Tensor()).ok());
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(words_in(request.output("moved")->tensor()), ElementsAre("a", kLong, "b", "d"));
}

TEST_P(StringsInBodies, OfTwoRequestsAtOnce) {
    const Result<CompiledGraph> compiled = runtime_.compile(bound_graph(), options_);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    const auto run_often = [&compiled](const std::string& mark) {
        Request request = *compiled->make_request();
        const Tensor x = strings({2, 2}, {mark, "b", kLong + mark, "d"});
        ASSERT_TRUE(request.bind("x", x).ok());
        for (int run = 0; run < 100; ++run) {
            ASSERT_TRUE(request.run().ok());
            ASSERT_THAT(words_in(request.output("moved")->tensor()),
                        ElementsAre(mark, kLong + mark, "b", "d"));
            ASSERT_THAT(words_in(request.output("left")->tensor()),
                        ElementsAre(mark, kLong + mark, "d"));
        }
    };
    std::thread other([&] { run_often("one"); });
    run_often("two, which is longer than the other one");
    other.join();
}

INSTANTIATE_TEST_SUITE_P(All,
                         StringsInBodies,
                         ::testing::Combine(::testing::Values("cpu", "reference"),
                                            ::testing::Values(1, 2),
                                            ::testing::Bool()));

TEST(GrownStrings, StayWhereTheyMove) {
    GrownTensor grown;
    // First numbers, so that there is memory of another kind.
    grown.begin(DType::kFloat32, Shape({0, 2}), 2 * sizeof(float));
    ASSERT_TRUE(grown.add_part().ok());
    for (const int count : {1000, 10}) {
        grown.begin(DType::kString, Shape({0, 2}), 2 * sizeof(std::string));
        for (int i = 0; i < count; ++i) {
            const Result<std::byte*> part = grown.add_part();
            ASSERT_TRUE(part.ok());
            auto* const words = reinterpret_cast<std::string*>(*part);
            words[0] = kLong + std::to_string(i);
            words[1] = std::to_string(i);
        }
        const Tensor view = grown.view();
        ASSERT_EQ(view.shape(), Shape({count, 2}));
        for (int i = 0; i < count; ++i) {
            ASSERT_EQ(view.data<std::string>()[size_t(2 * i)], kLong + std::to_string(i));
            ASSERT_EQ(view.data<std::string>()[size_t(2 * i + 1)], std::to_string(i));
        }
    }
    grown.begin(DType::kInt8, Shape({0}), 1);
    ASSERT_TRUE(grown.add_part().ok());
}

}  // namespace
}  // namespace leat::testing
