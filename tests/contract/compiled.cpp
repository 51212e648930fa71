#include "contract/compiled.h"

#include <fmt/core.h>

#include <algorithm>
#include <span>
#include <utility>

#include "backends/plugin/text_sink.h"

namespace leat::contract {
namespace {

LeatRunShape run_shape(const Shapes& shapes) {
    auto shape = plugin::made<LeatRunShape>();
    shape.symbol_count = int32_t(shapes.symbols.size());
    shape.symbols = shapes.symbols.data();
    shape.input_count = int32_t(shapes.host_inputs.size());
    shape.host_inputs = shapes.host_inputs.data();
    return shape;
}

// By step, the steps that certainly have ended when it begins.
std::vector<std::vector<bool>> ended_before(const LeatRequirements& needed) {
    const auto steps = size_t(needed.step_count);
    std::vector<std::vector<bool>> ended(steps, std::vector<bool>(steps, false));
    // Edges may be in any order: as often as there are steps is enough.
    for (size_t round = 0; round < steps; ++round) {
        for (int32_t e = 0; e < needed.edge_count; ++e) {
            const auto from = size_t(needed.edges[e].from_step);
            const auto to = size_t(needed.edges[e].to_step);
            ended[to][from] = true;
            for (size_t other = 0; other < steps; ++other) {
                ended[to][other] = ended[to][other] || ended[from][other];
            }
        }
    }
    return ended;
}

// What the backend tells of input 0.
std::span<const int32_t> steps_of_first_input(const LeatRequirements& needed) {
    const LeatChained* chained = plugin::find_chained(needed.header, LEAT_OPERAND_STEPS);
    if (chained == nullptr) {
        throw Unimplemented{"it does not tell when operands are in use"};
    }
    const auto told = plugin::read_chained<LeatOperandSteps>(chained);
    expect(told.input_count > 0 && told.output_count == needed.output_count,
           "operand steps for another number of operands");
    for (const auto& [lists, count] :
         {std::pair(told.inputs, told.input_count), std::pair(told.outputs, told.output_count)}) {
        for (const LeatStepList& list : std::span(lists, size_t(count))) {
            for (const int32_t step : std::span(list.steps, size_t(list.step_count))) {
                expect(step >= 0 && step < needed.step_count,
                       fmt::format("an operand in step {} of {}", step, needed.step_count));
            }
        }
    }
    return {told.inputs[0].steps, size_t(told.inputs[0].step_count)};
}

std::vector<std::string> step_names_of(const LeatRequirements& needed) {
    const LeatChained* chained = plugin::find_chained(needed.header, LEAT_STEP_NAMES);
    if (chained == nullptr) {
        return {};
    }
    const auto told = plugin::read_chained<LeatStepNames>(chained);
    return {told.names, told.names + told.step_count};
}

}  // namespace

Compiled::Compiled(Context& context, GraphView& graph) : context_(context) {
    const auto options = plugin::made<LeatCompileOptions>();
    PluginError error;
    const LeatCode code = context.api().compile(context.backend(), 0, graph.view(), &options,
                                                &executable_, error.get());
    if (code == kLeatUnsupported) {
        throw Unimplemented{std::string(error.text())};
    }
    Context::expect_ok(code, "compile", error);
}

Compiled::Compiled(Context& context, const std::string& saved) : context_(context) {
    PluginError error;
    Context::expect_ok(context.api().load(context.backend(), 0, saved.data(), int64_t(saved.size()),
                                          &executable_, error.get()),
                       "load", error);
}

Compiled::~Compiled() {
    context_.api().free_instance(context_.backend(), instance_);
    context_.api().free_executable(context_.backend(), executable_);
}

const LeatExecutableInfo& Compiled::info() const {
    return *context_.api().executable_info(context_.backend(), executable_);
}

std::string Compiled::save() const {
    std::string bytes;
    const LeatSink sink = text_sink(bytes);
    PluginError error;
    Context::expect_ok(context_.api().save(context_.backend(), executable_, &sink, error.get()),
                       "save", error);
    return bytes;
}

LeatPlacement Compiled::place(int64_t bytes) {
    return {context_.slab(std::max<int64_t>(bytes, 1)), 0};
}

void Compiled::pack(const GraphView& graph) {
    const LeatExecutableInfo& table = info();
    PluginError error;
    for (int32_t i = 0; i < table.constant_count; ++i) {
        constants_.push_back(place(table.constants[i]->bytes));
        Context::expect_ok(context_.api().pack(context_.backend(), executable_, i,
                                               &graph.constant_tensor(table.constants[i]->value),
                                               constants_.back(), error.get()),
                           "pack", error);
    }
}

void Compiled::place_transients(const LeatRequirements& needed, const LeatBinding* input) {
    transients_.clear();
    for (int32_t i = 0; i < needed.transient_count; ++i) {
        transients_.push_back(place(needed.transients[i]->bytes));
    }
    if (input == nullptr) {
        return;
    }
    const std::span<const int32_t> uses = steps_of_first_input(needed);
    const std::vector<std::vector<bool>> ended = ended_before(needed);
    for (int32_t i = 0; i < needed.transient_count; ++i) {
        const LeatTransient& transient = *needed.transients[i];
        bool is_after = !uses.empty() && transient.bytes <= input->bytes;
        for (const int32_t step : std::span(transient.steps, size_t(transient.step_count))) {
            for (const int32_t use : uses) {
                is_after = is_after && ended[size_t(step)][size_t(use)];
            }
        }
        if (is_after) {
            transients_[size_t(i)] = {input->slab, input->offset_bytes};
            return;
        }
    }
}

void Compiled::link(const Shapes& shapes) {
    link(shapes, nullptr);
}

void Compiled::link_over(const LeatBinding& input, const Shapes& shapes) {
    link(shapes, &input);
}

void Compiled::link(const Shapes& shapes, const LeatBinding* input) {
    context_.api().free_instance(context_.backend(), instance_);
    instance_ = nullptr;
    const LeatRunShape shape = run_shape(shapes);
    const LeatRequirements* needed = nullptr;
    PluginError error;
    Context::expect_ok(
        context_.api().requirements(context_.backend(), executable_, &shape, &needed, error.get()),
        "requirements", error);
    place_transients(*needed, input);
    step_count_ = needed->step_count;
    step_names_ = step_names_of(*needed);
    output_bytes_.assign(needed->output_bytes, needed->output_bytes + needed->output_count);
    output_is_bounded_.assign(needed->output_is_bounded,
                              needed->output_is_bounded + needed->output_count);
    context_.api().free_requirements(context_.backend(), needed);
    auto linkage = plugin::made<LeatLinkage>();
    linkage.transient_count = int32_t(transients_.size());
    linkage.transients = transients_.data();
    linkage.constant_count = int32_t(constants_.size());
    linkage.constants = constants_.data();
    Context::expect_ok(context_.api().link(context_.backend(), executable_, &shape, &linkage,
                                           &instance_, error.get()),
                       "link", error);
}

LeatPoint Compiled::execute(const std::vector<LeatBinding>& inputs,
                            const std::vector<LeatBinding>& outputs,
                            LeatProfile* profile) {
    LeatSubmission submission = context_.submission(context_.compute_queue());
    submission.profile = profile;
    PluginError error;
    Context::expect_ok(context_.api().execute(context_.backend(), instance_, &submission,
                                              inputs.data(), outputs.data(), error.get()),
                       "execute", error);
    return submission.signal;
}

bool compiles_and_frees(Context& context) {
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {4});
    const int32_t y = graph.value("y", kFloat32, {4});
    graph.node("Relu", {x}, {y});
    graph.output(y);
    const auto options = plugin::made<LeatCompileOptions>();
    LeatExecutable* executable = nullptr;
    if (context.api().compile(context.backend(), 0, graph.view(), &options, &executable, nullptr) !=
        kLeatOk) {
        return false;
    }
    const LeatRunShape shape = run_shape({});
    const LeatRequirements* needed = nullptr;
    const LeatCode code =
        context.api().requirements(context.backend(), executable, &shape, &needed, nullptr);
    if (code == kLeatOk) {
        context.api().free_requirements(context.backend(), needed);
    }
    context.api().free_executable(context.backend(), executable);
    return code == kLeatOk;
}

std::vector<LeatNodeCapability> capabilities_of(Context& context, GraphView& graph) {
    const LeatGraphView* view = graph.view();
    std::vector<LeatNodeCapability> rows(size_t(view->node_count),
                                         plugin::made<LeatNodeCapability>());
    std::vector<LeatNodeCapability*> pointers;
    pointers.reserve(rows.size());
    for (LeatNodeCapability& row : rows) {
        pointers.push_back(&row);
    }
    PluginError error;
    Context::expect_ok(
        context.api().capabilities(context.backend(), 0, view, pointers.data(), error.get()),
        "capabilities", error);
    return rows;
}

}  // namespace leat::contract
