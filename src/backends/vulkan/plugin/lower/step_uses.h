// Which steps of a lowered graph read each value that has memory of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/lowered/lowered_graph.h"

namespace leat::vulkan {

class StepUses {
  public:
    // `graph` and `lowered` outlive it.
    StepUses(const GraphData& graph, const lowered::LoweredGraph& lowered);

    const GraphData& graph() const { return graph_; }
    const lowered::LoweredGraph& lowered() const { return lowered_; }
    const lowered::LoweredStep& step(int32_t index) const { return lowered_.steps[size_t(index)]; }
    const NodeData& node_of(int32_t index) const { return graph_.node(step(index).node); }

    // The transient in which the value lies, perhaps under another shape; nothing where it lies
    // elsewhere.
    std::optional<size_t> transient_of(ValueId value) const;
    // Steps that read the transient of the value, ascending; none where it has none.
    const std::vector<int32_t>& readers(ValueId value) const;
    // Whether it is copied into an output after all steps.
    bool is_copied(ValueId value) const;

  private:
    const GraphData& graph_;
    const lowered::LoweredGraph& lowered_;
    std::vector<std::vector<int32_t>> readers_;  // by transient
    std::vector<bool> is_copied_;                // by transient
    std::vector<int32_t> none_;
};

}  // namespace leat::vulkan
