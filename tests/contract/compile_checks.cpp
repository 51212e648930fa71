// What is settled from version 1 of the interface about graphs: shapes, host inputs, constants,
// sizes that depend on data, control flow, state, profiles, custom operators, saving.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "backends/plugin/text_sink.h"
#include "contract/compiled.h"
#include "contract/context.h"

namespace leat::contract {
namespace {

using Floats = std::vector<float>;

int64_t bytes_in(const Floats& values) {
    return int64_t(values.size() * sizeof(float));
}

// A slab with these elements.
LeatBinding bind(Context& context, const Floats& values) {
    LeatSlab* slab = context.slab(std::max<int64_t>(bytes_in(values), 4));
    void* from = context.host_bytes(bytes_in(values));
    std::memcpy(from, values.data(), size_t(bytes_in(values)));
    context.wait_ok(context.copy_in(context.compute_queue(), from, {slab, 0}, bytes_in(values)));
    return {slab, 0, bytes_in(values), nullptr};
}

LeatBinding bind_room(Context& context, int64_t bytes) {
    return {context.slab(bytes), 0, bytes, nullptr};
}

void expect_floats(Context& context, const LeatBinding& at, const Floats& needed) {
    const std::vector<uint8_t> bytes =
        context.bytes_of({at.slab, at.offset_bytes}, bytes_in(needed));
    Floats found(needed.size());
    std::memcpy(found.data(), bytes.data(), bytes.size());
    for (size_t i = 0; i < needed.size(); ++i) {
        expect(found[i] == needed[i],
               fmt::format("element {} is {}, needed {}", i, found[i], needed[i]));
    }
}

// y = Relu(x), x: f32[4].
std::unique_ptr<GraphView> relu_graph() {
    auto graph = std::make_unique<GraphView>();
    const int32_t x = graph->input("x", kFloat32, {4});
    const int32_t y = graph->value("y", kFloat32, {4});
    graph->node("Relu", {x}, {y});
    graph->output(y);
    return graph;
}

void check_signal_after_execute(Context& context) {
    context.start();
    const auto graph = relu_graph();
    Compiled compiled(context, *graph);
    compiled.link({});
    const LeatBinding x = bind(context, {-1, 2, -3, 4});
    const LeatBinding y = bind_room(context, 16);
    context.wait_ok(compiled.execute({x}, {y}));
    expect_floats(context, y, {0, 2, 0, 4});
}

// The view is gone before the executable is used.
void check_views_are_borrowed(Context& context) {
    context.start();
    auto graph = relu_graph();
    Compiled compiled(context, *graph);
    graph.reset();
    compiled.link({});
    const LeatBinding x = bind(context, {-5, 6, 7, -8});
    const LeatBinding y = bind_room(context, 16);
    context.wait_ok(compiled.execute({x}, {y}));
    expect_floats(context, y, {0, 6, 7, 0});
}

void check_arguments_are_read(Context& context) {
    context.start(context.target().slow);
    const auto graph = relu_graph();
    Compiled compiled(context, *graph);
    compiled.link({});
    std::vector<LeatBinding> inputs = {bind(context, {-1, 2, -3, 4})};
    std::vector<LeatBinding> outputs = {bind(context, {9, 9, 9, 9})};
    const LeatBinding decoy_from = bind(context, {5, 5, 5, 5});
    const LeatBinding decoy_to = bind(context, {7, 7, 7, 7});
    const LeatBinding y = outputs[0];
    const LeatPoint done = compiled.execute(inputs, outputs);
    inputs[0] = decoy_from;
    outputs[0] = decoy_to;
    context.wait_ok(done);
    expect_floats(context, y, {0, 2, 0, 4});
    expect_floats(context, decoy_to, {7, 7, 7, 7});
}

void check_no_memory_in_execute(Context& context) {
    context.start();
    const auto graph = relu_graph();
    Compiled compiled(context, *graph);
    compiled.link({});
    const LeatBinding x = bind(context, {-1, 2, -3, 4});
    const LeatBinding y = bind_room(context, 16);
    context.wait_ok(compiled.execute({x}, {y}));
    const int64_t before = context.host_allocations();
    for (int i = 0; i < 10; ++i) {
        context.wait_ok(compiled.execute({x}, {y}));
        context.wait_ok(context.fill(context.compute_queue(), {x.slab, 0}, 16, 0));
    }
    expect(context.host_allocations() == before,
           fmt::format("runs took memory {} times", context.host_allocations() - before));
}

void check_symbolic_dims(Context& context) {
    context.start();
    GraphView graph;
    const int32_t n = graph.symbol("n", 1, 8);
    const int32_t x = graph.input("x", kFloat32, {n, 2});
    const int32_t t = graph.value("t", kFloat32, {n, 2});
    const int32_t y = graph.value("y", kFloat32, {n, 2});
    graph.node("Neg", {x}, {t});
    graph.node("Relu", {t}, {y});
    graph.output(y);
    Compiled compiled(context, graph);
    for (const int64_t rows : {int64_t{2}, int64_t{8}, int64_t{1}}) {
        compiled.link({{rows}, {}});
        expect(compiled.output_bytes()[0] == rows * 8,
               fmt::format("{} bytes for {} rows", compiled.output_bytes()[0], rows));
        const Floats values(size_t(rows) * 2, -3.0F);
        const LeatBinding y_room = bind_room(context, rows * 8);
        context.wait_ok(compiled.execute({bind(context, values)}, {y_room}));
        expect_floats(context, y_room, Floats(size_t(rows) * 2, 3.0F));
    }
    auto shape = plugin::made<LeatRunShape>();
    const int64_t too_many = 9;
    shape.symbol_count = 1;
    shape.symbols = &too_many;
    PluginError error;
    const LeatRequirements* none = nullptr;
    const LeatCode code = context.api().requirements(context.backend(), compiled.executable(),
                                                     &shape, &none, error.get());
    expect(code == kLeatInvalidArgument,
           fmt::format("an extent beyond its bound gave code {}", code));
}

LeatTensorView ints_view(const std::vector<int64_t>& values, const int64_t& count) {
    auto view = plugin::made<LeatTensorView>();
    view.dtype = kInt64;
    view.rank = 1;
    view.extents = &count;
    view.data = const_cast<int64_t*>(values.data());
    view.bytes = int64_t(values.size() * sizeof(int64_t));
    return view;
}

void check_host_inputs(Context& context) {
    context.start();
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {2, 3});
    const int32_t shape = graph.input("shape", kInt64, {2});
    const int32_t t = graph.value("t", kFloat32, {GraphView::kUnknown, GraphView::kUnknown});
    const int32_t y = graph.value("y", kFloat32, {GraphView::kUnknown, GraphView::kUnknown});
    graph.node("Reshape", {x, shape}, {t});
    graph.node("Relu", {t}, {y});
    graph.output(y);
    const std::vector<LeatNodeCapability> rows = capabilities_of(context, graph);
    if (rows[0].is_supported == 0) {
        throw Unimplemented{rows[0].reason};
    }
    expect((rows[0].host_inputs & 2) != 0, "Reshape's shape is no host input");
    Compiled compiled(context, graph);
    expect((compiled.info().host_inputs_low & 2) != 0,
           "the executable does not say that input 1 is a host input");
    const int64_t count = 2;
    for (const std::vector<int64_t>& wanted :
         {std::vector<int64_t>{3, 2}, std::vector<int64_t>{6, 1}}) {
        const LeatTensorView host = ints_view(wanted, count);
        compiled.link({{}, {nullptr, &host}});
        const LeatBinding y_room = bind_room(context, 24);
        context.wait_ok(
            compiled.execute({bind(context, {-1, 2, -3, 4, -5, 6}), LeatBinding{}}, {y_room}));
        expect_floats(context, y_room, {0, 2, 0, 4, 0, 6});
    }
}

// y = Neg(Neg(Relu(x))), or Neg(Relu(x)) + x, in which x is read again at the end.
void check_operand_steps_of(Context& context, bool is_read_again) {
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {4});
    const int32_t t = graph.value("t", kFloat32, {4});
    const int32_t u = graph.value("u", kFloat32, {4});
    const int32_t y = graph.value("y", kFloat32, {4});
    graph.node("Relu", {x}, {t});
    graph.node("Neg", {t}, {u});
    if (is_read_again) {
        graph.node("Add", {u, x}, {y});
    } else {
        graph.node("Neg", {u}, {y});
    }
    graph.output(y);
    Compiled compiled(context, graph);
    const LeatBinding room = bind_room(context, 16);
    const LeatBinding input = bind(context, {-1, 2, -3, 4});
    compiled.link_over(input, {});
    context.wait_ok(compiled.execute({input}, {room}));
    expect_floats(context, room, is_read_again ? Floats{-1, 0, -3, 0} : Floats{0, 2, 0, 4});
}

