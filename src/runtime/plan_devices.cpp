#include "runtime/plan_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/sort_unique.h"
#include "ops/roofline.h"
#include "partition/partition.h"
#include "runtime/device_kernel.h"
#include "runtime/device_layout.h"
#include "runtime/step_memory.h"
#include "runtime/transfer_step.h"

namespace leat {
namespace {

constexpr int32_t kHost = -1;  // in place of a memory's index

const DeviceKernel& part_of(const PlanStep& step) {
    return static_cast<const DeviceKernel&>(*step.device);
}

// What a part does inside, in terms of values.
class InsideWriter {
  public:
    explicit InsideWriter(const PartInside& part) { inside_.waits = part.waits; }

    // A value that is several operands is in use for all of them.
    void add(int32_t value, InnerSteps::Side side, const std::vector<int32_t>& steps) {
        const auto [found, is_new] = index_of_.try_emplace(value, inside_.uses.size());
        if (is_new) {
            inside_.uses.push_back({value, side, steps});
            return;
        }
        std::vector<int32_t>& all = inside_.uses[found->second].steps;
        if (all.empty() || steps.empty()) {
            all.clear();
            return;
        }
        all.insert(all.end(), steps.begin(), steps.end());
        sort_unique(all);
    }
    std::shared_ptr<const InnerSteps> take() {
        return std::make_shared<const InnerSteps>(std::move(inside_));
    }

  private:
    InnerSteps inside_;
    std::map<int32_t, size_t> index_of_;  // by value: in uses
};

class TransferWriter {
  public:
    TransferWriter(const GraphData& graph,
                   const std::function<TensorArg(ValueId)>& argument,
                   std::span<const ValueView> views,
                   Plan& plan)
        : graph_(graph), argument_(argument), plan_(plan), devices_(plan.devices) {
        devices_.first_value = int32_t(graph.values.size());
        find_memories();
        find_host_needs();
        find_foreign_values(views);
    }

    void write() {
        steps_.reserve(plan_.steps.size());
        for (const PlanStep& step : plan_.steps) {
            if (step.device == nullptr) {
                steps_.push_back(step);
            } else {
                write_part(step);
            }
        }
        plan_.steps = std::move(steps_);
    }

  private:
    // By node of the graph; kHost where it is no part, or one that works in the host's arena.
    void find_memories() {
        memory_of_node_.assign(graph_.nodes.size(), kHost);
        for (const PlanStep& step : plan_.steps) {
            if (step.device != nullptr) {
                const int32_t memory = memory_of(part_of(step).part());
                memory_of_node_[size_t(step.node - graph_.nodes.data())] =
                    is_arena(memory) ? kHost : memory;
            }
        }
    }

    int32_t memory_of(const std::shared_ptr<const DevicePart>& part) {
        const auto is_same = [&part](const DeviceMemory& memory) {
            return memory.part->place().backend == part->place().backend &&
                   memory.part->domain().domain == part->domain().domain;
        };
        std::vector<DeviceMemory>& memories = devices_.memories;
        const auto found = std::find_if(memories.begin(), memories.end(), is_same);
        const auto index = int32_t(found - memories.begin());
        if (found == memories.end()) {
            memories.push_back({part, part->works_in_host_memory()});
        }
        return index;
    }
    bool is_arena(int32_t memory) const { return devices_.memories[size_t(memory)].is_arena; }

    // Inputs of the graph, and what may become a view of them.
    void find_foreign_values(std::span<const ValueView> views) {
        is_foreign_.assign(graph_.values.size(), false);
        const auto is_in_arena = [](const DeviceMemory& memory) { return memory.is_arena; };
        if (std::none_of(devices_.memories.begin(), devices_.memories.end(), is_in_arena)) {
            return;
        }
        for (const ValueId id : graph_.inputs) {
            is_foreign_[size_t(id.index)] = true;
        }
        std::vector<std::pair<int32_t, int32_t>> flows;  // from, to
        for (const ValueView& view : views) {
            flows.emplace_back(view.whole, view.part);
        }
        for (const PlanStep& step : plan_.steps) {
            if (step.device == nullptr) {
                add_flows(describe_step(plan_, step), flows);
            }
        }
        for (bool is_changed = true; is_changed;) {
            is_changed = false;
            for (const auto& [from, to] : flows) {
                is_changed |= is_foreign_[size_t(from)] && !is_foreign_[size_t(to)];
                is_foreign_[size_t(to)] = is_foreign_[size_t(to)] || is_foreign_[size_t(from)];
            }
        }
    }

