// Compiled graphs: the graph, and its programs for sets of shapes.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/lowered/plugin_graph.h"
#include "backends/vulkan/plugin/lazy_device.h"
#include "backends/vulkan/plugin/program.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

// Thread-safe. The device outlives it.
class VulkanExecutable final : public plugin::Executable {
  public:
    VulkanExecutable(LazyDevice& device, plugin::Host host, lowered::ImportedGraph graph);

    const LeatExecutableInfo& info() const override { return info_; }
    void save(const LeatSink& sink) override;
    void pack(int32_t index, const LeatTensorView& tensor, LeatPlacement to) override;
    std::unique_ptr<plugin::Requirements> requirements(const LeatRunShape& shape) override;
    std::unique_ptr<plugin::Instance> link(const LeatRunShape& shape,
                                           const LeatLinkage& linkage) override;

  private:
    void describe_constants();
    // Of the shapes; the last one is kept, because link() follows requirements().
    std::shared_ptr<const Program> program_of(const LeatRunShape& shape);

    LazyDevice& device_;
    plugin::Host host_;
    lowered::ImportedGraph graph_;
    std::vector<int32_t> packed_index_;  // by value; -1: no constant
    std::vector<LeatPackedConstant> constants_;
    std::vector<const LeatPackedConstant*> constant_pointers_;
    LeatExecutableInfo info_;
    std::mutex mutex_;
    std::string last_key_;
    std::shared_ptr<const Program> last_program_;
};

}  // namespace leat::vulkan
