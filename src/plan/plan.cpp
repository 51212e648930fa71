// Above 800 lines: PlanBuilder is one recipe, all of whose steps share its state.
#include "plan/plan.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/round_up.h"
#include "base/whole_ns.h"
#include "graph/node_twins.h"
#include "graph/part_node.h"
#include "memory/memory_planner.h"
#include "plan/forecast_order.h"
#include "plan/kernel_answers.h"
#include "plan/layout_choice.h"
#include "plan/plan_devices.h"
#include "plan/plan_transfers.h"
#include "plan/step_memory.h"
#include "plan/step_program.h"
#include "plan/value_views.h"

namespace leat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kConstantAlignmentBytes = 64;
// Constants up to this size are copied when they are not aligned in the file, whoever reads them.
constexpr int64_t kSmallConstantBytes = 64 << 10;

// All orders between steps that hold were there to rely on.
bool has_whole_order(const Plan& plan) {
    const bool has_waits_of_ends = !plan.layout.known_waits.empty();
    return plan.layout.proved->order.is_whole() && plan.layout.moments->order.is_whole() &&
           (!has_waits_of_ends || plan.planner->data_order().is_whole());
}

class PlanBuilder {
  public:
    PlanBuilder(const PlanContext& context, PlanKey key, int32_t copies_ahead = kCopiesAhead[0])
        : context_(context), graph_(context.graph), plan_(std::make_shared<Plan>()) {
        plan_->key = std::move(key);
        plan_->copies_ahead = copies_ahead;
    }

    Result<std::shared_ptr<Plan>> build(std::span<const ValueFact> input_facts) {
        const auto start = Clock::now();
        LEAT_RETURN_IF_ERROR(prepare(input_facts));
        const auto start_of_memory = Clock::now();
        LEAT_ASSIGN_OR_RETURN(plan_->planner, make_planner());
        order_steps(*plan_->planner);
        LEAT_ASSIGN_OR_RETURN(LayoutChoice choice, choose_layout(*plan_->planner));
        LEAT_RETURN_IF_ERROR(place_device_memory(graph_, choice.layout, device_sharing(), *plan_));
        plan_->report.memory_time_ns = nanoseconds_since(start_of_memory);
        plan_->is_traced = context_.is_traced;
        LEAT_ASSIGN_OR_RETURN(plan_->program, make_program(choice.layout, plan_->tasks));
        plan_->layout = std::move(choice.layout);
        place_values();
        fill_arguments();
        fill_outputs();
        fill_report(nanoseconds_since(start));
        return plan_;
    }

    Result<std::vector<MemoryTradeOff>> trade_offs(std::span<const ValueFact> input_facts) {
        LEAT_RETURN_IF_ERROR(prepare(input_facts));
        const MemoryPlanner planner(std::move(problem_));
        order_steps(planner);
        LEAT_ASSIGN_OR_RETURN(const std::vector<LayoutChoice> choices,
                              LayoutChooser(planner).all());
        std::vector<MemoryTradeOff> rows;
        rows.reserve(choices.size());
        for (const LayoutChoice& choice : choices) {
            std::vector<StepTask> tasks;
            LEAT_ASSIGN_OR_RETURN(const scheduler::Program program,
                                  make_program(choice.layout, tasks));
            const MemoryLayout& layout = choice.layout;
            rows.push_back({int(choice.run_ahead), layout.plan.height_bytes,
                            layout.plan.lower_bound_bytes, layout.added_waits,
                            program.stats().parallel_ns});
        }
        return rows;
    }

  private:
    // From shapes to steps with kernels.
    Status prepare(std::span<const ValueFact> input_facts) {
        const auto start = Clock::now();
        static const SharedFacts kNoFacts;
        static const NodeTwins kNoTwins;
        const Plan* former = context_.former;
        find_twins();
        // Shapes were checked already; those of a shard may be other than the declared ones.
        InferenceOptions options;
        options.checks_extents = false;
        LEAT_ASSIGN_OR_RETURN(plan_->facts,
                              infer_graph_again(context_.whole, input_facts, options,
                                                {former == nullptr ? kNoFacts : former->facts,
                                                 former == nullptr ? kNoTwins : *plan_->twins}));
        find_known_values();
        plan_->report.inference_time_ns = nanoseconds_since(start);
        find_needed_nodes();
        if (context_.solved != nullptr) {
            LEAT_RETURN_IF_ERROR(check_sources());
        }
        LEAT_RETURN_IF_ERROR(check_facts());
        const auto start_of_kernels = Clock::now();
        LEAT_RETURN_IF_ERROR(prepare_steps());
        if (!context_.parts.empty()) {
            add_transfers(
                graph_,
                PartStreams(context_.streams, context_.part_of_node, context_.parts.size(),
                            plan_->copies_ahead),
                [this](ValueId id) { return argument(id); }, problem_.views, former_parts(),
                *plan_);
        }
        plan_->report.kernel_time_ns = nanoseconds_since(start_of_kernels);
        describe_memory();
        // Outputs are described again: all others would fill memory while the plan is made.
        described_at_.assign(described_at_.size(), -1);
        std::vector<TensorArg>().swap(described_);
        return {};
    }

