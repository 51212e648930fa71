// Compiled graphs: the graph, and its programs for sets of shapes.
#pragma once

#include <memory>

#include "backends/lowered/last_program.h"
#include "backends/lowered/lowered_executable.h"
#include "backends/vulkan/plugin/lazy_device.h"
#include "backends/vulkan/plugin/lower/program.h"

namespace leat::vulkan {

// Thread-safe. Device and operators outlive it.
class VulkanExecutable final : public lowered::LoweredExecutable {
  public:
    VulkanExecutable(LazyDevice& device,
                     const CustomOperators& operators,
                     plugin::Host host,
                     lowered::ImportedGraph graph);

    // Begins to make the pipelines, if they follow from the graph alone. Errors are left to link().
    void warm();
    std::unique_ptr<plugin::Requirements> requirements(const LeatRunShape& shape) override;
    std::unique_ptr<plugin::Instance> link(const LeatRunShape& shape,
                                           const LeatLinkage& linkage) override;

  private:
    void write(LeatPlacement to, std::span<const std::byte> bytes) override;
    std::shared_ptr<const DeviceProgram> program_of(const LeatRunShape& shape);

    LazyDevice& device_;
    const CustomOperators& operators_;
    plugin::Host host_;
    lowered::LastProgram<DeviceProgram> last_program_;
};

}  // namespace leat::vulkan
