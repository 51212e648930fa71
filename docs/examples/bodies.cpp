// A Loop with an If in it: x is halved as long as it is above a limit, at most n times; odd
// iterations add one.
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "leat/leat.h"

namespace {

leat::Tensor one_float(float element) {
    return *leat::Tensor::from<float>({}, std::vector<float>{element});
}

leat::Graph halving() {
    leat::Graph graph("halving");
    const leat::ValueId n = graph.input("n", leat::DType::kInt64, {});
    const leat::ValueId limit = graph.input("limit", leat::DType::kFloat32, {});
    const leat::ValueId x = graph.input("x", leat::DType::kFloat32, {});
    const leat::ValueId first_condition = graph.add("Greater", {x, limit});

    // The body's inputs and outputs have an order: number, condition, carried values. What it reads
    // of the graph around it captures, also to hand it on to a body within.
    leat::Graph body("body");
    const leat::ValueId i = body.input("i", leat::DType::kInt64, {});
    (void)body.input("goes_on", leat::DType::kBool, {});
    const leat::ValueId v = body.input("v", leat::DType::kFloat32, {});
    const leat::ValueId half = body.add("Mul", {v, body.constant("half", one_float(0.5F))});
    const leat::ValueId is_odd =
        body.add("Cast",
                 {body.add("Mod", {i, body.constant("two", *leat::Tensor::from<int64_t>(
                                                               {}, std::vector<int64_t>{2}))})},
                 {{"to", int64_t(leat::DType::kBool)}});

    leat::Graph odd("odd");
    odd.output("more",
               odd.add("Add", {odd.capture(body, half), odd.constant("one", one_float(1))}));
    leat::Graph even("even");
    even.output("same", even.capture(body, half));
    const leat::ValueId next = body.if_(is_odd, std::move(odd), std::move(even))[0];

    body.output("goes_on_next", body.add("Greater", {next, body.capture(graph, limit)}));
    body.output("v_next", next);
    graph.output("y", graph.loop(n, first_condition, {x}, std::move(body), "halve")[0]);
    return graph;
}

}  // namespace

int main() {
    const leat::Runtime runtime;
    const auto compiled = runtime.compile(halving());
    if (!compiled.ok()) {
        std::fprintf(stderr, "%s\n", compiled.error().message().c_str());
        return 1;
    }
    leat::Request request = *compiled->make_request();
    const std::array<int64_t, 1> n = {10};
    const std::array<float, 1> limit = {3};
    const std::array<float, 1> x = {20};
    (void)request.bind("n", std::span<const int64_t>(n));
    (void)request.bind("limit", std::span<const float>(limit));
    (void)request.bind("x", std::span<const float>(x));
    if (const leat::Status status = request.run(); !status.ok()) {
        std::fprintf(stderr, "%s\n", status.message().c_str());
        return 1;
    }
    // 20, 10, 5 + 1, 3: not above the limit any more.
    const float y = request.get<float>("y")[0];
    const leat::CompileReport report = compiled->report();
    for (const leat::BodyReport& plan : report.plans.at(0).bodies) {
        std::printf("%s: %d steps\n", plan.body.c_str(), plan.step_count);
    }
    std::printf("y = %g\n", double(y));
    return y == 3 ? 0 : 1;
}
