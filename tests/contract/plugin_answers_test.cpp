// A backend whose answers cannot be: the host says which, and multiplies, adds and follows none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Sets the variable that garbage_plugin.cpp reads, until this ends.
class Garbage {
  public:
    explicit Garbage(const char* answer) { ::setenv("LEAT_GARBAGE", answer, 1); }
    ~Garbage() { ::unsetenv("LEAT_GARBAGE"); }
    Garbage(const Garbage&) = delete;
    Garbage& operator=(const Garbage&) = delete;
};

// x [2, 2] --> MatMul(w) --> Relu --> MatMul(w) --> y, with a transient
Graph two_products() {
    Graph graph("products");
    const ValueId x = graph.input("x", DType::kFloat32, {2, 2});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({2, 2}, std::vector<float>{1, 0, 0, 1}));
    const ValueId first = graph.add("Relu", {graph.add("MatMul", {x, w}, {}, "first")}, {}, "relu");
    graph.output("y", graph.add("MatMul", {first, w}, {}, "last"));
    return graph;
}

// What a Runtime says that loads the backend anew.
Status run_with(const char* answer) {
    const Garbage garbage(answer);
    RuntimeOptions options;
    options.threads = 1;
    options.backend_path = std::getenv("LEAT_GARBAGE_FOLDER");
    const Runtime runtime(options);
    CompileOptions compile;
    compile.devices = "garbage,cpu";
    const Result<CompiledGraph> compiled = runtime.compile(two_products(), compile);
    if (!compiled.ok()) {
        return compiled.error();
    }
    Result<Request> request = compiled->make_request();
    if (!request.ok()) {
        return request.error();
    }
    const std::vector<float> x = {1, -2, 3, -4};
    Status status = request->bind<float>("x", x);
    status = status.ok() ? request->run() : status;
    if (status.ok()) {
        EXPECT_THAT(request->get<float>("y"), ::testing::ElementsAre(1, 0, 3, 0));
    }
    return status;
}

TEST(PluginAnswers, ThatAreRightRun) {
    EXPECT_EQ(run_with("nothing").message(), "ok");
}

TEST(PluginAnswers, OfDevicesThatCannotBeAreErrors) {
    const std::pair<const char*, const char*> answers[] = {
        {"negative_capacity", "memory domain 0 of device"},
        {"odd_alignment", "alignment 48"},
        {"no_alignment", "alignment 0"},
        {"infinite_link", "inf bytes a second"},
        {"nan_latency", "nan ns"},
        {"negative_links", "-1 links that are not there"},
        {"null_name", "has no name"},
        {"devices_without_end", "more than 4096 devices"},
    };
    for (const auto& [answer, message] : answers) {
        const Status status = run_with(answer);
        EXPECT_EQ(status.code(), StatusCode::kInternal) << answer << ": " << status.message();
        EXPECT_THAT(status.message(), AllOf(HasSubstr("leat_garbage.so"), HasSubstr(message)))
            << answer;
    }
}

TEST(PluginAnswers, OfNodesThatCannotBeAreErrors) {
    for (const char* answer : {"nan_cost", "infinite_cost", "negative_workspace"}) {
        const Status status = run_with(answer);
        EXPECT_EQ(status.code(), StatusCode::kInternal) << answer << ": " << status.message();
        EXPECT_THAT(status.message(), AllOf(HasSubstr("node 'last'"), HasSubstr("leat_garbage.so")))
            << answer;
    }
    EXPECT_EQ(run_with("endless_reason").message(), "ok") << "the host's cpu takes the node";
}

TEST(PluginAnswers, OfPartsThatCannotBeAreErrors) {
    const std::pair<const char*, const char*> answers[] = {
        {"constant_beyond", "packs value 1073741824, which is no constant"},
        {"constant_of_input", "packs value 0, which is no constant"},
        {"negative_constant", "into -64 bytes"},
        {"constant_near_the_end", "into 9223372036854775799 bytes"},
        {"negative_constants", "-1 packed constants"},
        {"negative_output", "output 0 of a part has -4 bytes"},
        {"output_near_the_end", "output 0 of a part has 9223372036854775807 bytes"},
        {"more_outputs", "7 outputs"},
        {"negative_steps", "-3 steps"},
        {"edge_beyond", "step 1073741824 of a part"},
        {"circle", "wait for each other"},
        {"negative_transient", "works in -1 bytes"},
        {"transient_near_the_end", "works in 9223372036854775806 bytes"},
        {"odd_transient", "alignment 24"},
        {"transient_of_no_step", "step -1 of a part"},
    };
    for (const auto& [answer, message] : answers) {
        const Status status = run_with(answer);
        EXPECT_EQ(status.code(), StatusCode::kInternal) << answer << ": " << status.message();
        EXPECT_THAT(status.message(), HasSubstr(message)) << answer;
    }
}

}  // namespace
}  // namespace leat
