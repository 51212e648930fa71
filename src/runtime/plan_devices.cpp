#include "runtime/plan_devices.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ops/roofline.h"
#include "partition/partition.h"
#include "runtime/device_kernel.h"
#include "runtime/device_layout.h"
#include "runtime/transfer_step.h"

namespace leat {
namespace {

constexpr int32_t kHost = -1;  // in place of a memory's index

const DeviceKernel& part_of(const PlanStep& step) {
    return static_cast<const DeviceKernel&>(*step.device);
}

class TransferWriter {
  public:
    TransferWriter(const GraphData& graph,
                   const std::function<TensorArg(ValueId)>& argument,
                   Plan& plan)
        : graph_(graph), argument_(argument), plan_(plan), devices_(plan.devices) {}

    void write() {
        devices_.first_value = int32_t(graph_.values.size());
        find_memories();
        find_host_needs();
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
    // By node of the graph; kHost where it is no part.
    void find_memories() {
        memory_of_node_.assign(graph_.nodes.size(), kHost);
        for (const PlanStep& step : plan_.steps) {
            if (step.device != nullptr) {
                memory_of_node_[size_t(step.node - graph_.nodes.data())] =
                    memory_of(part_of(step).part());
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
            memories.push_back({part});
        }
        return index;
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

    int32_t add_value(int32_t memory, int64_t size_bytes) {
        devices_.values.push_back({memory, std::max<int64_t>(size_bytes, 1)});
        return devices_.first_value + int32_t(devices_.values.size()) - 1;
    }

    // Of the value in the memory, where it is brought to if it is not there.
    int32_t value_in(int32_t memory, ValueId id, const DeviceKernel& part) {
        const auto [place, is_new] = in_memory_.try_emplace({id.index, memory}, -1);
        if (is_new) {
            const TensorArg arg = argument_(id);
            place->second = add_value(memory, bytes_of(arg));
            write_transfer(TransferTo::kDevice, id, {memory, {}, {place->second}, {}, {}}, part);
        }
        return place->second;
    }

    void write_part(PlanStep step) {
        const DeviceKernel& part = part_of(step);
        const int32_t memory = memory_of(part.part());
        DeviceUse use{memory, {}, {}, {}, {}};
        for (size_t i = 0; i < part.inputs().size(); ++i) {
            const ValueId id = step.node->inputs[i];
            const bool has_place = id.valid() && part.inputs()[i].has_place();
            use.reads.push_back(has_place ? value_in(memory, id, part) : -1);
        }
        for (size_t i = 0; i < part.outputs().size(); ++i) {
            const ValueId id = step.node->outputs[i];
            use.writes.push_back(add_value(memory, part.outputs()[i].size_bytes));
            if (id.valid()) {
                in_memory_[{id.index, memory}] = use.writes.back();
            }
        }
        const std::vector<int32_t> writes = use.writes;
        step.device_use = int32_t(devices_.uses.size());
        devices_.uses.push_back(std::move(use));
        steps_.push_back(step);
        for (size_t i = 0; i < writes.size(); ++i) {
            const ValueId id = step.node->outputs[i];
            if (plan_.output_arg(step, int32_t(i)).present() &&
                !devices_.is_off_host[size_t(id.index)]) {
                write_transfer(TransferTo::kHost, id, {memory, {writes[i]}, {}, {}, {}}, part);
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
};

// The steps that work in one memory.
class MemoryUsers {
  public:
    MemoryUsers(int32_t memory, bool is_apart, Plan& plan)
        : memory_(memory), plan_(plan), index_of_value_(plan.devices.values.size(), -1) {
        problem_.is_apart = is_apart;
        const int64_t alignment = own().part->domain().alignment_bytes;
        for (size_t value = 0; value < index_of_value_.size(); ++value) {
            if (plan.devices.values[value].memory == memory) {
                index_of_value_[value] = int32_t(problem_.values.size());
                UsedBuffer& buffer = problem_.values.emplace_back();
                buffer.size_bytes = plan.devices.values[value].size_bytes;
                buffer.alignment_bytes = alignment;
            }
        }
        for (size_t step = 0; step < plan.steps.size(); ++step) {
            add_step(int32_t(step));
        }
    }

    Status place(const StepWaits& waits) {
        LEAT_ASSIGN_OR_RETURN(const DeviceLayout layout, lay_out_on_device(problem_, waits));
        auto transients = layout.transients.begin();
        for (const PlanStep& step : plan_.steps) {
            if (!is_user(step)) {
                continue;
            }
            DeviceUse& use = use_of(step);
            for (const std::vector<int32_t>* side : {&use.reads, &use.writes}) {
                for (const int32_t value : *side) {
                    use.offsets.push_back(value < 0 ? 0 : layout.values[size_t(index_of(value))]);
                }
            }
            if (!step.is_transfer) {
                use.offsets.insert(use.offsets.end(), transients->begin(), transients->end());
                ++transients;
            }
        }
        own().size_bytes = layout.plan.height_bytes;
        own().lower_bound_bytes = layout.plan.lower_bound_bytes;
        own().unplanned_bytes = layout.plan.unplanned_bytes;
        return {};
    }

  private:
    DeviceMemory& own() { return plan_.devices.memories[size_t(memory_)]; }
    DeviceUse& use_of(const PlanStep& step) { return plan_.devices.uses[size_t(step.device_use)]; }
    bool is_user(const PlanStep& step) {
        return step.device != nullptr && use_of(step).memory == memory_;
    }
    int32_t index_of(int32_t value) const {
        return index_of_value_[size_t(value - plan_.devices.first_value)];
    }

    void add_step(int32_t position) {
        const PlanStep& step = plan_.steps[size_t(position)];
        if (!is_user(step)) {
            return;
        }
        const DeviceUse& use = use_of(step);
        for (const std::vector<int32_t>* side : {&use.reads, &use.writes}) {
            for (const int32_t value : *side) {
                add_user(value, position);
            }
        }
        if (!step.is_transfer) {
            problem_.parts.push_back({position, &part_of(step).transients()});
        }
    }

    void add_user(int32_t value, int32_t position) {
        if (value < 0) {
            return;
        }
        auto& users = problem_.values[size_t(index_of(value))].users;
        if (users.empty() || users.back() != position) {
            users.push_back(position);
        }
    }

    int32_t memory_;
    Plan& plan_;
    std::vector<int32_t> index_of_value_;
    DeviceProblem problem_;
};

}  // namespace

void add_transfers(const GraphData& graph,
                   const std::function<TensorArg(ValueId)>& argument,
                   Plan& plan) {
    TransferWriter(graph, argument, plan).write();
}

Status place_device_memory(const StepWaits& waits, bool is_apart, Plan& plan) {
    for (size_t memory = 0; memory < plan.devices.memories.size(); ++memory) {
        LEAT_RETURN_IF_ERROR(MemoryUsers(int32_t(memory), is_apart, plan).place(waits));
    }
    return {};
}

void report_devices(Plan& plan) {
    PlanReport& report = plan.report;
    report.transfer_count = int(plan.devices.transfer_nodes.size());
    report.transfer_bytes = plan.devices.transfer_bytes;
    for (const DeviceMemory& memory : plan.devices.memories) {
        report.device_memory.push_back({memory.part->place().label, memory.part->domain().name,
                                        memory.size_bytes, memory.lower_bound_bytes,
                                        memory.unplanned_bytes});
    }
}

}  // namespace leat