    // Made for the second plan, as the first one has no use for them.
    void find_twins() {
        if (const Plan* former = context_.former; former != nullptr) {
            plan_->twins = former->twins != nullptr
                               ? former->twins
                               : std::make_shared<const NodeTwins>(
                                     find_node_twins(context_.whole, former->facts));
        }
    }

    void find_known_values() {
        const Plan* former = context_.former;
        std::vector<bool>& known = plan_->known;
        known.resize(graph_.values.size());
        for (size_t i = 0; i < known.size(); ++i) {
            const bool is_as_before = former != nullptr && plan_->facts[i] == former->facts[i];
            known[i] = is_as_before ? bool(former->known[i])
                                    : graph_.values[i].constant.has_value() ||
                                          plan_->facts[i]->value.has_value();
        }
    }

    void find_needed_nodes() {
        const Plan* former = context_.former;
        plan_->needed = former != nullptr && former->known == plan_->known
                            ? former->needed
                            : needed_nodes(graph_, plan_->known);
    }

    const ValueFact& fact(ValueId id) const { return *plan_->facts[size_t(id.index)]; }
    bool is_known(ValueId id) const { return plan_->known[size_t(id.index)]; }
    const Tensor& known_value(ValueId id) const {
        const ValueData& data = graph_.value(id);
        return data.constant ? *data.constant : *fact(id).value;
    }

