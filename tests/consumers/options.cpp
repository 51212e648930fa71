// One member of each struct of options, by its name: no member that is left out may be worth a
// warning. Then a graph is compiled, saved, loaded and run with them.
#include <leat/leat.h>
#include <leat/scheduler/placement.h>
#include <leat/scheduler/task_graph.h>

#include <chrono>
#include <cstdio>
#include <vector>

namespace {

int fail(const leat::Status& status) {
    std::fprintf(stderr, "%s\n", status.message().c_str());
    return 1;
}

int run_tensors() {
    leat::Graph graph("double");
    const auto x = graph.input("x", leat::DType::kFloat32, {"n"});
    graph.output("y", graph.add("Add", {x, x}));

    const leat::Runtime runtime({.threads = 2, .numa = {.is_on = false}});
    const auto compiled =
        runtime.compile(graph, {.dims = {{"n", 3}}, .dim_bounds = {{"n", {.max = 3}}}});
    if (!compiled.ok()) {
        return fail(compiled.error());
    }
    leat::Status status = compiled->save("options.leat", {.saves_packed_weights = false});
    if (!status.ok()) {
        return fail(status);
    }
    const auto loaded = runtime.load("options.leat", {.copies = true});
    if (!loaded.ok()) {
        return fail(loaded.error());
    }
    status = leat::save_onnx(graph, "options.onnx");
    const auto again = leat::load_onnx("options.onnx", {.copies = true});
    if (!status.ok() || !again.ok()) {
        return fail(status.ok() ? again.error() : status);
    }
    auto queue = leat::RequestQueue::make(*loaded, {.depth = 2, .request = {.numa_node = -1}});
    if (!queue.ok()) {
        return fail(queue.error());
    }
    const std::vector<float> values = {1, 2, 3};
    status = queue->next().bind("x", {3}, std::span<const float>(values));
    if (status.ok()) {
        status = queue->submit({.deadline = std::chrono::minutes(1)});
    }
    if (!status.ok()) {
        return fail(status);
    }
    const auto done = queue->take();
    if (!done.ok()) {
        return fail(done.error());
    }
    // An error where there are no tests.
    const auto tests = leat::run_conformance(runtime, "no such folder", {.filters = {"add"}});
    return (*done)->get<float>("y")[2] == 6 && !tests.ok() ? 0 : 1;
}

int run_tasks() {
    using leat::scheduler::Priority;
    leat::scheduler::TaskGraph graph({.is_traced = true});
    const auto six = graph.add("six", [] { return 6; });
    const auto seven = graph.add("seven", [] { return 7; });
    const auto product = graph.add(
        "product", [](int a, int b) { return a * b; }, six, seven);
    leat::scheduler::Executor executor({.threads = 2});
    if (const leat::Status status = graph.run(executor, {.priority = Priority::kHigh});
        !status.ok()) {
        return fail(status);
    }
    const auto schedule = leat::scheduler::place(
        {.task_count = 1, .domain_of_lane = {0}, .cost_ns = {5}}, {.seed = 2});
    return *graph.result(product) == 42 && schedule.ok() && schedule->makespan_ns == 5 ? 0 : 1;
}

// What programs of other kinds name: whoever describes operators, or adds to a trace.
int describe() {
    const leat::OperandSpec operand = {.name = "x"};
    const leat::AttributeSpec attribute = {.name = "limit"};
    const leat::CustomOperator custom = {.domain = "com.example", .inputs = {operand}};
    const leat::OperatorKernel kernel = {
        .tile_count = [](const leat::OperatorCall& /*call*/) { return int64_t{1}; }};
    const leat::OperatorCost cost = {.bytes = 1};
    const leat::scheduler::TraceRow row = {.name = "device", .spans = {{.name = "copy"}}};
    const leat::scheduler::TraceArrow arrow = {.name = "copy", .from = {.task = 0}};
    const leat::scheduler::Task task = {.tile_count = 2};
    return operand.name == "x" && !attribute.is_required && custom.since_version == 1 &&
                   kernel.run == nullptr && cost.flops == 0 && !row.is_forecast &&
                   arrow.to.task < 0 && task.domain == leat::scheduler::Task::kAnyDomain
               ? 0
               : 1;
}

}  // namespace

int main() {
    return run_tensors() + run_tasks() + describe();
}
