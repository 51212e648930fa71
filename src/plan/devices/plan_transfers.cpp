#include "plan/devices/plan_transfers.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/check.h"
#include "base/first_ready_order.h"
#include "base/sort_unique.h"
#include "graph/part_node.h"
#include "machine/device_kernel.h"
#include "ops/roofline.h"
#include "plan/devices/moved_values.h"
#include "plan/devices/plan_devices.h"
#include "plan/devices/transfer_step.h"
#include "plan/replan_seed.h"
#include "plan/step_memory.h"

namespace leat {
namespace {

constexpr int32_t kHost = -1;  // in place of a memory's index

// Says in terms of values what a part does inside.
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
    TransferWriter(const PlanContext& context,
                   const PlanFacts& facts,
                   const DescribedValues& values,
                   std::span<const ValueView> views,
                   const StepsByNode& steps_before,
                   PlanWork& work)
        : graph_(context.graph()),
          facts_(facts),
          values_(values),
          streams_(context.placed.placement.streams,
                   context.placed.placement.part_of_node,
                   context.placed.parts.size(),
                   work.copies_ahead),
          before_(context.seed->work),
          steps_before_(steps_before),
          work_(work),
          devices_(work.devices),
          use_of_part_(context.placed.parts.size(), -1) {
        devices_.first_value = int32_t(graph_.values.size());
        find_memories();
        find_host_needs();
        find_foreign_values(views);
        in_memory_.assign(devices_.memories.size() + 1, PlaceOfValue(graph_.values.size(), -1));
    }

    void write() {
        reserve();
        sort_steps();
        for (const PlanStep& step : work_.steps) {
            if (step.device == nullptr) {
                steps_.push_back(step);
            } else {
                write_part(step);
            }
        }
        work_.steps = std::move(steps_);
    }

  private:
    // As much as the seed has.
    void reserve() {
        steps_.reserve(std::max(work_.steps.size(), before_.steps.size()));
        devices_.values.reserve(before_.devices.values.size());
        devices_.uses.reserve(before_.devices.uses.size());
        devices_.transfer_nodes.reserve(before_.devices.transfer_nodes.size());
    }