    static void add_flows(const MemoryStep& step, std::vector<std::pair<int32_t, int32_t>>& flows) {
        for (const int32_t from : step.reads) {
            for (const int32_t to : step.writes) {
                if (!step.views.empty()) {
                    flows.emplace_back(from, to);
                }
            }
        }
    }

    void find_host_needs() {
        std::vector<int32_t> maker(graph_.values.size(), kHost);
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            for (const ValueId id : graph_.nodes[n].outputs) {
                if (id.valid()) {
                    maker[size_t(id.index)] = memory_of_node_[n];
                }
            }
        }
        devices_.is_off_host.assign(graph_.values.size(), false);
        for (size_t value = 0; value < maker.size(); ++value) {
            devices_.is_off_host[value] = maker[value] != kHost;
        }
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            for (const ValueId id : graph_.nodes[n].inputs) {
                if (plan_.needed[n] && id.valid() &&
                    maker[size_t(id.index)] != memory_of_node_[n]) {
                    devices_.is_off_host[size_t(id.index)] = false;
                }
            }
        }
        for (const ValueId id : graph_.outputs) {
            devices_.is_off_host[size_t(id.index)] = false;
        }
    }

    int32_t add_value(int32_t memory, int64_t size_bytes, std::string name) {
        const int64_t alignment = devices_.memories[size_t(memory)].part->domain().alignment_bytes;
        devices_.values.push_back(
            {memory, std::max<int64_t>(size_bytes, 1), alignment, std::move(name)});
        return devices_.first_value + int32_t(devices_.values.size()) - 1;
    }

    // Of the value in the memory, where it is brought to if it is not there. The arena is one
    // memory, whichever backends share it.
    int32_t value_in(int32_t memory, ValueId id, const DeviceKernel& part) {
        if (is_arena(memory) && !is_foreign_[size_t(id.index)]) {
            return id.index;
        }
        const int32_t key = is_arena(memory) ? kHost : memory;
        const auto [place, is_new] = in_memory_.try_emplace({id.index, key}, -1);
        if (is_new) {
            const TensorArg arg = argument_(id);
            place->second = add_value(memory, bytes_of(arg), graph_.value(id).name);
            DeviceUse use;
            use.memory = memory;
            use.writes = {place->second};
            write_transfer(TransferTo::kDevice, id, std::move(use), part);
        }
        return place->second;
    }

    // Of the result that is output `output` of the part, or of nobody's.
    int32_t value_of_result(int32_t memory, const PlanStep& step, size_t output) {
        const ValueId id = step.node->outputs[output];
        const bool is_wanted =
            plan_.output_arg(step, int32_t(output)).present() && !plan_.known[size_t(id.index)];
        if (is_arena(memory) && is_wanted) {
            return id.index;
        }
        const int32_t value = add_value(memory, part_of(step).outputs()[output].size_bytes,
                                        id.valid() ? graph_.value(id).name : "");
        if (id.valid()) {
            in_memory_[{id.index, memory}] = value;
        }
        return value;
    }

    void add_inside(const PlanStep& step, DeviceUse& use) {
        const PartInside& part = part_of(step).inside();
        InsideWriter inside(part);
        for (size_t i = 0; i < use.reads.size(); ++i) {
            if (use.reads[i] >= 0) {
                inside.add(use.reads[i], InnerSteps::Side::kRead, part.inputs[i]);
            }
        }
        for (size_t i = 0; i < use.writes.size(); ++i) {
            inside.add(use.writes[i], InnerSteps::Side::kWritten, part.outputs[i]);
        }
        for (const PartInside::Transient& transient : part.transients) {
            const int32_t value =
                add_value(use.memory, transient.size_bytes,
                          fmt::format("{} in {}", use.transients.size(), step.node->name));
            devices_.values.back().alignment_bytes = transient.alignment_bytes;
            use.transients.push_back(value);
            inside.add(value, InnerSteps::Side::kInside, transient.steps);
        }
        use.inside = inside.take();
    }

