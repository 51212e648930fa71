// A program with addresses.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/host_device/host_program.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

// Equal for the same graph and run shape, whatever process compiled it.
struct ProgramIdentity {
    uint64_t graph_hash = 0;
    uint64_t shape_hash = 0;
};

class HostInstance final : public plugin::Instance {
  public:
    // `graph` is the program's and outlives it. Throws where `linkage` has not what it needs.
    HostInstance(const GraphData& graph,
                 std::shared_ptr<const HostProgram> program,
                 const LeatLinkage& linkage,
                 const DeviceContext& context,
                 int32_t device,
                 ProgramIdentity identity);

    // Checks ranges; throws before anything has happened.
    void check_bindings(const LeatBinding* inputs, const LeatBinding* outputs) const;
    // On the device's thread.
    void run(const std::vector<LeatBinding>& inputs,
             const std::vector<LeatBinding>& outputs,
             LeatProfile* profile);
    size_t input_count() const { return graph_.inputs.size(); }
    size_t output_count() const { return graph_.outputs.size(); }

    int32_t device() const { return device_; }
    const HostProgram& program() const { return *program_; }
    const std::string& graph_name() const { return graph_.name; }
    // Zeros unless the device identifies programs.
    ProgramIdentity identity() const { return identity_; }
    // What a run reads of an input; empty for one that it reads elsewhere.
    std::span<const std::byte> input_range(size_t input,
                                           const std::vector<LeatBinding>& inputs) const;
    // Where a run writes an output; at most, if its size depends on data.
    std::span<std::byte> output_range(size_t output, const std::vector<LeatBinding>& outputs) const;
    const TypeInfo& output_type(size_t output) const;

  private:
    std::byte* address_of_value(ValueId id,
                                const std::vector<LeatBinding>& inputs,
                                const std::vector<LeatBinding>& outputs) const;
    void bind_step(size_t index,
                   const std::vector<LeatBinding>& inputs,
                   const std::vector<LeatBinding>& outputs);
    // The arguments of the program, in args_.
    std::span<TensorArg> own(std::span<const TensorArg> of_program);
    // Of a step.
    std::span<TensorArg> inputs_of(size_t index);
    std::span<TensorArg> outputs_of(size_t index);
    void run_step(size_t index, const std::vector<LeatBinding>& outputs);
    void run_non_zero_step(size_t index, const std::vector<LeatBinding>& outputs);
    void copy_outputs(const std::vector<LeatBinding>& inputs,
                      const std::vector<LeatBinding>& outputs) const;
    int64_t input_bytes(size_t input) const;
    void check_binding(const LeatBinding& binding, int64_t bytes) const;

    const GraphData& graph_;
    std::shared_ptr<const HostProgram> program_;
    const DeviceContext& context_;
    const int32_t device_;
    const ProgramIdentity identity_;
    std::vector<TensorArg> args_;  // of all steps, with the addresses of this run
    std::vector<std::byte*> transients_;
    std::vector<std::byte*> constants_;
};

}  // namespace leat::host_device