    // Of a graph that was read from a file: what was to be known is.
    Status check_sources() const {
        std::vector<bool> has_source(graph_.values.size(), false);
        for (const ValueId id : graph_.inputs) {
            has_source[size_t(id.index)] = true;
        }
        const auto is_there = [&](ValueId id) {
            return !id.valid() || is_known(id) || has_source[size_t(id.index)] ||
                   graph_.value(id).producer.valid();
        };
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const std::vector<ValueId>& inputs = graph_.nodes[n].inputs;
            if (plan_->needed[n] && !std::all_of(inputs.begin(), inputs.end(), is_there)) {
                return parse_error("{} reads what nobody computes", graph_.nodes[n].label());
            }
        }
        return std::all_of(graph_.outputs.begin(), graph_.outputs.end(), is_there)
                   ? Status()
                   : parse_error("nobody computes some output");
    }

    // Every value that a step touches must be a tensor of fixed shape.
    Status check_facts() {
        SizeSum bytes;
        for (const ValueId id : graph_.inputs) {
            LEAT_RETURN_IF_ERROR(bytes.add(fact(id).type, graph_.value(id).name));
        }
        described_at_.assign(graph_.values.size(), -1);
        described_.reserve(graph_.nodes.size() + graph_.inputs.size());
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const NodeData& node = graph_.nodes[n];
            for (ValueId id : node.outputs) {
                if (!plan_->needed[n] || !id.valid()) {
                    continue;
                }
                Status status = bytes.add(fact(id).type, graph_.value(id).name);
                if (!status.ok()) {
                    return std::move(status).with_node(node.label());
                }
                if (describe_as_twin(n, id)) {
                    continue;
                }
                const TypeInfo& type = fact(id).type;
                const std::optional<Shape> shape = type.fixed_shape();
                if (!shape) {
                    return unsupported("the shape of result '{}' depends on computed data",
                                       graph_.value(id).name)
                        .with_node(node.label())
                        .with_found(type.to_string())
                        .with_needed("a shape that follows from the inputs' shapes and values");
                }
                if (!is_known(id)) {
                    describe(id, *shape);
                }
            }
        }
        return check_sizes();
    }

    // Kernels prepare tables of the sizes of their results: those of a plan from a file are to be
    // what it was made for.
    Status check_sizes() {
        for (const TensorArg& arg : described_) {
            const std::optional<int64_t> bytes =
                storage_bytes(arg.dtype, arg.shape.element_count());
            plan_->largest_result_bytes = std::max(
                plan_->largest_result_bytes,
                bytes.value_or(arg.dtype == DType::kString ? 0
                                                           : std::numeric_limits<int64_t>::max()));
        }
        if (context_.solved != nullptr &&
            plan_->largest_result_bytes > context_.solved->largest_result_bytes) {
            return parse_error("a result has {} bytes, in a plan for {} at most",
                               plan_->largest_result_bytes, context_.solved->largest_result_bytes);
        }
        return {};
    }

    // An earlier node that was like this one when twins were looked for; -1: none.
    int32_t twin_of(size_t node) const {
        const bool has_twins = plan_->twins != nullptr && &graph_ == &context_.whole;
        return has_twins ? (*plan_->twins)[node] : -1;
    }

    // True if the result is described already, as it is to steps what its twin's is.
    bool describe_as_twin(size_t node, ValueId id) {
        const int32_t twin = twin_of(node);
        if (twin < 0 || is_known(id)) {
            return false;
        }
        const ValueId other =
            graph_.nodes[size_t(twin)].outputs[size_t(graph_.value(id).output_index)];
        const int32_t at = described_at_[size_t(other.index)];
        if (at < 0 || plan_->facts[size_t(id.index)] != plan_->facts[size_t(other.index)] ||
            graph_.value(id).layout != graph_.value(other).layout) {
            return false;
        }
        described_at_[size_t(id.index)] = at;
        return true;
    }

    // A value that is not known, as steps see it.
    TensorArg& describe(ValueId id, const Shape& shape) {
        described_at_[size_t(id.index)] = int32_t(described_.size());
        TensorArg& arg = described_.emplace_back();
        arg.dtype = fact(id).type.dtype;
        arg.shape = shape;
        arg.strides = graph_.value(id).layout == Layout::kChannelsLast
                          ? channels_last_strides(shape)
                          : row_major_strides(shape);
        return arg;
    }

    // A constant of the plan for a known value; made once.
    int32_t constant_index(ValueId id) {
        int32_t& index = plan_->constant_of_value[size_t(id.index)];
        if (index < 0) {
            index = int32_t(plan_->constants.size());
            const Tensor* former = former_constant(id);
            plan_->constants.push_back(former == nullptr ? known_value(id) : *former);
        }
        return index;
    }

    // The constant of the former plan, which may be an aligned copy already; null: there was none.
    const Tensor* former_constant(ValueId id) const {
        const auto at = size_t(id.index);
        if (context_.former == nullptr || plan_->facts[at] != context_.former->facts[at]) {
            return nullptr;
        }
        const int32_t index = context_.former->constant_of_value[at];
        return index < 0 ? nullptr : &context_.former->constants[size_t(index)];
    }

    // Output 0 is input 0's memory; further outputs are not wanted.
    bool is_view(size_t n) {
        const NodeData& node = graph_.nodes[n];
        if (!may_rename_memory(node) || node.inputs.empty() || !node.inputs[0].valid() ||
            is_known(node.inputs[0])) {
            return false;
        }
        for (size_t i = 1; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid() && !is_known(node.outputs[i]) &&
                has_reader(node.outputs[i])) {
                return false;  // Dropout with a mask
            }
        }
        renames_[n] = renames_as_twin(n);
        if (!renames_[n]) {
            const TensorArg input = argument(node.inputs[0]);
            renames_[n] = renames_memory(node, input, argument(node.outputs[0]));
        }
        return *renames_[n];
    }

    // Nothing: there is no twin of such operands.
    std::optional<bool> renames_as_twin(size_t n) const {
        const int32_t twin = twin_of(n);
        const auto same_operand = [this](ValueId own, ValueId other) {
            const int32_t at = own.valid() ? described_at_[size_t(own.index)] : -1;
            return at >= 0 && other.valid() && at == described_at_[size_t(other.index)];
        };
        const bool is_alike =
            twin >= 0 &&
            same_operand(graph_.nodes[n].inputs[0], graph_.nodes[size_t(twin)].inputs[0]) &&
            same_operand(graph_.nodes[n].outputs[0], graph_.nodes[size_t(twin)].outputs[0]);
        return is_alike ? renames_[size_t(twin)] : std::nullopt;
    }

    bool has_reader(ValueId id) const {
        if (plan_->uses == nullptr) {
            plan_->uses = std::make_shared<const GraphData::Uses>(graph_.uses());
        }
        const GraphData::Uses& uses = *plan_->uses;
        return !uses.readers[size_t(id.index)].empty() || uses.output_uses[size_t(id.index)] > 0;
    }

    TensorArg argument(ValueId id) {
        if (!id.valid()) {
            return {};
        }
        if (is_known(id)) {
            const Tensor& value = known_value(id);
            return row_major_arg(value.dtype(), value.shape(), nullptr);
        }
        return description(id);
    }

    const TensorArg& description(ValueId id) {
        const int32_t at = described_at_[size_t(id.index)];
        return at >= 0 ? described_[size_t(at)]
                       : describe(id, fact(id).type.fixed_shape().value_or(Shape()));
    }

    // The constant's address, with an aligned copy made if need be.
    Status bind_constant(ValueId id, TensorArg& arg, bool only_small) {
        const int32_t index = constant_index(id);
        Tensor& tensor = plan_->constants[size_t(index)];
        if (!tensor.is_aligned()) {
            if (only_small && tensor.byte_count() > kSmallConstantBytes) {
                return {};
            }
            LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const std::byte> copy,
                                  context_.weights.get_or_pack(
                                      tensor, "plain", tensor.byte_count(),
                                      [](const Tensor& source, std::byte* packed) {
                                          std::copy_n(source.bytes(), source.byte_count(), packed);
                                      }));
            const std::byte* data = copy.get();
            tensor = Tensor::view(tensor.dtype(), tensor.shape(), data, std::move(copy));
        }
        arg.data = const_cast<std::byte*>(tensor.bytes());
        return {};
    }

    Status prepare_steps() {
        find_former_steps();
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const NodeData& node = graph_.nodes[n];
            if (plan_->needed[n] && is_view(n)) {
                problem_.views.push_back({node.outputs[0].index, node.inputs[0].index, 0});
            } else if (plan_->needed[n]) {
                step_of_node_[n] = int32_t(plan_->steps.size());
                LEAT_RETURN_IF_ERROR(take_kernel_of_twin(n) ? Status() : prepare_step(node));
            }
        }
        return {};
    }

    static bool has_bit(uint64_t bits, size_t i) { return i < 64 && ((bits >> i) & 1U) != 0; }

    PlanStep step_for(const NodeData& node) const {
        PlanStep step;
        step.node = &node;
        step.first_arg = int32_t(plan_->args.size());
        step.input_count = int32_t(node.inputs.size());
        step.output_count = int32_t(node.outputs.size());
        return step;
    }

    // What a node with equal arguments was given earlier in this plan.
    bool take_kernel_of_twin(size_t n) {
        const int32_t twin = twin_of(n);
        const int32_t at = twin < 0 ? -1 : step_of_node_[size_t(twin)];
        if (at < 0 || plan_->steps[size_t(at)].kernel->names_node ||
            !has_arguments_of(graph_.nodes[n], graph_.nodes[size_t(twin)])) {
            return false;
        }
        PlanStep step = step_for(graph_.nodes[n]);
        const PlanStep& other = plan_->steps[size_t(at)];
        step.kernel = other.kernel;
        step.device = other.device;
        for (const ValueId id : step.node->inputs) {
            if (id.valid() && !is_known(id)) {
                (void)description(id);
            }
        }
        const auto first = size_t(other.first_arg);
        const auto count = size_t(step.input_count) + size_t(step.output_count);
        for (size_t i = first; i < first + count; ++i) {
            plan_->args.push_back(TensorArg(plan_->args[i]));
        }
        plan_->steps.push_back(step);
        return true;
    }

    // The same constants, and values of the same shapes and strides.
    bool has_arguments_of(const NodeData& node, const NodeData& twin) const {
        const auto same_value = [this](ValueId own, ValueId other) {
            return own == other ||
                   (own.valid() && other.valid() && !is_known(own) && !is_known(other) &&
                    plan_->facts[size_t(own.index)] == plan_->facts[size_t(other.index)] &&
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

    Status prepare_step(const NodeData& node) {
        PlanStep step = step_for(node);
        std::vector<TensorArg>& args = step_args_;
        std::vector<const Tensor*>& constants = step_constants_;
        args.clear();
        constants.clear();
        for (ValueId id : node.inputs) {
            args.push_back(argument(id));
            constants.push_back(id.valid() && is_known(id) ? &known_value(id) : nullptr);
            if (constants.back() != nullptr) {
                LEAT_RETURN_IF_ERROR(bind_constant(id, args.back(), /*only_small=*/true));
            }
        }
        for (ValueId id : node.outputs) {
            const bool is_wanted = id.valid() && (id == node.outputs[0] || has_reader(id));
            args.push_back(argument(id));
            if (!is_wanted || is_known(id)) {
                args.back().dtype = DType::kUndefined;
            }
        }
        const std::span<TensorArg> all(args);
        PrepareContext prepare{node, all.subspan(0, node.inputs.size()),
                               all.subspan(node.inputs.size()), constants, context_.weights};
        prepare.former = former_step(node);
        Result<std::unique_ptr<HostKernel>> kernel = prepare_kernel(prepare, step);
        if (!kernel.ok()) {
            return std::move(kernel).error().with_node(node.label());
        }
        HostKernel& prepared = **kernel;
        step.kernel = &prepared;
        plan_->kernels.push_back(std::move(kernel).value());
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if (has_bit(prepare.packed_inputs, i)) {
                args[i].data = nullptr;
            } else if (constants[i] != nullptr && has_bit(prepare.unaligned_inputs, i)) {
                const Tensor& tensor = plan_->constants[size_t(constant_index(node.inputs[i]))];
                args[i].data = const_cast<std::byte*>(tensor.bytes());
            } else if (constants[i] != nullptr) {
                LEAT_RETURN_IF_ERROR(bind_constant(node.inputs[i], args[i], /*only_small=*/false));
            }
        }
        if (Status status = complete(prepare, prepared); !status.ok()) {
            return std::move(status).with_node(node.label());
        }
        plan_->args.insert(plan_->args.end(), args.begin(), args.end());
        plan_->steps.push_back(step);
        return {};
    }

    Result<std::unique_ptr<HostKernel>> prepare_kernel(PrepareContext& context,
                                                       PlanStep& step) const {
        if (const int64_t cluster = cluster_of(context.node); cluster >= 0) {
            LEAT_ASSIGN_OR_RETURN(
                std::unique_ptr<DeviceStep> part,
                context_.parts[size_t(cluster)]->prepare(context, plan_->report.backend_time_ns));
            step.device = part.get();
            context.unaligned_inputs |= context_.parts[size_t(cluster)]->streamed_inputs_low();
            return std::unique_ptr<HostKernel>(std::move(part));
        }
        if (!context_.has_host_steps) {
            return unsupported(
                "its result is too large to be computed with the plan, and no device takes it");
        }
        const auto node = size_t(&context.node - graph_.nodes.data());
        const Backend& host = context_.hosts.empty() ? context_.backend : *context_.hosts[node];
        return host.prepare(context);
    }

    // And makes room for as much as there was.
    void find_former_steps() {
        former_steps_.assign(graph_.nodes.size(), nullptr);
        step_of_node_.assign(graph_.nodes.size(), -1);
        renames_.assign(graph_.nodes.size(), std::nullopt);
        plan_->constant_of_value.assign(graph_.values.size(), -1);
        if (context_.former == nullptr) {
            reserve_steps();
        } else {
            plan_->uses = context_.former->uses;
            plan_->args.reserve(context_.former->args.size());
            plan_->constants.reserve(context_.former->constants.size());
            plan_->steps.reserve(context_.former->steps.size());
            plan_->kernels.reserve(context_.former->kernels.size());
            for (const PlanStep& step : context_.former->steps) {
                if (!step.is_transfer) {
                    former_steps_[size_t(step.node - graph_.nodes.data())] = &step;
                }
            }
        }
    }

    void reserve_steps() {
        size_t args = 0;
        size_t steps = 0;
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const NodeData& node = graph_.nodes[n];
            args += plan_->needed[n] ? node.inputs.size() + node.outputs.size() : 0;
            steps += plan_->needed[n] ? 1 : 0;
        }
        plan_->args.reserve(args);
        plan_->steps.reserve(steps);
        plan_->kernels.reserve(steps);
    }

    FormerParts former_parts() const {
        const Plan* former = context_.former;
        return former == nullptr
                   ? FormerParts{}
                   : FormerParts{&former->devices, former_steps_, former->steps.size()};
    }

    // The node's step in the former plan, if it has the same constants: what a plan computes from
    // shapes may differ from plan to plan.
    FormerStep former_step(const NodeData& node) const {
        const PlanStep* step = former_steps_[size_t(&node - graph_.nodes.data())];
        if (step == nullptr) {
            return {};
        }
        const auto first = size_t(step->first_arg);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            const bool was_known =
                context_.former->arg_storage[first + i].kind == Storage::Kind::kConstant;
            if (id.valid() && (was_known || is_known(id)) &&
                plan_->facts[size_t(id.index)] != context_.former->facts[size_t(id.index)]) {
                return {};
            }
        }
        const std::span<const TensorArg> args = std::span(context_.former->args).subspan(first);
        return {step->kernel, args.first(node.inputs.size()),
                args.subspan(node.inputs.size(), node.outputs.size())};
    }

    // What the kernel says of itself, with a cost where it says none.
    static Status complete(const PrepareContext& context, HostKernel& kernel) {
        if (kernel.cost_ns == 0) {
            LEAT_ASSIGN_OR_RETURN(kernel.cost_ns,
                                  estimate_ns(context.node, context.inputs, context.outputs));
        }
        return check_kernel(kernel);
    }

    void describe_memory() {
        problem_.alignment_bytes = kConstantAlignmentBytes;
        problem_.values.resize(graph_.values.size());
        for (size_t i = 0; i < graph_.values.size(); ++i) {
            MemoryValue& value = problem_.values[i];
            const int32_t at = described_at_[i];
            const bool is_off_host =
                !plan_->devices.is_off_host.empty() && plan_->devices.is_off_host[i];
            value.is_placed = !plan_->known[i] && !is_off_host;
            // What steps do not touch takes no place.
            if (at >= 0 && value.is_placed) {
                const TensorArg& arg = described_[size_t(at)];
                value.is_placed = arg.dtype != DType::kString;
                value.size_bytes =
                    value.is_placed
                        ? storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0)
                        : 1;
            } else {
                value.size_bytes = value.is_placed ? 0 : 1;
            }
        }
        for (const ValueId id : graph_.inputs) {
            problem_.values[size_t(id.index)].is_placed = false;
        }
        for (const ValueId id : graph_.outputs) {
            problem_.values[size_t(id.index)].is_kept = true;
        }
        for (MemoryValue& value : problem_.values) {
            value.is_kept = value.is_kept || context_.is_serial;
        }
        for (const DeviceMemory& memory : plan_->devices.memories) {
            if (memory.is_arena) {
                problem_.alignment_bytes =
                    std::max(problem_.alignment_bytes, memory.part->domain().alignment_bytes);
            }
        }
        for (const DeviceValue& value : plan_->devices.values) {
            describe_device_value(value);
        }
        problem_.steps.reserve(plan_->steps.size());
        for (const PlanStep& step : plan_->steps) {
            problem_.steps.push_back(describe_step(*plan_, step));
        }
    }

    // Outside of the arena its uses order steps, and its place is the device's.
    void describe_device_value(const DeviceValue& value) {
        MemoryValue& own = problem_.values.emplace_back();
        own.is_placed = plan_->devices.memories[size_t(value.memory)].is_arena;
        own.size_bytes = own.is_placed ? value.size_bytes : 1;
        own.is_kept = own.is_placed && context_.is_serial;
        if (own.is_placed) {
            problem_.alignment_bytes = std::max(problem_.alignment_bytes, value.alignment_bytes);
        }
    }

    Result<std::shared_ptr<const MemoryPlanner>> make_planner() {
        if (context_.solved != nullptr) {
            return MemoryPlanner::restore(std::move(problem_), context_.solved->layout);
        }
        const Plan* former = context_.former;
        return former == nullptr
                   ? std::make_shared<const MemoryPlanner>(std::move(problem_))
                   : std::make_shared<const MemoryPlanner>(std::move(problem_), *former->planner);
    }

    // Leaves out the steps that became views.
    void order_steps(const MemoryPlanner& planner) {
        std::vector<PlanStep> ordered;
        ordered.reserve(planner.order().size());
        for (const int32_t index : planner.order()) {
            ordered.push_back(plan_->steps[size_t(index)]);
        }
        plan_->steps = std::move(ordered);
        has_clock_ = !backends_with_clock(plan_->devices).empty();
        for (PlanStep& step : plan_->steps) {
            const HostKernel& kernel = *step.kernel;
            step.cost_ns = kernel.cost_ns;
            if (!context_.cost_factors.empty() && !step.is_transfer) {
                const auto node = size_t(step.node - graph_.nodes.data());
                step.cost_ns =
                    std::min(step.cost_ns * context_.cost_factors[node], kMostEstimatedNs);
            }
            step.virtual_ns = virtual_ns_of(step);
            plan_->scratch_bytes = std::max(
                plan_->scratch_bytes, round_up(kernel.scratch_bytes, kConstantAlignmentBytes));
            if (kernel.is_reference) {
                plan_->reference_kernels.push_back(step.node->label());
            }
        }
        // On a virtual clock transfers that overlap each other take no longer than one: what costs
        // forecast.
        overlaps_devices_ =
            !context_.is_serial && (has_clock_ || overlaps_devices(*plan_, planner.data_order()));
    }

    // All workers divide a step; a copy into the arena is one's work.
    int64_t virtual_ns_of(const PlanStep& step) const {
        if (step.is_transfer && has_clock_ && is_in_arena(step)) {
            return int64_t(whole_ns(step.cost_ns));
        }
        if (step.device != nullptr || !has_clock_) {
            return 0;
        }
        const std::optional<double> foreseen = context_.order == nullptr
                                                   ? std::nullopt
                                                   : context_.order->host_ns(step, context_.whole);
        return int64_t(whole_ns(foreseen.value_or(step.cost_ns / context_.workers)));
    }

    bool is_in_arena(const PlanStep& step) const {
        return plan_->devices.memory_of(plan_->devices.uses[size_t(step.device_use)]).is_arena;
    }

    DeviceSharing device_sharing() const {
        return {context_.is_serial, context_.memory_limit.requests};
    }

    Result<LayoutChoice> choose_layout(const MemoryPlanner& planner) {
        plan_->report.serial_bound_bytes = planner.peak_bytes();
        const LimitedMemory besides{context_.weights.packed_bytes(),
                                    plan_->scratch_bytes * context_.workers};
        LayoutWish wish;
        wish.workers = context_.workers;
        wish.limit_bytes = arena_limit(context_.memory_limit, besides);
        wish.overlaps_devices = overlaps_devices_;
        if (!plan_->devices.memories.empty()) {
            if (context_.former != nullptr) {
                start_from_layouts(context_.former->devices, plan_->devices);
            }
            wish.fits_elsewhere = [this](const StepWaits& waits) {
                return fits_device_memory(waits, device_sharing(), *plan_);
            };
        }
        std::optional<FormerLayout> former;
        if (context_.former != nullptr) {
            former.emplace(FormerLayout{*context_.former->planner, context_.former->layout,
                                        RunAhead{context_.former->report.run_ahead}});
            wish.former = &*former;
        }
        const LayoutChooser chooser(planner);
        LEAT_ASSIGN_OR_RETURN(LayoutChoice choice, context_.solved != nullptr
                                                       ? chooser.restore(*context_.solved)
                                                       : chooser.choose(wish));
        if (choice.layout.plan.height_bytes > wish.limit_bytes) {
            return limit_error(context_.memory_limit, besides, graph_, plan_->devices, planner,
                               choice.layout);
        }
        plan_->report.run_ahead = int(choice.run_ahead);
        return choice;
    }

    void place_values() {
        plan_->arena_bytes = plan_->layout.plan.height_bytes;
        plan_->buffers.reserve(plan_->layout.buffers.size());
        origins_.assign(graph_.values.size(), Storage{});  // by root
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            origins_[size_t(graph_.inputs[i].index)] = {Storage::Kind::kInput, int32_t(i)};
        }
        for (const PlanStep& step : plan_->steps) {
            for (int32_t i = 0; i < step.output_count; ++i) {
                const TensorArg& arg = plan_->output_arg(step, i);
                if (arg.present() && arg.dtype == DType::kString) {
                    const ValueId id = step.node->outputs[size_t(i)];
                    origins_[size_t(id.index)] = {Storage::Kind::kStrings,
                                                  int32_t(plan_->string_counts.size())};
                    plan_->string_counts.push_back(arg.shape.element_count());
                }
            }
        }
        origins_.resize(plan_->layout.places.size());
        const StepMoments& moments = plan_->planner->moments();
        for (size_t value = 0; value < plan_->layout.places.size(); ++value) {
            const ValuePlace& place = plan_->layout.places[value];
            if (place.buffer >= 0 && place.root == int32_t(value)) {
                origins_[value] = {Storage::Kind::kArena, place.buffer};
                const UsedBuffer& buffer = plan_->layout.buffers[size_t(place.buffer)];
                plan_->buffers.push_back({int32_t(value), buffer.size_bytes,
                                          plan_->layout.plan.offsets[size_t(place.buffer)],
                                          moments.step_of(buffer.users.front()),
                                          buffer.is_kept
                                              ? int32_t(plan_->steps.size())
                                              : moments.step_of(buffer.users.back()) + 1});
            }
        }
    }

    Storage storage_of(ValueId id) {
        if (!id.valid()) {
            return {};
        }
        if (is_known(id)) {
            return {Storage::Kind::kConstant, constant_index(id)};
        }
        const ValuePlace& place = plan_->layout.places[size_t(id.index)];
        Storage storage = origins_[size_t(place.root)];
        storage.offset_bytes = place.offset_bytes;
        return storage;
    }

    void fill_arguments() {
        plan_->arg_storage.resize(plan_->args.size());
        for (const PlanStep& step : plan_->steps) {
            const std::span<Storage> storages =
                std::span(plan_->arg_storage).subspan(size_t(step.first_arg));
            for (int32_t i = 0; i < step.input_count; ++i) {
                storages[size_t(i)] = storage_of(step.node->inputs[size_t(i)]);
            }
            if (step.is_transfer && storages[0].kind == Storage::Kind::kConstant) {
                // One that is streamed, from where the host has it.
                const Tensor& constant = plan_->constants[size_t(storages[0].index)];
                plan_->args[size_t(step.first_arg)].data = const_cast<std::byte*>(constant.bytes());
            }
            for (int32_t i = 0; i < step.output_count; ++i) {
                if (plan_->output_arg(step, i).present()) {
                    storages[size_t(step.input_count) + size_t(i)] =
                        storage_of(step.node->outputs[size_t(i)]);
                }
            }
        }
    }

    // Devices use a buffer at its place in the arena, so no other memory can take its place.
    void fill_outputs() {
        const std::vector<bool> is_of_devices = buffers_of_devices(plan_->layout, plan_->devices);
        for (ValueId id : graph_.outputs) {
            PlanOutput output;
            output.storage = storage_of(id);
            if (is_known(id)) {
                output.dtype = known_value(id).dtype();
                output.shape = known_value(id).shape();
                TensorArg unused;
                // An aligned copy, so that callers may read it through a typed span.
                (void)bind_constant(id, unused, /*only_small=*/false);
            } else if (fact(id).type.is_tensor()) {
                output.dtype = fact(id).type.dtype;
                output.shape = argument(id).shape;
            }
            if (output.storage.kind == Storage::Kind::kArena) {
                const ValuePlace& place = plan_->layout.places[size_t(id.index)];
                const std::vector<MemoryValue>& values = plan_->planner->problem().values;
                output.fills_buffer =
                    values[size_t(id.index)].size_bytes == values[size_t(place.root)].size_bytes &&
                    !is_of_devices[size_t(place.buffer)];
            }
            plan_->outputs.push_back(output);
        }
    }

    // And says what its tasks do.
    Result<scheduler::Program> make_program(const MemoryLayout& layout,
                                            std::vector<StepTask>& tasks) const {
        scheduler::CompileOptions options;
        options.workers = context_.workers;
        options.keeps_order = true;
        options.is_traced = context_.is_traced;
        // Nobody knows when a device ends: whoever is free takes what is ready then.
        const bool waits_beside_others =
            context_.overlaps_requests && !context_.is_serial &&
            std::any_of(plan_->steps.begin(), plan_->steps.end(), is_submitted);
        if (overlaps_devices_ || has_clock_ || waits_beside_others) {
            options.gear = scheduler::Gear::kDynamic;
        }
        const bool follows_forecast = context_.order != nullptr && !context_.is_serial;
        StepTasks program =
            step_program(*layout.waits, context_.is_serial,
                         follows_forecast ? context_.order->ranks_of(*plan_, context_.whole)
                                          : std::vector<int32_t>(),
                         *plan_);
        tasks = std::move(program.tasks);
        if (has_clock_) {
            plan_->releases = std::make_shared<const TaskReleases>(program.dag, tasks);
        }
        return scheduler::Program::compile(program.dag, options);
    }

    void fill_report(int64_t time_ns) {
        PlanReport& report = plan_->report;
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            report.shapes[graph_.value(graph_.inputs[i]).name] = plan_->key.shapes[i];
        }
        report.numa_node = context_.numa_node;
        report.shared_bytes = context_.is_shared ? plan_->arena_bytes : 0;
        report.arena_bytes = plan_->arena_bytes;
        report.lower_bound_bytes = plan_->layout.plan.lower_bound_bytes;
        report.unplanned_bytes = plan_->layout.plan.unplanned_bytes;
        report.added_waits = plan_->layout.added_waits;
        report.has_whole_order = has_whole_order(*plan_);
        for (const PlanStep& step : plan_->steps) {
            report.tile_count += step.kernel->tile_count;
        }
        report.step_count = int(plan_->steps.size());
        report_devices(*plan_);
        report.plan_time_ns = time_ns;
    }

    const PlanContext& context_;
    const GraphData& graph_;
    std::vector<int32_t> described_at_;          // by value: index in described_; -1: not yet
    std::vector<TensorArg> described_;           // values that are not known; twins share one
    std::vector<const PlanStep*> former_steps_;  // by node; null: there was none
    std::vector<int32_t> step_of_node_;          // in Plan::steps, until they are ordered; -1: none
    // By node: renames_memory() of it; nothing: nobody has asked.
    std::vector<std::optional<bool>> renames_;
    // Of one step; kept for their memory.
    std::vector<TensorArg> step_args_;
    std::vector<const Tensor*> step_constants_;
    MemoryProblem problem_;  // values as in the graph, steps as prepared
    // Steps may run while devices carry out others, as far as data is concerned.
    bool has_clock_ = false;  // some backend of the plan keeps virtual time
    bool overlaps_devices_ = false;
    std::vector<Storage> origins_;  // by value that is the root of a group
    std::shared_ptr<Plan> plan_;
};

