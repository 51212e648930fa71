#include "plan/step_preparer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "graph/bodies.h"
#include "graph/part_node.h"
#include "plan/described_values.h"
#include "plan/devices/plan_transfers.h"
#include "plan/kernel_answers.h"
#include "plan/plan_constants.h"
#include "plan/regions/region.h"
#include "plan/replan_seed.h"
#include "plan/step_memory.h"
#include "plan/value_views.h"

namespace leat {
namespace {

bool has_bit(uint64_t bits, size_t i) {
    return i < 64 && ((bits >> i) & 1U) != 0;
}

// The kernel's own cost, or an estimate where it gives none.
Status complete_kernel(const PrepareContext& context, HostKernel& kernel) {
    if (kernel.cost_ns == 0) {
        LEAT_ASSIGN_OR_RETURN(kernel.cost_ns,
                              estimate_ns(context.node, context.inputs, context.outputs));
    }
    return check_kernel(kernel);
}

StepsByNode steps_of_seed(const PlanContext& context) {
    StepsByNode steps(context.graph().nodes.size(), nullptr);
    for (const PlanStep& step : context.seed->work.steps) {
        if (!step.is_transfer) {
            steps[id_of(context.graph(), *step.node)] = &step;
        }
    }
    return steps;
}

class StepPreparer {
  public:
    StepPreparer(const PlanContext& context,
                 const PlanFacts& facts,
                 const DescribedValues& values,
                 const StepsByNode& steps_before,
                 PlanWork& work)
        : context_(context),
          graph_(context.graph()),
          facts_(facts),
          values_(values),
          steps_before_(steps_before),
          work_(work),
          constants_(context, facts, work),
          step_of_node_(graph_.nodes.size(), -1),
          renames_(graph_.nodes.size()) {
        work_.constant_of_value = IdVector<ValueId, int32_t>(graph_.values.size(), -1);
        reserve();
    }

    Status run() {
        for (NodeId id{0}; size_t(id.index) < graph_.nodes.size(); ++id.index) {
            const NodeData& node = graph_.node(id);
            if (!facts_.needed[id]) {
                continue;
            }
            if (is_view(id)) {
                views_.push_back({node.outputs[0].index, node.inputs[0].index, 0});
                continue;
            }
            step_of_node_[id] = int32_t(work_.steps.size());
            if (!take_kernel_of_twin(id)) {
                Status status = prepare_step(id);
                if (!status.ok()) {
                    return std::move(status).with_node(node.label());
                }
            }
        }
        return {};
    }

    // Values that are others under another shape.
    std::vector<ValueView>& views() { return views_; }
    int64_t backend_time_ns() const { return backend_time_ns_; }

  private:
    // As much as the seed has, or else as is needed at most.
    void reserve() {
        if (const PlanWork& before = context_.seed->work; !before.steps.empty()) {
            work_.read_values = before.read_values;
            work_.args.reserve(before.args.size());
            work_.constants.reserve(before.constants.size());
            work_.steps.reserve(before.steps.size());
            work_.kernels.reserve(before.kernels.size());
            return;
        }
        size_t args = 0;
        size_t steps = 0;
        for (NodeId id{0}; size_t(id.index) < graph_.nodes.size(); ++id.index) {
            const NodeData& node = graph_.node(id);
            args += facts_.needed[id] ? node.inputs.size() + node.outputs.size() : 0;
            steps += facts_.needed[id] ? 1 : 0;
        }
        work_.args.reserve(args);
        work_.steps.reserve(steps);
        work_.kernels.reserve(steps);
    }

    // Output 0 is input 0's memory; further outputs are not wanted.
    bool is_view(NodeId id) {
        const NodeData& node = graph_.node(id);
        if (!may_rename_memory(node) || node.inputs.empty() || !node.inputs[0].valid() ||
            facts_.known[node.inputs[0]]) {
            return false;
        }
        for (size_t i = 1; i < node.outputs.size(); ++i) {
            const ValueId output = node.outputs[i];
            if (output.valid() && !facts_.known[output] && has_reader(output)) {
                return false;  // Dropout with a mask
            }
        }
        renames_[id] = renames_as_twin(id);
        if (!renames_[id]) {
            renames_[id] = renames_memory(node, values_.argument(node.inputs[0]),
                                          values_.argument(node.outputs[0]));
        }
        return *renames_[id];
    }

