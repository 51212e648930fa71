// Compiled graphs of sim, and their instances.
#pragma once

#include <memory>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "backends/sim/plants.h"
#include "backends/sim/sim_memory.h"
#include "backends/sim/sim_operators.h"
#include "leat/plugin_backend.h"

namespace leat::sim {

// What executables need of their backend, which outlives them.
struct ExecutableContext {
    ExecutableContext(const Operators& custom_operators,
                      const Plants& planted,
                      plugin::Host host_services,
                      int64_t alignment)
        : operators(custom_operators),
          plants(planted),
          host(host_services),
          alignment_bytes(alignment),
          epoch_ns(host_services.monotonic_ns()) {}

    const Operators& operators;
    const Plants& plants;
    plugin::Host host;
    int64_t alignment_bytes;
    int64_t epoch_ns;  // where the device's ticks begin
};

// The device's clock: it ticks every 2 ns.
constexpr int64_t kNsPerTick = 2;
int64_t device_ticks(const ExecutableContext& context);

class SimExecutable final : public plugin::Executable {
  public:
    SimExecutable(lowered::ImportedGraph graph, const ExecutableContext& context);

    const LeatExecutableInfo& info() const override { return info_; }
    void save(const LeatSink& sink) override;
    void pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) override;
    std::unique_ptr<plugin::Requirements> requirements(const LeatRunShape& shape) override;
    std::unique_ptr<plugin::Instance> link(const LeatRunShape& shape,
                                           const LeatLinkage& linkage) override;

  private:
    lowered::ImportedGraph graph_;
    const ExecutableContext& context_;
    std::vector<int32_t> packed_index_;  // by value; -1: no constant
    std::vector<LeatPackedConstant> constants_;
    std::vector<const LeatPackedConstant*> constant_pointers_;
    LeatExecutableInfo info_;
};

class SimInstance final : public plugin::Instance {
  public:
    SimInstance(const GraphData& graph,
                lowered::LoweredGraph program,
                const LeatLinkage& linkage,
                const ExecutableContext& context);

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
    void run_step(size_t index, const std::vector<LeatBinding>& outputs);
    void check_binding(const LeatBinding& binding, int64_t bytes) const;

    const GraphData& graph_;
    lowered::LoweredGraph program_;
    const ExecutableContext& context_;
    std::vector<std::shared_ptr<const CustomOperator>> custom_;  // by step; null: one of leat's
    std::vector<std::byte*> transients_;
    std::vector<std::byte*> constants_;
};

}  // namespace leat::sim
