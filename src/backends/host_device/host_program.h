// A lowered graph with a prepared kernel for each step: what one set of shapes makes of an
// executable. Immutable, so instances share it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/host_device/device_table.h"
#include "backends/host_device/own_operators.h"
#include "backends/host_device/tile_team.h"
#include "backends/lowered/lowered_graph.h"
#include "backends/queues/plants.h"
#include "leat/plugin_backend.h"
#include "memory/domains/weight_store.h"
#include "ops/roofline.h"

namespace leat::host_device {

// What executables need of their device, which outlives them.
struct DeviceContext {
    DeviceContext(const Backend& backend,
                  const Operators& custom_operators,
                  const queues::Plants& planted,
                  TileTeam& tile_team,
                  plugin::Host host_services,
                  const DeviceOptions& options)
        : kernels(backend),
          operators(custom_operators),
          plants(planted),
          team(tile_team),
          host(host_services),
          alignment_bytes(options.alignment_bytes),
          identifies_programs(options.identifies_programs),
          epoch_ns(host_services.monotonic_ns()) {}

    const Backend& kernels;
    const Operators& operators;
    const queues::Plants& plants;
    TileTeam& team;
    plugin::Host host;
    int64_t alignment_bytes;
    bool identifies_programs;
    int64_t epoch_ns;  // where the device's ticks begin
    mutable WeightStore weights = {};
};

// The device's clock: it ticks every 2 ns.
constexpr int64_t kNsPerTick = 2;
int64_t device_ticks(const DeviceContext& context);

// All empty: the step copies input 0 (a view, such as Reshape) or is NonZero.
struct ProgramStep {
    std::optional<KernelBlob> custom;
    std::unique_ptr<HostKernel> kernel;
    int32_t scratch = -1;        // its transient; -1: it needs none
    int64_t scratch_stride = 0;  // bytes from a worker's scratch to the next one's
    Cost work;
};

// What the host is told of a lowered form. Immutable.
struct HostForm {
    std::shared_ptr<const lowered::LoweredForm> lowered;
    std::vector<int32_t> steps;           // their numbers, one behind the other
    std::vector<LeatEdge> edges;          // a run does one step after the other
    std::vector<std::string> step_names;  // by step: the labels of their nodes
    std::vector<const char*> step_name_rows;
    std::vector<LeatStepList> input_rows;   // by graph input
    std::vector<LeatStepList> output_rows;  // by graph output
};

struct HostProgram {
    std::shared_ptr<const HostForm> form;
    lowered::LoweredGraph graph;  // its transients include the steps' scratch
    std::vector<ProgramStep> steps;
};

// What a run of the node takes; a bounded result counts at its bound.
Cost work_of_node(const NodeData& node,
                  std::span<const TensorArg> inputs,
                  std::span<const TensorArg> outputs);

// `graph` outlives the program. former: the program of another shape, or null.
// Throws what lower() does, and where a kernel refuses the shapes.
std::shared_ptr<const HostProgram> make_program(const lowered::ImportedGraph& graph,
                                                const LeatRunShape& shape,
                                                const DeviceContext& context,
                                                const HostProgram* former);

}  // namespace leat::host_device
