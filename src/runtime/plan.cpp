#include "runtime/plan.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "base/check.h"
#include "memory/hazards.h"
#include "memory/plan.h"
#include "runtime/value_storage.h"

namespace leat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kAlignmentBytes = 64;
constexpr int32_t kAfterLastStep = std::numeric_limits<int32_t>::max() - 1;
// Constants up to this size are copied when they are not aligned in the file, whoever reads them.
constexpr int64_t kSmallConstantBytes = 64 << 10;
// String buffers take part in hazards under fake addresses far above any arena.
constexpr int64_t kStringHazardBase = int64_t{1} << 60;

int64_t align_up(int64_t bytes) {
    return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

// True if both strides put every element of the shape at the same place.
bool same_memory_order(const Shape& shape, const Strides& a, const Strides& b) {
    if (shape.element_count() == 0) {
        return true;
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] > 1 && a[size_t(axis)] != b[size_t(axis)]) {
            return false;
        }
    }
    return true;
}

class PlanBuilder {
  public:
    PlanBuilder(const PlanContext& context, PlanKey key)
        : context_(context),
          graph_(context.graph),
          storage_(graph_.value_count()),
          plan_(std::make_shared<Plan>()) {
        plan_->key = std::move(key);
    }

    Result<std::shared_ptr<const Plan>> build(std::span<const ValueFact> input_facts) {
        const auto start = Clock::now();
        LEAT_ASSIGN_OR_RETURN(facts_, infer_graph(graph_, input_facts, InferenceOptions{}));
        find_needed_nodes();
        LEAT_RETURN_IF_ERROR(check_facts());
        set_origins();
        join_views();
        LEAT_RETURN_IF_ERROR(prepare_steps());
        note_lifetimes();
        join_in_place();
        LEAT_RETURN_IF_ERROR(place_buffers());
        fill_arguments();
        fill_outputs();
        LEAT_RETURN_IF_ERROR(make_program());
        fill_report(
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count());
        return std::shared_ptr<const Plan>(plan_);
    }

  private:
    const ValueFact& fact(ValueId id) const { return facts_[size_t(id.index)]; }
    bool is_known(ValueId id) const {
        return graph_.value(id).constant.has_value() || fact(id).value.has_value();
    }
    const Tensor& known_value(ValueId id) const {
        const ValueData& data = graph_.value(id);
        return data.constant ? *data.constant : *fact(id).value;
    }

    // Nodes that some graph output needs and whose results are not known already.
    void find_needed_nodes() {
        needed_.assign(graph_.nodes.size(), false);
        std::vector<ValueId> stack(graph_.outputs.begin(), graph_.outputs.end());
        while (!stack.empty()) {
            const ValueId id = stack.back();
            stack.pop_back();
            const NodeId producer = graph_.value(id).producer;
            if (!producer.valid() || is_known(id) || needed_[size_t(producer.index)]) {
                continue;
            }
            needed_[size_t(producer.index)] = true;
            for (ValueId input : graph_.node(producer).inputs) {
                if (input.valid()) {
                    stack.push_back(input);
                }
            }
        }
    }

