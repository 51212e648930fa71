// Concatenations without copies: where a result is one operand after the other in memory (a Concat
// of channels of one image), the operands are written there.
#pragma once

#include <optional>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "backends/vulkan/plugin/lower/moved_views.h"

namespace leat::vulkan {

// A value that lies in another one's memory.
struct PartPlace {
    ValueId whole;
    int64_t offset_bytes = 0;
};

struct ConcatPlaces {
    std::vector<std::optional<PartPlace>> parts;  // by transient of the lowered graph
    std::vector<bool> is_done;                    // by step: nothing is left to do
};

ConcatPlaces place_operands(const GraphData& graph,
                            const lowered::LoweredGraph& lowered,
                            const MovedViews& views);

}  // namespace leat::vulkan
