#include "backends/host_device/host_program.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "backends/lowered/failure.h"
#include "base/round_up.h"
#include "base/transformed.h"
#include "memory/domains/weight_store.h"

namespace leat::host_device {
namespace {

constexpr int64_t kScratchAlignmentBytes = 64;  // of each worker's; see KernelArgs

// Values that are known by now, by input: constants, and what follows from shapes.
std::vector<const Tensor*> known_inputs(const NodeData& node, const std::vector<ValueFact>& facts) {
    std::vector<const Tensor*> known;
    known.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) {
        const bool is_known = id.valid() && facts[size_t(id.index)].value;
        known.push_back(is_known ? &*facts[size_t(id.index)].value : nullptr);
    }
    return known;
}

std::unique_ptr<HostKernel> prepare_kernel(const NodeData& node,
                                           const lowered::LoweredStep& step,
                                           const std::vector<ValueFact>& facts,
                                           const DeviceContext& context) {
    const std::vector<const Tensor*> known = known_inputs(node, facts);
    const PlacedWeights weights(context.weights);
    PrepareContext prepare{node, step.inputs, step.outputs, known, weights};
    Result<std::unique_ptr<HostKernel>> kernel = context.kernels.prepare(prepare);
    if (!kernel.ok()) {
        lowered::throw_if(Status(kernel.error()).with_node(node.label()));
    }
    return *std::move(kernel);
}

void add_scratch(HostProgram& program, size_t index, const TileTeam& team) {
    ProgramStep& step = program.steps[index];
    if (step.kernel == nullptr || step.kernel->scratch_bytes == 0) {
        return;
    }
    step.scratch_stride = round_up(step.kernel->scratch_bytes, kScratchAlignmentBytes);
    step.scratch = int32_t(program.graph.transients.size());
    program.graph.transients.push_back({team.workers_for(*step.kernel) * step.scratch_stride,
                                        std::span(program.form->steps).subspan(index, 1)});
}

std::vector<LeatStepList> rows_of(std::span<const std::vector<int32_t>> lists) {
    return transformed(lists, [](const std::vector<int32_t>& steps) {
        return LeatStepList{int32_t(steps.size()), steps.data()};
    });
}

std::shared_ptr<const HostForm> make_form(std::shared_ptr<const lowered::LoweredForm> lowered,
                                          const GraphData& graph,
                                          const queues::Plants& plants) {
    auto form = std::make_shared<HostForm>();
    for (const NodeId id : lowered->nodes) {
        const auto step = int32_t(form->steps.size());
        form->steps.push_back(step);
        form->step_names.push_back(graph.node(id).label());
        if (step > 0) {
            form->edges.push_back({step - 1, step});
        }
    }
    form->step_name_rows =
        transformed(form->step_names, [](const std::string& name) { return name.c_str(); });
    form->input_rows = rows_of(lowered->input_steps);
    form->output_rows = rows_of(lowered->output_steps);
    if (plants.has(queues::Plant::kEndsInputsEarly)) {
        for (LeatStepList& steps : form->input_rows) {
            steps.step_count = std::min(steps.step_count, 1);
        }
    }
    form->lowered = std::move(lowered);
    return form;
}

}  // namespace

int64_t device_ticks(const DeviceContext& context) {
    return (context.host.monotonic_ns() - context.epoch_ns) / kNsPerTick;
}

Cost work_of_node(const NodeData& node,
                  std::span<const TensorArg> inputs,
                  std::span<const TensorArg> outputs) {
    // Operators of programs, and NonZero.
    return node.def == nullptr || is_non_zero(node) ? plain_work(inputs, outputs)
                                                    : work_of(node, inputs, outputs);
}

std::shared_ptr<const HostProgram> make_program(const lowered::ImportedGraph& graph,
                                                const LeatRunShape& shape,
                                                const DeviceContext& context,
                                                const HostProgram* former) {
    auto program = std::make_shared<HostProgram>();
    program->graph = lowered::lower(graph, context.operators, shape, {},
                                    former == nullptr ? nullptr : former->graph.form);
    const std::shared_ptr<const lowered::LoweredForm>& form = program->graph.form;
    program->form = former != nullptr && former->form->lowered == form
                        ? former->form
                        : make_form(form, graph.graph, context.plants);
    const std::vector<lowered::LoweredStep>& steps = program->graph.steps;
    program->steps.reserve(steps.size());
    for (size_t i = 0; i < steps.size(); ++i) {
        const NodeData& node = graph.graph.node(steps[i].node);
        ProgramStep& step = program->steps.emplace_back();
        if (form->is_own[size_t(steps[i].node.index)]) {
            step.custom = context.operators.kernel_of(node);
            if (!step.custom && !is_non_zero(node)) {
                throw plugin::Error(kLeatNotFound,
                                    fmt::format("{} has no kernel here", node.label()));
            }
        }
        const bool has_kernel =
            !step.custom && !is_non_zero(node) && node.def->reference != nullptr;
        if (has_kernel) {
            step.kernel = prepare_kernel(node, steps[i], program->graph.facts, context);
        }
        step.work = work_of_node(node, steps[i].inputs, steps[i].outputs);
        add_scratch(*program, i, context.team);
    }
    return program;
}

}  // namespace leat::host_device