    // Every value that a step touches must be a tensor of fixed shape.
    Status check_facts() {
        shapes_.resize(graph_.values.size());
        strides_.resize(graph_.values.size());
        for (size_t i = 0; i < facts_.size(); ++i) {
            const std::optional<Shape> shape = facts_[i].type.fixed_shape();
            if (shape && facts_[i].type.is_tensor()) {
                shapes_[i] = *shape;
                const bool channels_last =
                    graph_.values[i].layout == Layout::kChannelsLast && !is_known({int32_t(i)});
                strides_[i] =
                    channels_last ? channels_last_strides(*shape) : row_major_strides(*shape);
            }
        }
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const NodeData& node = graph_.nodes[n];
            for (ValueId id : node.outputs) {
                if (!needed_[n] || !id.valid()) {
                    continue;
                }
                const TypeInfo& type = fact(id).type;
                if (!type.is_tensor() || !type.fixed_shape()) {
                    return unsupported("the shape of result '{}' depends on computed data",
                                       graph_.value(id).name)
                        .with_node(node.label())
                        .with_found(type.to_string())
                        .with_needed("a shape that follows from the inputs' shapes and values");
                }
            }
        }
        return {};
    }

    void set_origins() {
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            storage_.set_origin(graph_.inputs[i], {Storage::Kind::kInput, int32_t(i)});
        }
    }

    // A constant of the plan for a known value; made once.
    int32_t constant_index(ValueId id) {
        auto [at, added] =
            constant_of_value_.try_emplace(id.index, int32_t(plan_->constants.size()));
        if (added) {
            plan_->constants.push_back(known_value(id));
        }
        return at->second;
    }

    bool is_view(const NodeData& node) const {
        if (!node.epilogue.empty() || node.inputs.empty() || !node.inputs[0].valid() ||
            is_known(node.inputs[0])) {
            return false;
        }
        const ValueId in = node.inputs[0];
        const ValueId out = node.outputs[0];
        for (size_t i = 1; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid() && !is_known(node.outputs[i]) &&
                has_reader(node.outputs[i])) {
                return false;  // Dropout with a mask
            }
        }
        const auto from = size_t(in.index);
        const auto to = size_t(out.index);
        if (node.def->is_view) {
            const bool plain =
                same_memory_order(shapes_[from], strides_[from],
                                  row_major_strides(shapes_[from])) &&
                same_memory_order(shapes_[to], strides_[to], row_major_strides(shapes_[to]));
            return plain || (shapes_[from] == shapes_[to] &&
                             same_memory_order(shapes_[from], strides_[from], strides_[to]));
        }
        if (node.domain.empty() && node.op_type == "Transpose") {
            return same_memory_order(shapes_[to], transposed(node, strides_[from]), strides_[to]);
        }
        return node.domain == "leat" && node.op_type == "Layout" &&
               same_memory_order(shapes_[from], strides_[from], strides_[to]);
    }

    // Strides of a Transpose's result over the memory of its input.
    Strides transposed(const NodeData& node, const Strides& strides) const {
        const int rank = shapes_[size_t(node.inputs[0].index)].rank();
        const std::vector<int64_t>* perm = node.ints("perm");
        Strides result{};
        for (int axis = 0; axis < rank; ++axis) {
            result[size_t(axis)] =
                strides[perm == nullptr ? size_t(rank - 1 - axis) : size_t((*perm)[size_t(axis)])];
        }
        return result;
    }

    bool has_reader(ValueId id) {
        if (uses_.readers.empty()) {
            uses_ = graph_.uses();
        }
        return !uses_.readers[size_t(id.index)].empty() || uses_.output_uses[size_t(id.index)] > 0;
    }
    bool has_reader(ValueId id) const { return const_cast<PlanBuilder*>(this)->has_reader(id); }

    void join_views() {
        step_nodes_.clear();
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            if (!needed_[n]) {
                continue;
            }
            const NodeData& node = graph_.nodes[n];
            if (is_view(node)) {
                storage_.join(node.inputs[0], node.outputs[0]);
            } else {
                step_nodes_.push_back(int32_t(n));
            }
        }
    }

    TensorArg argument(ValueId id) {
        TensorArg arg;
        if (!id.valid()) {
            return arg;
        }
        arg.dtype = fact(id).type.dtype;
        arg.shape = shapes_[size_t(id.index)];
        arg.strides = strides_[size_t(id.index)];
        if (is_known(id)) {
            const Tensor& value = known_value(id);
            arg.dtype = value.dtype();
            arg.shape = value.shape();
            arg.strides = row_major_strides(value.shape());
        }
        return arg;
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
        for (int32_t n : step_nodes_) {
            LEAT_RETURN_IF_ERROR(prepare_step(graph_.nodes[size_t(n)]));
        }
        return {};
    }

    static bool has_bit(uint64_t bits, size_t i) { return i < 64 && ((bits >> i) & 1U) != 0; }

    Status prepare_step(const NodeData& node) {
        PlanStep step;
        step.node = &node;
        step.first_arg = int32_t(plan_->args.size());
        step.input_count = int32_t(node.inputs.size());
        step.output_count = int32_t(node.outputs.size());
        std::vector<TensorArg> args;
        std::vector<const Tensor*> constants;
        for (ValueId id : node.inputs) {
            args.push_back(argument(id));
            constants.push_back(id.valid() && is_known(id) ? &known_value(id) : nullptr);
            if (constants.back() != nullptr) {
                LEAT_RETURN_IF_ERROR(bind_constant(id, args.back(), /*only_small=*/true));
            }
        }
        for (ValueId id : node.outputs) {
            args.push_back(id.valid() && (id == node.outputs[0] || has_reader(id)) ? argument(id)
                                                                                   : TensorArg{});
        }
        const std::span<TensorArg> all(args);
        PrepareContext prepare{node, all.subspan(0, node.inputs.size()),
                               all.subspan(node.inputs.size()), constants, context_.weights};
        Result<std::unique_ptr<HostKernel>> kernel = context_.backend.prepare(prepare);
        if (!kernel.ok()) {
            return std::move(kernel).error().with_node(node.label());
        }
        step.kernel = std::move(kernel).value();
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
        if (step.kernel->cost_ns == 0) {
            step.kernel->cost_ns = estimate_ns(node, prepare);
        }
        if (step.kernel->is_reference) {
            plan_->reference_kernels.push_back(node.label());
        }
        plan_->scratch_bytes = std::max(plan_->scratch_bytes, align_up(step.kernel->scratch_bytes));
        plan_->args.insert(plan_->args.end(), args.begin(), args.end());
        plan_->steps.push_back(std::move(step));
        return {};
    }

    // One worker at 10 flops a nanosecond and 10 bytes a nanosecond: only small against large
    // matters.
    static double estimate_ns(const NodeData& node, const PrepareContext& context) {
        if (node.def->cost != nullptr) {
            const Cost cost = node.def->cost(node, context.inputs, context.outputs);
            return cost.flops / 10 + double(cost.bytes) / 10;
        }
        double bytes = 0;
        for (std::span<const TensorArg> side : {context.inputs, context.outputs}) {
            for (const TensorArg& arg : side) {
                bytes += double(storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0));
            }
        }
        return bytes / 10;
    }

    const TensorArg& output_arg(const PlanStep& step, int32_t output) const {
        return plan_->args[size_t(step.first_arg) + size_t(step.input_count) + size_t(output)];
    }

    void note_lifetimes() {
        for (size_t s = 0; s < plan_->steps.size(); ++s) {
            const PlanStep& step = plan_->steps[s];
            for (ValueId id : step.node->inputs) {
                if (id.valid()) {
                    storage_.note_read(id, int32_t(s));
                }
            }
            for (int32_t i = 0; i < step.output_count; ++i) {
                const TensorArg& arg = output_arg(step, i);
                if (arg.present()) {
                    storage_.note_write(
                        step.node->outputs[size_t(i)], int32_t(s),
                        storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0));
                }
            }
        }
        for (ValueId id : graph_.outputs) {
            storage_.note_read(id, kAfterLastStep);
        }
    }

    void join_in_place() {
        for (size_t s = 0; s < plan_->steps.size(); ++s) {
            const PlanStep& step = plan_->steps[s];
            if (!step.kernel->allows_in_place) {
                continue;
            }
            for (int32_t i = 0; i < step.input_count; ++i) {
                if (may_run_in_place(step, i, int32_t(s))) {
                    storage_.join(step.node->inputs[size_t(i)], step.node->outputs[0]);
                    break;
                }
            }
        }
    }

    bool may_run_in_place(const PlanStep& step, int32_t input, int32_t index) const {
        const NodeData& node = *step.node;
        const bool allowed = input < 32 && ((node.def->in_place_inputs >> input) & 1U) != 0;
        const bool operand_of_epilogue =
            step.kernel->epilogue_in_place && is_epilogue_operand(node, input);
        if (!allowed && !operand_of_epilogue) {
            return false;
        }
        const ValueId in = node.inputs[size_t(input)];
        const ValueId out = node.outputs[0];
        if (!in.valid() || is_known(in) || storage_.origin(in).kind != Storage::Kind::kNone ||
            storage_.origin(out).kind != Storage::Kind::kNone || storage_.last_read(in) != index) {
            return false;
        }
        for (int32_t other = 0; other < step.input_count; ++other) {
            const ValueId id = node.inputs[size_t(other)];
            if (other != input && id.valid() && storage_.find(id) == storage_.find(in)) {
                return false;
            }
        }
        const TensorArg& from = plan_->args[size_t(step.first_arg) + size_t(input)];
        const TensorArg& to = output_arg(step, 0);
        return from.dtype == to.dtype && from.dtype != DType::kString && from.shape == to.shape &&
               storage_.bytes(in) == storage_.bytes(out) &&
               same_memory_order(from.shape, from.strides, to.strides);
    }

    static bool is_epilogue_operand(const NodeData& node, int32_t input) {
        return std::any_of(
            node.epilogue.begin(), node.epilogue.end(),
            [input](const EpilogueStep& step) { return step.operand_input == input; });
    }

    Status place_buffers() {
        buffer_of_group_.assign(graph_.values.size(), Storage{});
        const auto last_step = int32_t(plan_->steps.size());
        for (const PlanStep& step : plan_->steps) {
            for (int32_t i = 0; i < step.output_count; ++i) {
                const TensorArg& arg = output_arg(step, i);
                if (!arg.present()) {
                    continue;
                }
                const ValueId id = step.node->outputs[size_t(i)];
                Storage& storage = buffer_of_group_[size_t(storage_.find(id))];
                if (storage.kind != Storage::Kind::kNone) {
                    continue;
                }
                if (arg.dtype == DType::kString) {
                    storage = {Storage::Kind::kStrings, int32_t(plan_->string_counts.size())};
                    plan_->string_counts.push_back(arg.shape.element_count());
                    continue;
                }
                storage = {Storage::Kind::kArena, int32_t(buffers_.size())};
                buffers_.push_back({.size_bytes = align_up(storage_.bytes(id)),
                                    .alignment_bytes = kAlignmentBytes,
                                    .begin_step = storage_.first_write(id),
                                    .end_step = std::min(storage_.last_read(id), last_step) + 1});
            }
        }
        LEAT_ASSIGN_OR_RETURN(memory_, plan_offsets(buffers_));
        LEAT_RETURN_IF_ERROR(check_plan(buffers_, memory_));
        plan_->buffer_offsets = memory_.offsets;
        plan_->arena_bytes = memory_.height_bytes;
        return {};
    }

    Storage storage_of(ValueId id) {
        if (!id.valid()) {
            return {};
        }
        if (is_known(id)) {
            return {Storage::Kind::kConstant, constant_index(id)};
        }
        const Storage origin = storage_.origin(id);
        return origin.kind != Storage::Kind::kNone ? origin
                                                   : buffer_of_group_[size_t(storage_.find(id))];
    }

    void fill_arguments() {
        for (const PlanStep& step : plan_->steps) {
            for (ValueId id : step.node->inputs) {
                plan_->arg_storage.push_back(storage_of(id));
            }
            for (int32_t i = 0; i < step.output_count; ++i) {
                const bool present = output_arg(step, i).present();
                plan_->arg_storage.push_back(present ? storage_of(step.node->outputs[size_t(i)])
                                                     : Storage{});
            }
        }
    }

    void fill_outputs() {
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
                output.shape = shapes_[size_t(id.index)];
            }
            plan_->outputs.push_back(output);
        }
    }

    // Bytes that an argument touches, for hazards. Inputs and constants are never written.
    void add_range(const Storage& storage, std::vector<ByteRange>& ranges) const {
        if (storage.kind == Storage::Kind::kArena) {
            const int64_t begin = plan_->buffer_offsets[size_t(storage.index)];
            const int64_t bytes = buffers_[size_t(storage.index)].size_bytes;
            if (bytes > 0) {
                ranges.push_back({begin, begin + bytes});
            }
        } else if (storage.kind == Storage::Kind::kStrings) {
            ranges.push_back(
                {kStringHazardBase + storage.index, kStringHazardBase + storage.index + 1});
        }
    }

    Status make_program() {
        std::vector<StepAccess> accesses(plan_->steps.size());
        for (size_t s = 0; s < plan_->steps.size(); ++s) {
            const PlanStep& step = plan_->steps[s];
            for (int32_t i = 0; i < step.input_count + step.output_count; ++i) {
                add_range(plan_->arg_storage[size_t(step.first_arg) + size_t(i)],
                          i < step.input_count ? accesses[s].reads : accesses[s].writes);
            }
        }
        const std::vector<std::vector<int32_t>> waits = hazard_waits(accesses);
        scheduler::TaskDag dag;
        for (size_t s = 0; s < plan_->steps.size(); ++s) {
            PlanStep& step = plan_->steps[s];
            const HostKernel& kernel = *step.kernel;
            step.cost_ns = kernel.cost_ns;
            if (!context_.cost_factors.empty()) {
                step.cost_ns *= context_.cost_factors[size_t(step_nodes_[s])];
            }
            const scheduler::TaskId task =
                dag.add({.cost_ns = step.cost_ns, .tile_count = kernel.tile_count});
            for (const int32_t wait : waits[s]) {
                dag.precede(scheduler::TaskId(wait), task);
            }
            plan_->report.tile_count += kernel.tile_count;
        }
        scheduler::CompileOptions options;
        options.workers = context_.workers;
        options.keeps_order = true;
        options.is_traced = context_.is_traced;
        LEAT_ASSIGN_OR_RETURN(plan_->program, scheduler::Program::compile(dag, options));
        return {};
    }

    void fill_report(int64_t time_ns) {
        PlanReport& report = plan_->report;
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            report.shapes[graph_.value(graph_.inputs[i]).name] = plan_->key.shapes[i];
        }
        report.arena_bytes = plan_->arena_bytes;
        report.lower_bound_bytes = memory_.lower_bound_bytes;
        report.unplanned_bytes = memory_.unplanned_bytes;
        report.step_count = int(plan_->steps.size());
        report.plan_time_ns = time_ns;
    }

    const PlanContext& context_;
    const GraphData& graph_;
    std::vector<ValueFact> facts_;
    std::vector<Shape> shapes_;     // by value
    std::vector<Strides> strides_;  // by value
    std::vector<bool> needed_;      // by node
    std::vector<int32_t> step_nodes_;
    GraphData::Uses uses_;
    ValueStorage storage_;
    std::map<int32_t, int32_t> constant_of_value_;
    std::vector<Storage> buffer_of_group_;
    std::vector<PlannedBuffer> buffers_;
    MemoryPlan memory_;
    std::shared_ptr<Plan> plan_;
};

}  // namespace

int64_t Plan::own_bytes() const {
    int64_t bytes = int64_t(sizeof(Plan));
    bytes += int64_t(args.size() * (sizeof(TensorArg) + sizeof(Storage)));
    bytes +=
        int64_t(steps.size() * (sizeof(PlanStep) + 512));  // a kernel object is a few hundred bytes
    for (const Tensor& tensor : constants) {
        // Weights belong to the graph and the store; what the plan computed is small.
        bytes += tensor.byte_count() <= kSmallConstantBytes ? tensor.byte_count() : 0;
    }
    return bytes;
}

Result<std::shared_ptr<const Plan>> make_plan(const PlanContext& context,
                                              PlanKey key,
                                              std::span<const ValueFact> input_facts) {
    return PlanBuilder(context, std::move(key)).build(input_facts);
}

}  // namespace leat