    void write_part(PlanStep step) {
        const DeviceKernel& part = part_of(step);
        const int32_t memory = memory_of(part.part());
        DeviceUse use;
        use.memory = memory;
        for (size_t i = 0; i < part.inputs().size(); ++i) {
            const ValueId id = step.node->inputs[i];
            const bool has_place = id.valid() && part.inputs()[i].has_place();
            use.reads.push_back(has_place ? value_in(memory, id, part) : -1);
        }
        for (size_t i = 0; i < part.outputs().size(); ++i) {
            use.writes.push_back(value_of_result(memory, step, i));
        }
        add_inside(step, use);
        const std::vector<int32_t> writes = use.writes;
        step.device_use = int32_t(devices_.uses.size());
        devices_.uses.push_back(std::move(use));
        steps_.push_back(step);
        for (size_t i = 0; i < writes.size() && !is_arena(memory); ++i) {
            const ValueId id = step.node->outputs[i];
            if (plan_.output_arg(step, int32_t(i)).present() &&
                !devices_.is_off_host[size_t(id.index)]) {
                DeviceUse download;
                download.memory = memory;
                download.reads = {writes[i]};
                write_transfer(TransferTo::kHost, id, std::move(download), part);
            }
        }
    }

    void write_transfer(TransferTo to, ValueId id, DeviceUse use, const DeviceKernel& part) {
        static const OpDef kTransfer{.name = "Transfer", .domain = "leat"};
        const TensorArg arg = argument_(id);
        NodeData& node = devices_.transfer_nodes.emplace_back();
        node.name = graph_.value(id).name;
        node.domain = kTransfer.domain;
        node.op_type = to == TransferTo::kDevice ? "Upload" : "Download";
        node.def = &kTransfer;
        (to == TransferTo::kDevice ? node.inputs : node.outputs).push_back(id);
        auto kernel = std::make_unique<TransferStep>(part.part(), to, bytes_of(arg));
        // The host's own memory: no queue is faster there.
        kernel->is_submitted = kernel->is_submitted && !is_arena(use.memory);
        PlanStep step;
        step.node = &node;
        step.kernel = kernel.get();
        step.device = kernel.get();
        step.device_use = int32_t(devices_.uses.size());
        step.is_transfer = true;
        step.first_arg = int32_t(plan_.args.size());
        step.input_count = int32_t(node.inputs.size());
        step.output_count = int32_t(node.outputs.size());
        plan_.args.push_back(arg);
        plan_.kernels.push_back(std::move(kernel));
        devices_.uses.push_back(std::move(use));
        devices_.transfer_bytes += bytes_of(arg);
        steps_.push_back(step);
    }

    const GraphData& graph_;
    const std::function<TensorArg(ValueId)>& argument_;
    Plan& plan_;
    DevicePlan& devices_;
    std::vector<PlanStep> steps_;
    std::vector<int32_t> memory_of_node_;
    std::map<std::pair<int32_t, int32_t>, int32_t> in_memory_;  // [value, memory]
    std::vector<bool> is_foreign_;  // by value of the graph: not in the arena
};

// The values of a step on a device, as offsets say them.
std::vector<int32_t> values_of(const DeviceUse& use) {
    std::vector<int32_t> values;
    for (const std::vector<int32_t>* side : {&use.reads, &use.writes, &use.transients}) {
        values.insert(values.end(), side->begin(), side->end());
    }
    return values;
}

DeviceUse* use_in(int32_t memory, const PlanStep& step, DevicePlan& devices) {
    DeviceUse* use = step.device == nullptr ? nullptr : &devices.uses[size_t(step.device_use)];
    return use != nullptr && use->memory == memory ? use : nullptr;
}