    // Nothing: there is no twin of such operands.
    std::optional<bool> renames_as_twin(NodeId id) const {
        const NodeId twin = facts_.twin_of(context_, id);
        const bool is_alike =
            twin.valid() &&
            values_.share_description(graph_.node(id).inputs[0], graph_.node(twin).inputs[0]) &&
            values_.share_description(graph_.node(id).outputs[0], graph_.node(twin).outputs[0]);
        return is_alike ? renames_[twin] : std::nullopt;
    }

    bool has_reader(ValueId id) {
        if (work_.read_values.empty()) {
            const GraphData::Uses uses = graph_.uses();
            work_.read_values = IdVector<ValueId, bool>(graph_.values.size(), false);
            for (ValueId value{0}; size_t(value.index) < graph_.values.size(); ++value.index) {
                const auto at = size_t(value.index);
                work_.read_values[value] = !uses.readers[at].empty() || uses.output_uses[at] > 0;
            }
        }
        return work_.read_values[id];
    }

    PlanStep step_for(NodeId id) const {
        const NodeData& node = graph_.node(id);
        PlanStep step;
        step.node = &node;
        step.first_arg = int32_t(work_.args.size());
        step.input_count = int32_t(node.inputs.size());
        step.output_count = int32_t(node.outputs.size());
        return step;
    }

    // Takes the kernel of an earlier node of this plan, if that has equal arguments.
    bool take_kernel_of_twin(NodeId id) {
        const NodeId twin = facts_.twin_of(context_, id);
        const int32_t at = twin.valid() ? step_of_node_[twin] : -1;
        if (at < 0 || work_.steps[size_t(at)].kernel->names_node ||
            !has_arguments_of(graph_.node(id), graph_.node(twin))) {
            return false;
        }
        PlanStep step = step_for(id);
        const PlanStep& other = work_.steps[size_t(at)];
        step.kernel = other.kernel;
        step.kernel_number = other.kernel_number;
        step.packed_inputs = other.packed_inputs;
        step.unaligned_inputs = other.unaligned_inputs;
        step.device = other.device;
        const auto first = size_t(other.first_arg);
        const auto count = size_t(step.input_count) + size_t(step.output_count);
        for (size_t i = first; i < first + count; ++i) {
            work_.args.push_back(TensorArg(work_.args[i]));
        }
        work_.steps.push_back(step);
        return true;
    }

    // Both have the same constants, and their values have the same shapes and strides.
    bool has_arguments_of(const NodeData& node, const NodeData& twin) {
        const auto same_value = [this](ValueId own, ValueId other) {
            return own == other ||
                   (own.valid() && other.valid() && !facts_.known[own] && !facts_.known[other] &&
                    facts_.values[own] == facts_.values[other] &&
                    graph_.value(own).layout == graph_.value(other).layout);
        };
        const auto same_output = [&](ValueId own, ValueId other) {
            const bool is_first = own == node.outputs[0];
            return same_value(own, other) &&
                   (is_first || !own.valid() || has_reader(own) == has_reader(other));
        };
        return std::equal(node.inputs.begin(), node.inputs.end(), twin.inputs.begin(),
                          twin.inputs.end(), same_value) &&
               std::equal(node.outputs.begin(), node.outputs.end(), twin.outputs.begin(),
                          twin.outputs.end(), same_output);
    }

    Status prepare_step(NodeId id) {
        const NodeData& node = graph_.node(id);
        PlanStep step = step_for(id);
        LEAT_RETURN_IF_ERROR(describe_operands(node));
        const FormerStep former = step_before(id);
        if (takes_former_kernel(node, former)) {
            const PlanStep& before = *steps_before_[id];
            step.packed_inputs = before.packed_inputs;
            step.unaligned_inputs = before.unaligned_inputs;
            LEAT_RETURN_IF_ERROR(bind_constants(node, step));
            return add_step(step, context_.seed->work.kernels[size_t(before.kernel_number)]);
        }
        const std::span<TensorArg> all(step_args_);
        PrepareContext prepare{node, all.subspan(0, node.inputs.size()),
                               all.subspan(node.inputs.size()), step_constants_, context_.weights};
        prepare.former = former;
        prepare.workers = context_.workers;
        LEAT_ASSIGN_OR_RETURN(std::unique_ptr<HostKernel> kernel, prepare_kernel(prepare, step));
        step.packed_inputs = prepare.packed_inputs;
        step.unaligned_inputs = prepare.unaligned_inputs;
        LEAT_RETURN_IF_ERROR(bind_constants(node, step));
        LEAT_RETURN_IF_ERROR(complete_kernel(prepare, *kernel));
        return add_step(step, std::move(kernel));
    }

