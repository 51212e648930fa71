// Compiled graphs of a device on the host.
#pragma once

#include <memory>

#include "backends/host_device/host_program.h"
#include "backends/lowered/last_program.h"
#include "backends/lowered/lowered_executable.h"

namespace leat::host_device {

// Thread-safe. The device outlives it.
class HostExecutable final : public lowered::LoweredExecutable {
  public:
    HostExecutable(lowered::ImportedGraph graph, const DeviceContext& context, int32_t device);

    std::unique_ptr<plugin::Requirements> requirements(const LeatRunShape& shape) override;
    std::unique_ptr<plugin::Instance> link(const LeatRunShape& shape,
                                           const LeatLinkage& linkage) override;

  private:
    void write(LeatPlacement to, std::span<const std::byte> bytes) override;
    std::shared_ptr<const HostProgram> program_of(const LeatRunShape& shape);

    const DeviceContext& context_;
    const int32_t device_;
    const uint64_t graph_hash_;  // 0: nobody asks
    lowered::LastProgram<HostProgram> last_program_;
};

}  // namespace leat::host_device