    // Behind the parts that streams have before them.
    void sort_steps() {
        if (streams_.empty()) {
            return;
        }
        std::vector<int32_t> node_of_part;
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            if (const int64_t part = cluster_of(graph_.nodes[n]); part >= 0) {
                node_of_part.resize(std::max(node_of_part.size(), size_t(part) + 1), -1);
                node_of_part[size_t(part)] = int32_t(n);
            }
        }
        std::vector<std::vector<int32_t>> readers(graph_.nodes.size());
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            for (const ValueId id : graph_.nodes[n].inputs) {
                if (id.valid() && graph_.value(id).producer.valid()) {
                    readers[size_t(graph_.value(id).producer.index)].push_back(int32_t(n));
                }
            }
            const auto part = int32_t(cluster_of(graph_.nodes[n]));
            for (const int32_t before :
                 part >= 0 ? streams_.parts_before(part) : std::vector<int32_t>()) {
                readers[size_t(node_of_part[size_t(before)])].push_back(int32_t(n));
            }
        }
        const std::vector<int32_t> ranks = first_ready_ranks(readers);
        LEAT_CHECK(!ranks.empty(), "{} parts that stream wait for each other", node_of_part.size());
        const auto rank = [&](const PlanStep& step) {
            return ranks[size_t(id_of(graph_, *step.node).index)];
        };
        std::sort(work_.steps.begin(), work_.steps.end(),
                  [&](const PlanStep& a, const PlanStep& b) { return rank(a) < rank(b); });
    }

    // By node of the graph; kHost where it is no part, or one that works in the host's arena.
    void find_memories() {
        memory_of_node_ = IdVector<NodeId, int32_t>(graph_.nodes.size(), kHost);
        for (const PlanStep& step : work_.steps) {
            if (step.device != nullptr) {
                const int32_t memory = memory_of(part_of(step).part());
                memory_of_node_[id_of(graph_, *step.node)] = is_arena(memory) ? kHost : memory;
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
        is_foreign_ = IdVector<ValueId, bool>(graph_.values.size(), false);
        const auto is_in_arena = [](const DeviceMemory& memory) { return memory.is_arena; };
        if (std::none_of(devices_.memories.begin(), devices_.memories.end(), is_in_arena)) {
            return;
        }
        for (const ValueId id : graph_.inputs) {
            is_foreign_[id] = true;
        }
        ValueFlows flows;
        for (const ValueView& view : views) {
            flows.emplace_back(ValueId{view.whole}, ValueId{view.part});
        }
        for (const PlanStep& step : work_.steps) {
            if (step.device == nullptr) {
                add_flows(describe_step(work_, facts_.known, step), flows);
            }
        }
        for (bool is_changed = true; is_changed;) {
            is_changed = false;
            for (const auto& [from, to] : flows) {
                is_changed |= is_foreign_[from] && !is_foreign_[to];
                is_foreign_[to] = is_foreign_[to] || is_foreign_[from];
            }
        }
    }

    using ValueFlows = std::vector<std::pair<ValueId, ValueId>>;  // from, to
    static void add_flows(const MemoryStep& step, ValueFlows& flows) {
        for (const int32_t from : step.reads) {
            for (const int32_t to : step.writes) {
                if (!step.views.empty()) {
                    flows.emplace_back(ValueId{from}, ValueId{to});
                }
            }
        }
    }

    void find_host_needs() {
        const std::vector<bool> are_wanted =
            values_wanted_on_host(graph_, memory_of_node_.list(), facts_.needed.list());
        devices_.is_off_host = IdVector<ValueId, bool>(graph_.values.size(), false);
        for (NodeId node{0}; size_t(node.index) < graph_.nodes.size(); ++node.index) {
            for (const ValueId id : graph_.node(node).outputs) {
                if (id.valid()) {
                    devices_.is_off_host[id] =
                        memory_of_node_[node] != kHost && !are_wanted[size_t(id.index)];
                }
            }
        }
    }

    int32_t add_value(int32_t memory, int64_t size_bytes, std::string_view name) {
        const int64_t alignment = devices_.memories[size_t(memory)].part->domain().alignment_bytes;
        devices_.values.push_back({memory, std::max<int64_t>(size_bytes, 1), alignment, name});
        return devices_.first_value + int32_t(devices_.values.size()) - 1;
    }

    // A value that stands for the end of the part; -1: there is none. In place of one that these
    // shapes need no step for, those before it.
    void add_end(int32_t part, DeviceValues& ends) {
        if (part < 0) {
            return;
        }
        const int32_t use = use_of_part_[size_t(part)];
        if (use < 0) {
            for (const int32_t before : streams_.parts_before(part)) {
                add_end(before, ends);
            }
            return;
        }
        int32_t& end = devices_.uses[size_t(use)].end;
        if (end < 0) {
            end = add_value(devices_.uses[size_t(use)].memory, 1, "the end of a part");
        }
        ends.push_back(end);
    }

    // The number of the value in a memory, or in the arena (kHost); -1: it is not there.
    int32_t& in_memory(int32_t memory, ValueId id) {
        return in_memory_[size_t(memory + int64_t{1})][id];
    }

    // The number of the value in the memory, where it is brought to if it is not there. The arena
    // is one memory, whichever backends share it.
    int32_t value_in(int32_t memory, ValueId id, int32_t index, const DeviceKernel& part) {
        if (is_arena(memory) && !is_foreign_[id]) {
            return id.index;
        }
        int32_t& place = in_memory(is_arena(memory) ? kHost : memory, id);
        if (place < 0) {
            const TensorArg arg = values_.argument(id);
            place = add_value(memory, bytes_of(arg), graph_.value(id).name);
            DeviceUse use;
            use.memory = memory;
            use.writes = {place};
            add_end(streams_.part_before_copy(index, id.index), use.ends_before);
            const bool is_streamed = streams_.is_streamed(index, id.index);
            devices_.memories[size_t(memory)].streamed_bytes += is_streamed ? bytes_of(arg) : 0;
            devices_.values.back().is_streamed = is_streamed;
            write_transfer(TransferTo::kDevice, id, std::move(use), part);
        }
        return place;
    }

    // The number of the result that is output `output` of the part, wanted or not.
    int32_t value_of_result(int32_t memory, const PlanStep& step, size_t output) {
        const ValueId id = step.node->outputs[output];
        const bool is_wanted = work_.outputs_of(step)[output].present() && !facts_.known[id];
        if (is_arena(memory) && is_wanted) {
            return id.index;
        }
        const int32_t value = add_value(memory, part_of(step).outputs()[output].size_bytes,
                                        id.valid() ? std::string_view(graph_.value(id).name) : "");
        if (id.valid()) {
            in_memory(memory, id) = value;
        }
        return value;
    }

    void add_inside(const PlanStep& step, DeviceUse& use) {
        const DeviceKernel& kernel = part_of(step);
        use.transients.reserve(kernel.transients().size());
        for (const DeviceKernel::Transient& transient : kernel.transients()) {
            use.transients.push_back(add_value(use.memory, transient.size_bytes, step.node->name));
            devices_.values.back().alignment_bytes = transient.alignment_bytes;
            devices_.values.back().number = int32_t(use.transients.size()) - 1;
        }
        use.inside = inside_before(step, use);
        if (use.inside != nullptr) {
            return;
        }
        const PartInside& part = *kernel.inside();
        InsideWriter inside(part);
        for (size_t i = 0; i < use.reads.size(); ++i) {
            if (use.reads[i] >= 0) {
                inside.add(use.reads[i], InnerSteps::Side::kRead, part.inputs[i]);
            }
        }
        for (size_t i = 0; i < use.writes.size(); ++i) {
            inside.add(use.writes[i], InnerSteps::Side::kWritten, part.outputs[i]);
        }
        for (size_t i = 0; i < use.transients.size(); ++i) {
            inside.add(use.transients[i], InnerSteps::Side::kInside, part.transients[i]);
        }
        use.inside = inside.take();
    }

    // The description of the part's inside in the seed, if it uses the same values; else null.
    std::shared_ptr<const InnerSteps> inside_before(const PlanStep& step,
                                                    const DeviceUse& use) const {
        const PlanStep* found = steps_before_[id_of(graph_, *step.node)];
        if (found == nullptr || part_of(*found).inside() != part_of(step).inside()) {
            return nullptr;
        }
        const DeviceUse& before = before_.use_of(*found);
        return before.reads == use.reads && before.writes == use.writes &&
                       before.transients == use.transients
                   ? before.inside
                   : nullptr;
    }

    void write_part(PlanStep step) {
        const DeviceKernel& part = part_of(step);
        const auto index = int32_t(cluster_of(*step.node));
        const int32_t memory = memory_of(part.part());
        DeviceUse use;
        use.memory = memory;
        use.reads.reserve(part.inputs().size());
        use.writes.reserve(part.outputs().size());
        for (size_t i = 0; i < part.inputs().size(); ++i) {
            const ValueId id = step.node->inputs[i];
            const bool has_place = id.valid() && part.inputs()[i].has_place();
            use.reads.push_back(has_place ? value_in(memory, id, index, part) : -1);
        }
        for (const int32_t before : streams_.parts_before(index)) {
            add_end(before, use.ends_before);
        }
        for (size_t i = 0; i < part.outputs().size(); ++i) {
            use.writes.push_back(value_of_result(memory, step, i));
        }
        add_inside(step, use);
        const DeviceValues writes = use.writes;
        step.device_use = int32_t(devices_.uses.size());
        use_of_part_[size_t(index)] = step.device_use;
        devices_.uses.push_back(std::move(use));
        steps_.push_back(step);
        for (size_t i = 0; i < writes.size() && !is_arena(memory); ++i) {
            const ValueId id = step.node->outputs[i];
            if (work_.outputs_of(step)[i].present() && !devices_.is_off_host[id]) {
                DeviceUse download;
                download.memory = memory;
                download.reads = {writes[i]};
                write_transfer(TransferTo::kHost, id, std::move(download), part);
            }
        }
    }

    // The node of the seed's transfer with this number, if it is the same.
    std::shared_ptr<const NodeData> transfer_node(TransferTo to, ValueId id) const {
        static const OpDef kTransfer{.name = "Transfer", .domain = "leat"};
        const size_t number = devices_.transfer_nodes.size();
        const bool is_upload = to == TransferTo::kDevice;
        if (number < before_.devices.transfer_nodes.size()) {
            const std::shared_ptr<const NodeData>& found = before_.devices.transfer_nodes[number];
            const std::vector<ValueId>& side = is_upload ? found->inputs : found->outputs;
            if (side.size() == 1 && side[0] == id) {
                return found;
            }
        }
        auto node = std::make_shared<NodeData>();
        node->name = graph_.value(id).name;
        node->domain = kTransfer.domain;
        node->op_type = is_upload ? "Upload" : "Download";
        node->def = &kTransfer;
        (is_upload ? node->inputs : node->outputs).push_back(id);
        return node;
    }

    void write_transfer(TransferTo to, ValueId id, DeviceUse use, const DeviceKernel& part) {
        const TensorArg arg = values_.argument(id);
        devices_.transfer_nodes.push_back(transfer_node(to, id));
        const NodeData& node = *devices_.transfer_nodes.back();
        auto kernel = std::make_unique<TransferStep>(part.part(), to, bytes_of(arg));
        // The host's own memory: no queue is faster there.
        kernel->is_submitted = kernel->is_submitted && !is_arena(use.memory);
        PlanStep step;
        step.node = &node;
        step.kernel = kernel.get();
        step.device = kernel.get();
        step.device_use = int32_t(devices_.uses.size());
        step.is_transfer = true;
        step.first_arg = int32_t(work_.args.size());
        step.input_count = int32_t(node.inputs.size());
        step.output_count = int32_t(node.outputs.size());
        work_.args.push_back(arg);
        work_.kernels.push_back(std::move(kernel));
        devices_.uses.push_back(std::move(use));
        devices_.transfer_bytes += bytes_of(arg);
        steps_.push_back(step);
    }

    using PlaceOfValue = IdVector<ValueId, int32_t>;  // -1: not there

    const GraphData& graph_;
    const PlanFacts& facts_;
    const DescribedValues& values_;
    const PartStreams streams_;
    const PlanWork& before_;  // of the seed
    const StepsByNode& steps_before_;
    PlanWork& work_;
    DevicePlan& devices_;
    std::vector<PlanStep> steps_;
    IdVector<NodeId, int32_t> memory_of_node_;
    std::vector<PlaceOfValue> in_memory_;  // [kHost, then memories]
    std::vector<int32_t> use_of_part_;     // -1: it is not written
    IdVector<ValueId, bool> is_foreign_;   // not in the arena
};

}  // namespace

void add_transfers(const PlanContext& context,
                   const PlanFacts& facts,
                   const DescribedValues& values,
                   std::span<const ValueView> views,
                   const StepsByNode& steps_before,
                   PlanWork& work) {
    TransferWriter(context, facts, values, views, steps_before, work).write();
}

}  // namespace leat
