// Compiled graphs of a device on the host.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/host_device/host_program.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

class HostExecutable final : public plugin::Executable {
  public:
    HostExecutable(lowered::ImportedGraph graph, const DeviceContext& context);

    const LeatExecutableInfo& info() const override { return info_; }
    void save(const LeatSink& sink) override;
    void pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) override;
    std::unique_ptr<plugin::Requirements> requirements(const LeatRunShape& shape) override;
    std::unique_ptr<plugin::Instance> link(const LeatRunShape& shape,
                                           const LeatLinkage& linkage) override;

  private:
    std::shared_ptr<const HostProgram> program_for(const LeatRunShape& shape);

    lowered::ImportedGraph graph_;
    const DeviceContext& context_;
    std::vector<int32_t> packed_index_;  // by value; -1: no constant
    std::vector<LeatPackedConstant> constants_;
    std::vector<const LeatPackedConstant*> constant_pointers_;
    LeatExecutableInfo info_;
    // The last program and what shapes it is for: link() follows requirements().
    std::mutex mutex_;
    std::string last_key_;
    std::shared_ptr<const HostProgram> last_;
};

}  // namespace leat::host_device