    // True if the step in the seed has the same arguments, and its kernel lives without that plan:
    // its constants are those of the graph, which no plan computed or copied. What runs on a
    // device, or has bodies, is made for one plan.
    bool takes_former_kernel(const NodeData& node, const FormerStep& former) const {
        if (former.kernel == nullptr || node.has_bodies() || cluster_of(node) >= 0 ||
            !has_same_arguments(former)) {
            return false;
        }
        const PlanStep& before = *steps_before_[id_of(graph_, node)];
        bool has_lasting_constants = true;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            const bool is_known = id.valid() && facts_.known[id];
            const std::optional<Tensor>* const constant =
                is_known ? &graph_.value(id).constant : nullptr;
            has_lasting_constants =
                has_lasting_constants &&
                (!is_known ||
                 (constant->has_value() &&
                  (step_args_[i].data == nullptr || step_args_[i].data == (*constant)->bytes())));
        }
        return has_lasting_constants && before.node == &node && before.device == nullptr &&
               before.region == nullptr;
    }

    bool has_same_arguments(const FormerStep& former) const {
        const size_t inputs = former.inputs.size();
        const auto own = std::span(step_args_);
        return own.size() == inputs + former.outputs.size() &&
               std::equal(former.inputs.begin(), former.inputs.end(), own.begin(),
                          is_described_as) &&
               std::equal(former.outputs.begin(), former.outputs.end(),
                          own.begin() + ptrdiff_t(inputs), is_described_as);
    }

    static bool is_described_as(const TensorArg& a, const TensorArg& b) {
        return a.dtype == b.dtype && a.grows == b.grows && a.shape == b.shape &&
               std::equal(a.strides.begin(), a.strides.begin() + a.shape.rank(), b.strides.begin());
    }

    // With step_args_, to which its constants have been bound.
    Status add_step(PlanStep step, std::shared_ptr<const HostKernel> kernel) {
        step.kernel = kernel.get();
        step.kernel_number = int32_t(work_.kernels.size());
        if (kernel->shared_bytes > 0) {
            step.own_memory = int32_t(work_.own_memories.size());
            work_.own_memories.push_back({step.node, kernel->shared_bytes});
        }
        work_.kernels.push_back(std::move(kernel));
        work_.args.insert(work_.args.end(), step_args_.begin(), step_args_.end());
        work_.steps.push_back(step);
        return {};
    }

    // In step_args_ and step_constants_, with the addresses of small constants.
    Status describe_operands(const NodeData& node) {
        step_args_.clear();
        step_constants_.clear();
        for (const ValueId id : node.inputs) {
            const bool is_known = id.valid() && facts_.known[id];
            step_args_.push_back(values_.argument(id));
            step_constants_.push_back(is_known ? &facts_.known_value(graph_, id) : nullptr);
            if (is_known) {
                LEAT_ASSIGN_OR_RETURN(step_args_.back().data,
                                      constants_.aligned(id, /*only_small=*/true));
            }
        }
        for (const ValueId id : node.outputs) {
            const bool is_wanted = id.valid() && (id == node.outputs[0] || has_reader(id));
            step_args_.push_back(values_.argument(id));
            if (!is_wanted || facts_.known[id]) {
                step_args_.back().dtype = DType::kUndefined;
            }
        }
        return {};
    }

    // As the prepared kernel reads them.
    Status bind_constants(const NodeData& node, const PlanStep& step) {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            if (has_bit(step.packed_inputs, i)) {
                step_args_[i].data = nullptr;
            } else if (step_constants_[i] != nullptr && has_bit(step.unaligned_inputs, i)) {
                step_args_[i].data = const_cast<std::byte*>(constants_.of(id).bytes());
            } else if (step_constants_[i] != nullptr) {
                LEAT_ASSIGN_OR_RETURN(step_args_[i].data,
                                      constants_.aligned(id, /*only_small=*/false));
            }
        }
        return {};
    }

    Result<std::unique_ptr<HostKernel>> prepare_kernel(PrepareContext& prepare, PlanStep& step) {
        if (const int64_t cluster = cluster_of(prepare.node); cluster >= 0) {
            LEAT_RETURN_IF_ERROR(check_device_results(prepare));
            const DevicePart& device = *context_.placed.parts[size_t(cluster)];
            LEAT_ASSIGN_OR_RETURN(std::unique_ptr<DeviceStep> part,
                                  device.prepare(prepare, backend_time_ns_));
            step.device = part.get();
            prepare.unaligned_inputs |= device.streamed_inputs_low();
            return std::unique_ptr<HostKernel>(std::move(part));
        }
        if (!context_.placed.placement.has_host_steps) {
            return unsupported(
                "its result is too large to be computed with the plan, and no device takes it");
        }
        const auto node = size_t(id_of(graph_, prepare.node).index);
        const Backend& host =
            context_.placed.hosts.empty() ? *context_.placed.host : *context_.placed.hosts[node];
        if (has_planned_bodies(prepare.node) && host.plans_bodies()) {
            LEAT_ASSIGN_OR_RETURN(std::unique_ptr<Region> region,
                                  prepare_region(prepare, host, step));
            if (region != nullptr) {
                return std::unique_ptr<HostKernel>(std::move(region));
            }
        }
        return host.prepare(prepare);
    }