// By plans for further_facts, which nobody runs. Where there is none, all stays as it is: who asks
// for these shapes is told why.
void arrange_for_others(const PlanContext& context, Plan& plan) {
    PlanContext again = context;
    again.former = &plan;
    again.further_facts = {};
    for (const std::vector<ValueFact>& facts : context.further_facts) {
        PlanKey key{plan.key.group, {}, plan.key.values};
        for (const ValueFact& fact : facts) {
            key.shapes.push_back(fact.type.fixed_shape().value_or(Shape()));
        }
        const Result<std::shared_ptr<Plan>> other =
            PlanBuilder(again, std::move(key), plan.copies_ahead).build(facts);
        if (other.ok()) {
            take_arrangements((*other)->layout.plan, plan.layout.plan);
            take_arrangements((*other)->devices, plan.devices);
        }
    }
}

}  // namespace

int64_t Plan::own_bytes() const {
    int64_t bytes = int64_t(sizeof(Plan) + (known.size() + needed.size()) / 8);
    bytes += int64_t(args.size() * (sizeof(TensorArg) + sizeof(Storage)));
    bytes += int64_t(facts.size() *
                     (sizeof(ValueFact) + sizeof(int32_t)));  // some are shared with other plans
    bytes += int64_t(steps.size() * sizeof(PlanStep));
    bytes += int64_t(kernels.size() * 512);  // a kernel object is a few hundred bytes
    bytes += int64_t(tasks.size() * sizeof(StepTask)) + devices.own_bytes();
    for (const Tensor& tensor : constants) {
        // Weights belong to the graph and the store; what the plan computed is small.
        bytes += tensor.byte_count() <= kSmallConstantBytes ? tensor.byte_count() : 0;
    }
    return bytes;
}

