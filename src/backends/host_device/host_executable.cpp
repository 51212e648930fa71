#include "backends/host_device/host_executable.h"

#include <cstring>
#include <utility>

#include "backends/host_device/host_instance.h"
#include "backends/host_device/host_slab.h"

namespace leat::host_device {
namespace {

// A run does one step after the other.
std::vector<LeatEdge> chain(int32_t step_count) {
    std::vector<LeatEdge> edges;
    edges.reserve(size_t(step_count));
    for (int32_t i = 1; i < step_count; ++i) {
        edges.push_back({i - 1, i});
    }
    return edges;
}

}  // namespace

HostExecutable::HostExecutable(lowered::ImportedGraph graph, const DeviceContext& context)
    : LoweredExecutable(std::move(graph), {context.alignment_bytes}), context_(context) {}

void HostExecutable::write(LeatPlacement to, std::span<const std::byte> bytes) {
    std::memcpy(address_of(to, int64_t(bytes.size())), bytes.data(), bytes.size());
}

std::shared_ptr<const HostProgram> HostExecutable::program_of(const LeatRunShape& shape) {
    return last_program_.of(shape, [&] { return make_program(graph(), shape, context_); });
}

std::unique_ptr<plugin::Requirements> HostExecutable::requirements(const LeatRunShape& shape) {
    const std::shared_ptr<const HostProgram> program = program_of(shape);
    const lowered::LoweredGraph& lowered = program->graph;
    const auto step_count = int32_t(lowered.steps.size());
    return requirements_of(
        {program, lowered.transients, lowered.outputs, chain(step_count), step_count});
}

std::unique_ptr<plugin::Instance> HostExecutable::link(const LeatRunShape& shape,
                                                       const LeatLinkage& linkage) {
    return std::make_unique<HostInstance>(graph().graph, program_of(shape), linkage, context_);
}

}  // namespace leat::host_device
