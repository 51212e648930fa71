#include "backends/vulkan/plugin/vulkan_executable.h"

#include <fmt/core.h>

#include <utility>
#include <vector>

#include "backends/vulkan/plugin/vulkan_instance.h"
#include "backends/vulkan/plugin/vulkan_slab.h"
#include "base/transformed.h"

namespace leat::vulkan {

VulkanExecutable::VulkanExecutable(LazyDevice& device,
                                   const CustomOperators& operators,
                                   plugin::Host host,
                                   lowered::ImportedGraph graph)
    : LoweredExecutable(std::move(graph), {kArenaAlignmentBytes, device.domain()}),
      device_(device),
      operators_(operators),
      host_(host) {}

void VulkanExecutable::warm() {
    if (!graph().symbols.empty() || graph().host_inputs != 0) {
        return;
    }
    try {
        const std::vector<const LeatTensorView*> no_host_inputs(graph().graph.inputs.size());
        auto shape = plugin::made<LeatRunShape>();
        shape.input_count = int32_t(no_host_inputs.size());
        shape.host_inputs = no_host_inputs.data();
        const auto program = program_of(shape);
        device_.open().pipelines->begin(program->shaders, host_);
    } catch (const plugin::Error& error) {
        // Whoever links meets it again, and knows for what.
        host_.log(kLeatLogDebug, fmt::format("pipelines are not made ahead: {}", error.what()));
    }
}

void VulkanExecutable::write(LeatPlacement to, std::span<const std::byte> bytes) {
    slab_of(to, int64_t(bytes.size()), device_).write(to.offset_bytes, bytes);
}

std::shared_ptr<const DeviceProgram> VulkanExecutable::program_of(const LeatRunShape& shape) {
    return last_program_.of(shape, [&](const DeviceProgram* former) {
        return std::make_shared<const DeviceProgram>(
            make_program(graph(), device_.limits(), shape,
                         {.operators = &operators_,
                          .former = former == nullptr ? nullptr : former->lowered.form}));
    });
}

std::unique_ptr<plugin::Requirements> VulkanExecutable::requirements(const LeatRunShape& shape) {
    const std::shared_ptr<const DeviceProgram> program = program_of(shape);
    const auto transients = transformed(program->transients, [](const ProgramTransient& transient) {
        return lowered::LoweredTransient{transient.bytes, transient.steps};
    });
    const auto step_names =
        transformed(program->step_names, [](const std::string& name) { return name.c_str(); });
    lowered::ProgramNeeds needs{program, transients, program->lowered.outputs, program->edges,
                                program->step_count};
    needs.step_names = step_names;
    return requirements_of(needs);
}

std::unique_ptr<plugin::Instance> VulkanExecutable::link(const LeatRunShape& shape,
                                                         const LeatLinkage& linkage) {
    return std::make_unique<VulkanInstance>(device_, host_, program_of(shape), linkage);
}

}  // namespace leat::vulkan
