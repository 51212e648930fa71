#include "backends/host_device/host_executable.h"

#include <fmt/core.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "backends/host_device/host_instance.h"
#include "backends/host_device/host_slab.h"
#include "graph/text.h"
#include "memory/content_hash.h"

namespace leat::host_device {
namespace {

uint64_t hash_of(std::string_view text) {
    return content_hash(std::as_bytes(std::span<const char>(text.data(), text.size())));
}

// The graph's text has a hash for each large constant.
uint64_t hash_of_graph(const lowered::ImportedGraph& graph) {
    std::string text = graph_to_text(graph.graph);
    for (const lowered::Symbol& symbol : graph.symbols) {
        text.append(symbol.name).append(" ");
    }
    for (const LeatStatePair pair : graph.states) {
        text.append(fmt::format("{} {} ", pair.input, pair.output));
    }
    return hash_of(text);
}

}  // namespace

HostExecutable::HostExecutable(lowered::ImportedGraph graph,
                               const DeviceContext& context,
                               int32_t device)
    : LoweredExecutable(std::move(graph), {context.alignment_bytes, device}),
      context_(context),
      device_(device),
      graph_hash_(context.identifies_programs ? hash_of_graph(this->graph()) : 0) {}

void HostExecutable::write(LeatPlacement to, std::span<const std::byte> bytes) {
    std::memcpy(address_of(to, int64_t(bytes.size())), bytes.data(), bytes.size());
}

std::shared_ptr<const HostProgram> HostExecutable::program_of(const LeatRunShape& shape) {
    return last_program_.of(shape, [&](const HostProgram* former) {
        return make_program(graph(), shape, context_, former);
    });
}

std::unique_ptr<plugin::Requirements> HostExecutable::requirements(const LeatRunShape& shape) {
    const std::shared_ptr<const HostProgram> program = program_of(shape);
    const HostForm& form = *program->form;
    return requirements_of({program, program->graph.transients, program->graph.outputs, form.edges,
                            int32_t(form.steps.size()), form.input_rows, form.output_rows,
                            form.step_name_rows});
}

std::unique_ptr<plugin::Instance> HostExecutable::link(const LeatRunShape& shape,
                                                       const LeatLinkage& linkage) {
    ProgramIdentity identity;
    if (context_.identifies_programs) {
        identity = {graph_hash_, hash_of(lowered::key_of(shape))};
    }
    return std::make_unique<HostInstance>(graph().graph, program_of(shape), linkage, context_,
                                          device_, identity);
}

}  // namespace leat::host_device
