// DeviceProgram: what one set of shapes makes of a graph on a device, before anything has an
// address: commands on buffers of their own, one for each value, and what the host must place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "backends/vulkan/kernel/kernel.h"
#include "backends/vulkan/plugin/custom_operators.h"
#include "backends/vulkan/record/command_list.h"
#include "leat/plugin.h"

namespace leat::vulkan {

// What a buffer of a program's list is.
enum class BufferRole : uint8_t {
    kInput,      // bound for each run; index among the graph's inputs
    kOutput,     // bound for each run; index among the graph's outputs
    kTransient,  // index among DeviceProgram::transients
    kConstant,   // index among the packed constants
    kLiteral,    // known when the program is made; index among its values
    kReport,     // index among DeviceProgram::reports
};
struct ProgramBuffer {
    BufferRole role{};
    int32_t index = -1;
    int64_t size_bytes = 0;  // 0: nobody touches it
};

struct ProgramTransient {
    int64_t bytes = 0;
    std::vector<int32_t> steps;
};

struct DeviceProgram {
    lowered::LoweredGraph lowered;
    CommandList list;
    std::vector<ProgramBuffer> buffers;  // by BufferId of the list
    std::vector<ShaderUse> shaders;      // by PipelineId of the list
    // Values that steps of the program share, then scratch. Steps are those below.
    std::vector<ProgramTransient> transients;
    std::vector<IndexReport> reports;
    std::vector<LeatEdge> edges;
    // Groups of nodes that run as one (fused_groups.h), then copies of values into outputs that
    // have memory of their own.
    int32_t step_count = 0;
    // By step: the labels of its nodes, "node 'conv1' (Conv) + node 'relu1' (Relu)".
    std::vector<std::string> step_names;
    // First command of each step, and their count at the end.
    std::vector<uint32_t> step_begins;
};

struct ProgramOptions {
    const CustomOperators* operators = nullptr;  // null: leat's alone
    bool fuses = true;  // false: each node is a step of its own, to compare with
    // Of a program for another shape; null: there is none.
    std::shared_ptr<const lowered::LoweredForm> former = nullptr;
};

// Throws an Error where a node has no kernel, or its kernel refuses the shapes.
DeviceProgram make_program(const lowered::ImportedGraph& graph,
                           const KernelLimits& limits,
                           const LeatRunShape& shape,
                           ProgramOptions options = {});

}  // namespace leat::vulkan