void check_operand_steps(Context& context) {
    context.start();
    check_operand_steps_of(context, false);
    check_operand_steps_of(context, true);
}

void check_data_dependent_size(Context& context) {
    context.start();
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {2, 3});
    const int32_t y = graph.value("y", kInt64, {2, GraphView::kUnknown});
    graph.node("NonZero", {x}, {y});
    graph.output(y);
    const std::vector<LeatNodeCapability> rows = capabilities_of(context, graph);
    if (rows[0].is_supported == 0) {
        throw Unimplemented{rows[0].reason};
    }
    Compiled compiled(context, graph);
    compiled.link({});
    expect(compiled.is_bounded(0), "the size is said to be exact");
    expect(compiled.output_bytes()[0] == 96,
           fmt::format("the bound is {} bytes, needed 96", compiled.output_bytes()[0]));
    LeatBinding room = bind_room(context, 96);
    int64_t extents[2] = {-1, -1};
    room.actual_extents = extents;
    context.wait_ok(compiled.execute({bind(context, {0, 5, 0, 0, 0, 7})}, {room}));
    expect(extents[0] == 2 && extents[1] == 2,
           fmt::format("the size is reported as {} x {}, needed 2 x 2", extents[0], extents[1]));
    const std::vector<uint8_t> bytes = context.bytes_of({room.slab, 0}, 32);
    int64_t found[4] = {};
    std::memcpy(found, bytes.data(), sizeof(found));
    expect(found[0] == 0 && found[1] == 1 && found[2] == 1 && found[3] == 2,
           "the elements are not those of the actual size, row-major");
}