    // Devices write to memory of a size that the plan knows.
    Status check_device_results(const PrepareContext& prepare) const {
        for (size_t i = 0; i < prepare.outputs.size(); ++i) {
            if (prepare.outputs[i].grows) {
                return unsupported("only a run knows how long result '{}' is",
                                   graph_.value(prepare.node.outputs[i]).name)
                    .with_hint("let the host run this node: pin it, or list 'cpu' first");
            }
        }
        return {};
    }

    Result<std::unique_ptr<Region>> prepare_region(const PrepareContext& prepare,
                                                   const Backend& host,
                                                   PlanStep& step) {
        const NodeData& node = prepare.node;
        const std::vector<const ValueFact*> facts =
            operand_facts(node, [this](ValueId id) -> const ValueFact& { return facts_.of(id); });
        const PlanStep* const before = steps_before_[id_of(graph_, node)];
        LEAT_ASSIGN_OR_RETURN(std::unique_ptr<Region> region,
                              Region::make(context_, prepare, facts, host,
                                           before == nullptr ? nullptr : before->region));
        if (region != nullptr) {
            step.region = region.get();
        }
        return region;
    }

    // The node's step in the seed, if it has the same constants: those that plans compute from
    // shapes may differ.
    FormerStep step_before(NodeId id) const {
        const PlanStep* step = steps_before_[id];
        if (step == nullptr) {
            return {};
        }
        const PlanFacts& before = context_.seed->facts;
        for (const ValueId input : graph_.node(id).inputs) {
            if (input.valid() && (before.known[input] || facts_.known[input]) &&
                !facts_.is_as_in(before, input)) {
                return {};
            }
        }
        const PlanWork& work = context_.seed->work;
        return {step->kernel, work.inputs_of(*step), work.outputs_of(*step)};
    }

    const PlanContext& context_;
    const GraphData& graph_;
    const PlanFacts& facts_;
    const DescribedValues& values_;
    const StepsByNode& steps_before_;
    PlanWork& work_;
    PlanConstants constants_;
    std::vector<ValueView> views_;
    IdVector<NodeId, int32_t> step_of_node_;         // -1: none
    IdVector<NodeId, std::optional<bool>> renames_;  // renames_memory(); nothing: nobody has asked
    int64_t backend_time_ns_ = 0;
    // For the step that is being prepared. Members, so that each step uses their memory again.
    std::vector<TensorArg> step_args_;
    std::vector<const Tensor*> step_constants_;
};

}  // namespace

Result<PreparedSteps> prepare_steps(const PlanContext& context,
                                    const PlanFacts& facts,
                                    int32_t copies_ahead) {
    LEAT_ASSIGN_OR_RETURN(const DescribedValues values, DescribedValues::make(context, facts));
    PreparedSteps prepared;
    PlanWork& work = prepared.work;
    work.copies_ahead = copies_ahead;
    work.largest_result_bytes = values.largest_result_bytes();
    // Kernels prepare tables of the sizes of their results: those of a plan from a file are to be
    // what it was made for.
    const std::optional<SolvedChoice>& solved = context.seed->solved;
    if (solved && work.largest_result_bytes > solved->largest_result_bytes) {
        return parse_error("a result has {} bytes, in a plan for {} at most",
                           work.largest_result_bytes, solved->largest_result_bytes);
    }
    const StepsByNode steps_before = steps_of_seed(context);
    StepPreparer preparer(context, facts, values, steps_before, work);
    LEAT_RETURN_IF_ERROR(preparer.run());
    prepared.backend_time_ns = preparer.backend_time_ns();
    prepared.problem.views = std::move(preparer.views());
    if (!context.placed.parts.empty()) {
        add_transfers(context, facts, values, prepared.problem.views, steps_before, work);
    }
    describe_memory(context, facts, values, work, prepared.problem);
    return prepared;
}

}  // namespace leat
