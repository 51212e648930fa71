// A program with addresses.
#pragma once

#include <memory>
#include <vector>

#include "backends/host_device/host_program.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

class HostInstance final : public plugin::Instance {
  public:
    // `graph` is the program's and outlives it. Throws where `linkage` has not what it needs.
    HostInstance(const GraphData& graph,
                 std::shared_ptr<const HostProgram> program,
                 const LeatLinkage& linkage,
                 const DeviceContext& context);

    // Checks ranges; throws before anything has happened.
    void check_bindings(const LeatBinding* inputs, const LeatBinding* outputs) const;
    // On the device's thread.
    void run(const std::vector<LeatBinding>& inputs,
             const std::vector<LeatBinding>& outputs,
             LeatProfile* profile);
    size_t input_count() const { return graph_.inputs.size(); }
    size_t output_count() const { return graph_.outputs.size(); }

  private:
    std::byte* address_of_value(ValueId id,
                                const std::vector<LeatBinding>& inputs,
                                const std::vector<LeatBinding>& outputs) const;
    void bind_step(size_t index,
                   const std::vector<LeatBinding>& inputs,
                   const std::vector<LeatBinding>& outputs);
    void run_step(size_t index, const std::vector<LeatBinding>& outputs);
    void run_non_zero_step(size_t index, const std::vector<LeatBinding>& outputs);
    void copy_outputs(const std::vector<LeatBinding>& inputs,
                      const std::vector<LeatBinding>& outputs) const;
    void check_binding(const LeatBinding& binding, int64_t bytes) const;

    const GraphData& graph_;
    std::shared_ptr<const HostProgram> program_;
    const DeviceContext& context_;
    std::vector<lowered::LoweredStep> args_;  // by step, with the addresses of this run
    std::vector<std::byte*> transients_;
    std::vector<std::byte*> constants_;
};

}  // namespace leat::host_device
