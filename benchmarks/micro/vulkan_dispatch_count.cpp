#include "vulkan_dispatch_count.h"

#include "backends/vulkan/plugin/lower/program.h"
#include "base/error.h"
#include "passes/pipeline.h"
#include "zoo/zoo.h"

namespace leat::micro {
namespace {

int64_t commands_of(const GraphData& graph, const vulkan::KernelLimits& limits, bool fuses) {
    lowered::ImportedGraph imported;
    imported.graph = graph;
    for (size_t i = 0; i < graph.values.size(); ++i) {
        ValueData& value = imported.graph.values[i];
        if (value.constant) {
            value.type = TypeInfo::tensor(value.constant->dtype(), value.constant->shape());
            imported.constants.push_back({int32_t(i), 0, int32_t(i)});
        }
    }
    const auto shape = plugin::made<LeatRunShape>();
    const vulkan::DeviceProgram program =
        vulkan::make_program(imported, limits, shape, {.fuses = fuses});
    return int64_t(program.list.commands().size());
}

Result<GraphData> after_passes(const leat::Graph& graph, bool rewrites) {
    GraphData result = graph.data();
    // As compile() does it for devices of plugins.
    const PassOptions options{
        .optimize = rewrites, .channels_last = false, .fuse_epilogues = false};
    std::vector<PassReport> reports;
    LEAT_RETURN_IF_ERROR(run_passes(result, options, reports));
    return result;
}

}  // namespace

Result<DispatchCount> count_dispatches(std::string_view network,
                                       const vulkan::KernelLimits& limits) {
    LEAT_ASSIGN_OR_RETURN(const leat::Graph graph, zoo::make_network(network));
    Result<DispatchCount> count = count_dispatches(graph, limits);
    if (!count.ok()) {
        return std::move(count).error().with_node(std::string(network));
    }
    return count;
}

Result<DispatchCount> count_dispatches(const leat::Graph& graph,
                                       const vulkan::KernelLimits& limits) {
    LEAT_ASSIGN_OR_RETURN(const GraphData written, after_passes(graph, false));
    LEAT_ASSIGN_OR_RETURN(const GraphData rewritten, after_passes(graph, true));
    try {
        return DispatchCount{commands_of(written, limits, false),
                             commands_of(rewritten, limits, false),
                             commands_of(rewritten, limits, true)};
    } catch (const plugin::Error& error) {
        return unsupported("{}", error.what());
    }
}

vulkan::KernelLimits cpu_device_limits() {
    vulkan::KernelLimits limits;
    limits.is_cpu = true;
    limits.subgroup_size = 8;
    limits.max_workgroup_invocations = 1024;
    limits.shared_memory_bytes = 32768;
    limits.max_window_texels = 134217728;
    limits.window_alignment_bytes = 16;
    return limits;
}

vulkan::KernelLimits gpu_limits() {
    vulkan::KernelLimits limits;
    limits.max_workgroup_invocations = 1024;
    limits.shared_memory_bytes = 49152;
    limits.max_groups = {2147483647, 65535, 65535};
    return limits;
}

}  // namespace leat::micro