void check_control_flow(Context& context) {
    context.start();
    GraphView then_branch;
    GraphView else_branch;
    GraphView graph;
    const int32_t condition = graph.input("condition", kBool, {});
    const int32_t x = graph.input("x", kFloat32, {4});
    const int32_t chosen = graph.value("chosen", kFloat32, {4});
    const int32_t y = graph.value("y", kFloat32, {4});
    for (GraphView* branch : {&then_branch, &else_branch}) {
        const int32_t outer = branch->outer("x", kFloat32, {4}, x);
        const int32_t result = branch->value("result", kFloat32, {4});
        branch->node(branch == &then_branch ? "Neg" : "Relu", {outer}, {result});
        branch->output(result);
    }
    graph.node("If", {condition}, {chosen});
    graph.body("then_branch", then_branch);
    graph.body("else_branch", else_branch);
    graph.node("Relu", {chosen}, {y});
    graph.output(y);
    const std::vector<LeatNodeCapability> rows = capabilities_of(context, graph);
    expect(rows[1].is_supported != 0, "a node is refused because another one has bodies");
    const auto options = plugin::made<LeatCompileOptions>();
    LeatExecutable* executable = nullptr;
    PluginError error;
    const LeatCode code = context.api().compile(context.backend(), 0, graph.view(), &options,
                                                &executable, error.get());
    context.api().free_executable(context.backend(), executable);
    if (rows[0].is_supported == 0) {
        expect(rows[0].reason[0] != '\0', "a refusal without a reason");
        expect(code == kLeatUnsupported,
               fmt::format("compiling what capabilities refuse gave code {}", code));
        return;
    }
    expect(code == kLeatOk, "an If that is taken does not compile");
}

// y = x + c, x: f32[rows, 2].
std::unique_ptr<GraphView> add_graph(int64_t rows) {
    auto graph = std::make_unique<GraphView>();
    const int32_t x = graph->input("x", kFloat32, {rows, 2});
    const int32_t c = graph->constant("c", {2}, {10, 20});
    const int32_t y = graph->value("y", kFloat32, {rows, 2});
    graph->node("Add", {x, c}, {y});
    graph->output(y);
    return graph;
}

void check_packing(Context& context) {
    context.start();
    const auto one_row = add_graph(1);
    const auto two_rows = add_graph(2);
    Compiled one(context, *one_row);
    Compiled two(context, *two_rows);
    if (one.info().constant_count == 0) {
        throw Unimplemented{"it packs no constants"};
    }
    const LeatPackedConstant& first = *one.info().constants[0];
    const LeatPackedConstant& second = *two.info().constants[0];
    expect(first.content_hash == second.content_hash && first.layout_key == second.layout_key &&
               first.bytes == second.bytes,
           "two batch sizes do not share a packed constant");
    two.pack(*two_rows);
    two.link({});
    const LeatBinding y = bind_room(context, 16);
    context.wait_ok(two.execute({bind(context, {1, 2, 3, 4})}, {y}));
    expect_floats(context, y, {11, 22, 13, 24});
}