// What the plan's steps do in a memory that is a device's own.
DeviceProblem device_problem(int32_t memory, bool is_apart, Plan& plan) {
    DevicePlan& devices = plan.devices;
    DeviceProblem problem;
    problem.is_apart = is_apart;
    problem.first_value = devices.first_value;
    problem.values.resize(devices.values.size());
    for (size_t i = 0; i < devices.values.size(); ++i) {
        problem.values[i].size_bytes = devices.values[i].size_bytes;
        problem.values[i].alignment_bytes = devices.values[i].alignment_bytes;
    }
    problem.insides.resize(plan.steps.size());
    for (size_t position = 0; position < plan.steps.size(); ++position) {
        const DeviceUse* use = use_in(memory, plan.steps[position], devices);
        if (use == nullptr) {
            continue;
        }
        problem.insides[position] = use->inside;
        for (const int32_t value :
             use->inside == nullptr ? values_of(*use) : std::vector<int32_t>{}) {
            problem.values[size_t(value - devices.first_value)].users.push_back(int32_t(position));
        }
    }
    return problem;
}

// What the plan's parts packed there themselves: at least what their constants take, as those of
// other graphs are shared.
int64_t packed_bytes_in(int32_t memory, Plan& plan) {
    std::set<const DevicePart*> parts;
    int64_t bytes = 0;
    for (const PlanStep& step : plan.steps) {
        if (use_in(memory, step, plan.devices) != nullptr && !step.is_transfer &&
            parts.insert(part_of(step).part().get()).second) {
            bytes += part_of(step).part()->packed_bytes();
        }
    }
    return bytes;
}

// The largest of the values that are alive together where the most bytes are.
std::string largest_values(const GraphData& graph,
                           const DevicePlan& devices,
                           const MemoryPlan& plan) {
    constexpr size_t kMostNames = 3;
    std::vector<std::pair<int64_t, int32_t>> alive;  // bytes, index
    for (const int32_t buffer : plan.bound_buffers) {
        alive.emplace_back(devices.values[size_t(buffer)].size_bytes, buffer);
    }
    std::sort(alive.rbegin(), alive.rend());
    alive.resize(std::min(alive.size(), kMostNames));
    std::string names;
    for (const auto& [bytes, buffer] : alive) {
        names += fmt::format("{}'{}' ({} bytes)", names.empty() ? "" : ", ",
                             devices.name_of(graph, buffer + devices.first_value), bytes);
    }
    return names;
}

// `packed_bytes`: of constants, which have their place already.
Status memory_error(const GraphData& graph,
                    const DevicePlan& devices,
                    const DeviceMemory& memory,
                    int64_t packed_bytes,
                    const LimitAnswer& answer) {
    const DevicePart& part = *memory.part;
    const int64_t limit = part.domain().capacity_bytes - packed_bytes;
    const MemoryPlan& plan = answer.plan;
    const std::string verdict =
        answer.verdict == LimitVerdict::kImpossible
            ? fmt::format("impossible: {} bytes short of what the values need in this order",
                          answer.bytes_short)
            : fmt::format(
                  "no plan found: the best is {} bytes above the limit, the bound {} bytes below "
                  "it",
                  plan.height_bytes - limit, limit - plan.proved_bytes);
    return out_of_memory("the parts on {} do not fit its memory, {}; {}", part.place().label,
                         part.domain().name, verdict)
        .with_found(fmt::format("packed weights {} bytes; values and transients at least {} (best "
                                "plan {}), with {}",
                                packed_bytes, plan.lower_bound_bytes, plan.height_bytes,
                                largest_values(graph, devices, plan)))
        .with_needed(fmt::format("at most {} bytes", part.domain().capacity_bytes))
        .with_hint("place fewer nodes there, or use smaller shapes");
}

Result<LimitAnswer> lay_out_own_memory(int32_t index,
                                       bool is_apart,
                                       const StepWaits& waits,
                                       Plan& plan) {
    DeviceProblem problem = device_problem(index, is_apart, plan);
    const int64_t capacity = plan.devices.memories[size_t(index)].part->domain().capacity_bytes;
    if (capacity > 0) {
        problem.limit_bytes = capacity - packed_bytes_in(index, plan);
    }
    return lay_out_on_device(problem, waits);
}

