// Compiled graphs, as far as they are alike on every device: constants packed row-major, what the
// host is told, and the saved form.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "backends/lowered/lowered_requirements.h"
#include "backends/lowered/plugin_graph.h"
#include "leat/plugin_backend.h"

namespace leat::lowered {

// Thread-safe where write() is.
class LoweredExecutable : public plugin::Executable {
  public:
    const LeatExecutableInfo& info() const final { return info_; }
    void save(const LeatSink& sink) final;
    void pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) final;

  protected:
    LoweredExecutable(ImportedGraph graph, LoweredMemory memory);

    const ImportedGraph& graph() const { return graph_; }
    std::unique_ptr<plugin::Requirements> requirements_of(const ProgramNeeds& needs) const {
        return std::make_unique<LoweredRequirements>(needs, memory_);
    }

  private:
    // Throws where the bytes do not lie inside of a slab of the device.
    virtual void write(LeatPlacement to, std::span<const std::byte> bytes) = 0;
    void describe_constants();

    const ImportedGraph graph_;
    const LoweredMemory memory_;
    std::vector<LeatPackedConstant> constants_;
    std::vector<const LeatPackedConstant*> constant_pointers_;
    LeatExecutableInfo info_;
};

}  // namespace leat::lowered