// sum' = sum + x, in place; y = sum * x reads the old sum.
void check_state(Context& context) {
    context.start();
    GraphView graph;
    const int32_t sum = graph.input("sum", kFloat32, {2});
    const int32_t x = graph.input("x", kFloat32, {2});
    const int32_t next = graph.value("next", kFloat32, {2});
    const int32_t y = graph.value("y", kFloat32, {2});
    graph.node("Add", {sum, x}, {next});
    graph.node("Mul", {sum, x}, {y});
    graph.output(next);
    graph.output(y);
    graph.state(0, 0);
    Compiled compiled(context, graph);
    compiled.link({});
    const LeatBinding state = bind(context, {1, 2});
    const LeatBinding step = bind(context, {3, 4});
    const LeatBinding result = bind_room(context, 8);
    context.wait_ok(compiled.execute({state, step}, {state, result}));
    expect_floats(context, state, {4, 6});
    expect_floats(context, result, {3, 8});
    context.wait_ok(compiled.execute({state, step}, {state, result}));
    expect_floats(context, state, {7, 10});
    expect_floats(context, result, {12, 24});
}

void check_profiling(Context& context) {
    context.start();
    PluginError error;
    auto sample = plugin::made<LeatClockSample>();
    Context::expect_ok(context.api().clock_correlation(context.backend(), 0, &sample, error.get()),
                       "clock_correlation", error);
    const auto graph = relu_graph();
    Compiled compiled(context, *graph);
    compiled.link({});
    LeatStepTime steps[8] = {};
    auto profile = plugin::made<LeatProfile>();
    profile.capacity = 8;
    profile.steps = steps;
    const LeatBinding x = bind(context, {-1, 2, -3, 4});
    const LeatBinding y = bind_room(context, 16);
    const LeatHostApi& host = context.host_api();
    const int64_t before = host.monotonic_ns(host.host);
    context.wait_ok(compiled.execute({x}, {y}, &profile));
    const int64_t after = host.monotonic_ns(host.host);
    expect(profile.count == compiled.step_count() && profile.count > 0,
           fmt::format("{} of {} steps have times", profile.count, compiled.step_count()));
    const int64_t slack = sample.uncertainty_ns + 1000;
    for (int32_t i = 0; i < profile.count; ++i) {
        const auto host_ns = [&](int64_t ticks) {
            return sample.host_ns +
                   int64_t(double(ticks - sample.device_ticks) * sample.ns_per_tick);
        };
        expect(steps[i].begin_ticks <= steps[i].end_ticks, "a step ends before it begins");
        expect(host_ns(steps[i].begin_ticks) >= before - slack &&
                   host_ns(steps[i].end_ticks) <= after + slack,
               fmt::format("a step is said to run {} ns before its submission",
                           before - host_ns(steps[i].begin_ticks)));
    }
}

// The parts of x: the node does not have the second, and nobody reads the third.
void check_absent_outputs(Context& context) {
    context.start();
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {8});
    const int32_t first = graph.value("first", kFloat32, {2});
    const int32_t third = graph.value("third", kFloat32, {2});
    const int32_t last = graph.value("last", kFloat32, {2});
    graph.node("Split", {x}, {first, -1, third, last});
    graph.output(last);
    graph.output(first);
    const auto run = [&](Compiled& compiled) {
        compiled.link({});
        const LeatBinding y = bind_room(context, 8);
        const LeatBinding z = bind_room(context, 8);
        context.wait_ok(compiled.execute({bind(context, {1, 2, 3, 4, 5, 6, 7, 8})}, {y, z}));
        expect_floats(context, y, {7, 8});
        expect_floats(context, z, {1, 2});
    };
    Compiled compiled(context, graph);
    run(compiled);
    Compiled loaded(context, compiled.save());
    run(loaded);
}

void check_step_names(Context& context) {
    context.start();
    const auto graph = relu_graph();
    Compiled compiled(context, *graph);
    compiled.link({});
    const std::vector<std::string>& names = compiled.step_names();
    if (names.empty()) {
        throw Unimplemented{"its steps have no names"};
    }
    expect(int32_t(names.size()) == compiled.step_count(),
           fmt::format("{} names of {} steps", names.size(), compiled.step_count()));
    expect(
        std::any_of(names.begin(), names.end(),
                    [](const std::string& name) { return name.find("Relu") != std::string::npos; }),
        fmt::format("step 0 is called '{}', and none by its operator, Relu", names[0]));
}

LeatCode infer_double(void* /*user*/,
                      const LeatNodeView* /*node*/,
                      int32_t input_count,
                      const LeatTensorView* const* inputs,
                      LeatTensorView* const* outputs,
                      int64_t* const* output_extents,
                      LeatError* /*error*/) {
    if (input_count != 1) {
        return kLeatInvalidArgument;
    }
    outputs[0]->dtype = inputs[0]->dtype;
    outputs[0]->rank = inputs[0]->rank;
    std::copy(inputs[0]->extents, inputs[0]->extents + inputs[0]->rank, output_extents[0]);
    return kLeatOk;
}