Status place_in_own_memory(
    int32_t index, bool is_apart, const StepWaits& waits, const GraphData& graph, Plan& plan) {
    DevicePlan& devices = plan.devices;
    LEAT_ASSIGN_OR_RETURN(const LimitAnswer answer,
                          lay_out_own_memory(index, is_apart, waits, plan));
    const MemoryPlan& layout = answer.plan;
    if (answer.verdict != LimitVerdict::kMet) {
        return memory_error(graph, devices, devices.memories[size_t(index)],
                            packed_bytes_in(index, plan), answer);
    }
    for (const PlanStep& step : plan.steps) {
        DeviceUse* use = use_in(index, step, devices);
        for (const int32_t value : use == nullptr ? std::vector<int32_t>{} : values_of(*use)) {
            use->offsets.push_back(value < 0 ? 0
                                             : layout.offsets[size_t(value - devices.first_value)]);
        }
    }
    DeviceMemory& memory = devices.memories[size_t(index)];
    memory.size_bytes = layout.height_bytes;
    memory.lower_bound_bytes = layout.lower_bound_bytes;
    memory.unplanned_bytes = layout.unplanned_bytes;
    return {};
}

// As the host's plan has them.
void place_in_arena(int32_t index, const MemoryLayout& layout, Plan& plan) {
    for (const PlanStep& step : plan.steps) {
        DeviceUse* use = use_in(index, step, plan.devices);
        for (const int32_t value : use == nullptr ? std::vector<int32_t>{} : values_of(*use)) {
            int64_t offset = 0;
            if (value >= 0 && layout.places[size_t(value)].buffer >= 0) {
                const ValuePlace& place = layout.places[size_t(value)];
                offset = layout.plan.offsets[size_t(place.buffer)] + place.offset_bytes;
            }
            use->offsets.push_back(offset);
        }
    }
}

}  // namespace

void add_transfers(const GraphData& graph,
                   const std::function<TensorArg(ValueId)>& argument,
                   std::span<const ValueView> views,
                   Plan& plan) {
    TransferWriter(graph, argument, views, plan).write();
}

Result<bool> fits_device_memory(const StepWaits& waits, bool is_apart, Plan& plan) {
    for (int32_t index = 0; index < int32_t(plan.devices.memories.size()); ++index) {
        if (!plan.devices.memories[size_t(index)].is_arena) {
            LEAT_ASSIGN_OR_RETURN(const LimitAnswer answer,
                                  lay_out_own_memory(index, is_apart, waits, plan));
            if (answer.verdict != LimitVerdict::kMet) {
                return false;
            }
        }
    }
    return true;
}

Status place_device_memory(const GraphData& graph,
                           const MemoryLayout& layout,
                           bool is_apart,
                           Plan& plan) {
    for (int32_t index = 0; index < int32_t(plan.devices.memories.size()); ++index) {
        if (plan.devices.memories[size_t(index)].is_arena) {
            place_in_arena(index, layout, plan);
        } else {
            LEAT_RETURN_IF_ERROR(place_in_own_memory(index, is_apart, *layout.waits, graph, plan));
        }
    }
    return {};
}

std::vector<bool> buffers_of_devices(const MemoryLayout& layout, const DevicePlan& devices) {
    std::vector<bool> are_used(layout.buffers.size(), false);
    for (const DeviceUse& use : devices.uses) {
        for (const int32_t value :
             devices.memory_of(use).is_arena ? values_of(use) : std::vector<int32_t>{}) {
            if (value >= 0 && layout.places[size_t(value)].buffer >= 0) {
                are_used[size_t(layout.places[size_t(value)].buffer)] = true;
            }
        }
    }
    return are_used;
}

void report_devices(Plan& plan) {
    PlanReport& report = plan.report;
    report.transfer_count = int(plan.devices.transfer_nodes.size());
    report.transfer_bytes = plan.devices.transfer_bytes;
    for (const DeviceMemory& memory : plan.devices.memories) {
        if (memory.is_arena) {
            continue;
        }
        report.device_memory.push_back({memory.part->place().label, memory.part->domain().name,
                                        memory.size_bytes, memory.lower_bound_bytes,
                                        memory.unplanned_bytes});
    }
}

}  // namespace leat