Result<std::shared_ptr<const Plan>> make_plan(const PlanContext& context,
                                              PlanKey key,
                                              std::span<const ValueFact> input_facts) {
    if (context.solved != nullptr) {
        LEAT_ASSIGN_OR_RETURN(
            std::shared_ptr<Plan> plan,
            PlanBuilder(context, std::move(key), context.solved->copies_ahead).build(input_facts));
        return std::shared_ptr<const Plan>(std::move(plan));
    }
    Result<std::shared_ptr<Plan>> plan = PlanBuilder(context, key).build(input_facts);
    for (size_t i = 1; i < std::size(kCopiesAhead) && !context.streams.empty(); ++i) {
        if (plan.ok() || plan.error().code() != StatusCode::kOutOfMemory) {
            break;
        }
        plan = PlanBuilder(context, key, kCopiesAhead[i]).build(input_facts);
    }
    if (!plan.ok()) {
        return plan.error();
    }
    if (!context.further_facts.empty()) {
        arrange_for_others(context, **plan);
    }
    return std::shared_ptr<const Plan>(*std::move(plan));
}

Result<std::vector<MemoryTradeOff>> trade_offs(const PlanContext& context,
                                               std::span<const ValueFact> input_facts) {
    return PlanBuilder(context, {}).trade_offs(input_facts);
}

}  // namespace leat