void check_custom_operator(Context& context) {
    context.start();
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {4});
    const int32_t t = graph.value("t", kFloat32, {4});
    const int32_t y = graph.value("y", kFloat32, {4});
    graph.node("Double", {x}, {t}, "contract");
    graph.node("Relu", {t}, {y});
    graph.output(y);
    expect(capabilities_of(context, graph)[0].is_supported == 0,
           "an operator that nobody registered is supported");
    auto schema = plugin::made<LeatOperator>();
    schema.domain = "contract";
    schema.op_type = "Double";
    schema.min_inputs = 1;
    schema.max_inputs = 1;
    schema.output_count = 1;
    schema.infer = infer_double;
    schema.cost_ns = [](void*, int32_t, const LeatTensorView* const*) { return 1.0; };
    PluginError error;
    Context::expect_ok(context.api().register_operator(context.backend(), &schema, error.get()),
                       "register_operator", error);
    const std::string& kernel = context.target().double_kernel;
    if (kernel.empty()) {
        throw Unimplemented{"no kernel for it is at hand"};
    }
    Context::expect_ok(
        context.api().register_kernel(context.backend(), "contract", "Double", kernel.data(),
                                      int64_t(kernel.size()), error.get()),
        "register_kernel", error);
    Compiled compiled(context, graph);
    compiled.link({});
    const LeatBinding room = bind_room(context, 16);
    context.wait_ok(compiled.execute({bind(context, {1, -2, 3, -4})}, {room}));
    expect_floats(context, room, {2, 0, 6, 0});
}

void check_save_load(Context& context) {
    context.start();
    const auto graph = add_graph(2);
    std::string saved;
    {
        const Compiled compiled(context, *graph);
        saved = compiled.save();
    }
    Compiled loaded(context, saved);
    loaded.pack(*graph);
    loaded.link({});
    const LeatBinding y = bind_room(context, 16);
    context.wait_ok(loaded.execute({bind(context, {1, 2, 3, 4})}, {y}));
    expect_floats(context, y, {11, 22, 13, 24});
    std::string flipped = saved;
    flipped[flipped.size() / 2] = char(flipped[flipped.size() / 2] ^ 1);
    for (const std::string& damaged :
         {flipped, saved.substr(0, saved.size() / 2), std::string("x"), std::string()}) {
        LeatExecutable* none = nullptr;
        const LeatCode code = context.api().load(context.backend(), 0, damaged.data(),
                                                 int64_t(damaged.size()), &none, nullptr);
        expect(code == kLeatCorrupt,
               fmt::format("{} damaged bytes gave code {}", damaged.size(), code));
    }
}

void check_preprocess(Context& context) {
    context.start();
    const auto graph = relu_graph();
    std::string blob;
    const LeatSink sink = text_sink(blob);
    PluginError error;
    Context::expect_ok(
        context.api().preprocess(context.backend(), 0, graph->view(), nullptr, &sink, error.get()),
        "preprocess", error);
    auto options = plugin::made<LeatCompileOptions>();
    options.blob = blob.data();
    options.blob_bytes = int64_t(blob.size());
    LeatExecutable* executable = nullptr;
    Context::expect_ok(context.api().compile(context.backend(), 0, graph->view(), &options,
                                             &executable, error.get()),
                       "compile with a blob", error);
    context.api().free_executable(context.backend(), executable);
}

constexpr Check kChecks[] = {
    {"signal_after_execute", check_signal_after_execute},
    {"views_are_borrowed", check_views_are_borrowed},
    {"absent_outputs", check_absent_outputs},
    {"arguments_are_read", check_arguments_are_read},
    {"no_memory_in_execute", check_no_memory_in_execute},
    {"symbolic_dims", check_symbolic_dims},
    {"host_inputs", check_host_inputs},
    {"operand_steps", check_operand_steps},
    {"data_dependent_size", check_data_dependent_size},
    {"control_flow", check_control_flow},
    {"packing", check_packing},
    {"state", check_state},
    {"profiling", check_profiling},
    {"step_names", check_step_names},
    {"custom_operator", check_custom_operator},
    {"save_load", check_save_load},
    {"preprocess", check_preprocess},
};

}  // namespace

std::span<const Check> compile_checks() {
    return kChecks;
}

}  // namespace leat::contract
