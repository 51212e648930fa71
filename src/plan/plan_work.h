// PlanWork: what a plan carries out: steps with their kernels, arguments, constants, and values on
// devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/host_kernel.h"
#include "base/id_vector.h"
#include "graph/graph_data.h"
#include "machine/device_step.h"
#include "plan/devices/device_plan.h"

namespace leat {

class Region;

struct PlanStep {
    const NodeData* node = nullptr;
    const HostKernel* kernel = nullptr;  // of PlanWork::kernels: its number is
    int32_t kernel_number = -1;
    const DeviceStep* device = nullptr;  // the kernel, if a device carries it out
    const Region* region = nullptr;      // the kernel, if it runs bodies that have plans
    int32_t first_arg = 0;               // index of its inputs, then its outputs, in PlanWork::args
    int32_t input_count = 0;
    int32_t output_count = 0;
    int32_t device_use = -1;   // of DevicePlan::uses, if it has a device
    int32_t own_memory = -1;   // of PlanWork::own_memories, if it has any
    bool is_transfer = false;  // its node is one of DevicePlan::transfer_nodes
    double cost_ns = 0;        // of the whole step on one worker, as the program was made with
    // As PrepareContext has them.
    uint64_t packed_inputs = 0;
    uint64_t unaligned_inputs = 0;
};

// Bytes in the arena that one step alone uses: HostKernel::shared_bytes.
struct OwnMemory {
    const NodeData* node = nullptr;
    int64_t size_bytes = 0;
    int64_t arena_offset = 0;  // once memory is placed
};

struct PlanWork {
    std::vector<PlanStep> steps;
    // Steps may share them, and so may plans of the same graph.
    std::vector<std::shared_ptr<const HostKernel>> kernels;
    std::vector<TensorArg> args;  // data is null unless constant
    std::vector<Tensor> constants;
    IdVector<ValueId, int32_t> constant_of_value;  // index in `constants`; -1: none
    // A node reads it, or the graph gives it out; empty: nobody has asked.
    IdVector<ValueId, bool> read_values;
    DevicePlan devices;
    std::vector<OwnMemory> own_memories;
    int32_t copies_ahead = 0;          // of streamed constants, in parts
    int64_t largest_result_bytes = 0;  // of what steps compute
    int64_t scratch_bytes = 0;         // per worker, aligned
    // Steps may run while devices carry out others, as far as data is concerned.
    bool overlaps_devices = false;

    std::span<const TensorArg> inputs_of(const PlanStep& step) const {
        return std::span(args).subspan(size_t(step.first_arg), size_t(step.input_count));
    }
    std::span<const TensorArg> outputs_of(const PlanStep& step) const {
        return std::span(args).subspan(size_t(step.first_arg) + size_t(step.input_count),
                                       size_t(step.output_count));
    }
    // As memory is planned: numbers go on where those of the graph and of devices end.
    int32_t value_of_own_memory(const GraphData& graph, int32_t memory) const {
        return int32_t(graph.values.size() + devices.values.size()) + memory;
    }
    // In the arena of a plan; null: the step has none.
    std::byte* own_memory_of(const PlanStep& step, std::byte* arena) const {
        return step.own_memory < 0 ? nullptr
                                   : arena + own_memories[size_t(step.own_memory)].arena_offset;
    }
    // Of a value of the graph, of devices, or of a step's own memory.
    std::string name_of(const GraphData& graph, int32_t value) const;
    const DeviceUse& use_of(const PlanStep& step) const {
        return devices.uses[size_t(step.device_use)];
    }
};

// Precondition: it is one of the graph's own.
inline NodeId id_of(const GraphData& graph, const NodeData& node) {
    return {int32_t(&node - graph.nodes.data())};
}

// Null: the node has none. Transfers are of no node of the graph.
using StepsByNode = IdVector<NodeId, const PlanStep*>;

}  // namespace leat
