#include "backends/vulkan/plugin/lower/concat_places.h"

#include <algorithm>

namespace leat::vulkan {
namespace {

using lowered::LoweredGraph;
using lowered::LoweredPlace;
using lowered::LoweredStep;
using lowered::Place;

class ConcatPlacer {
  public:
    ConcatPlacer(const GraphData& graph, const LoweredGraph& lowered, const MovedViews& views)
        : graph_(graph), lowered_(lowered), views_(views) {
        places_.parts.resize(lowered.transients.size());
        places_.is_done.resize(lowered.steps.size());
    }

    ConcatPlaces place() {
        for (size_t s = 0; s < lowered_.steps.size(); ++s) {
            const NodeData& node = graph_.node(lowered_.steps[s].node);
            places_.is_done[s] = is_own(node, "Concat") && place_operands_of(int32_t(s), node);
        }
        return std::move(places_);
    }

  private:
    LoweredPlace place_of(ValueId value) const {
        return lowered_.form->places[size_t(value.index)];
    }

    // Whether the operands' elements follow each other in the result.
    static bool is_contiguous(const NodeData& node, const TensorArg& y) {
        const Result<int> axis = axis_of(node, y.shape.rank());
        return axis.ok() && bits_of(y.dtype) >= 8 && y.shape.element_count() > 0 &&
               y.shape.element_count(0, *axis) == 1;
    }

    // Whether the value has memory for itself alone, which may be moved.
    bool is_movable(ValueId value, int64_t bytes) const {
        const LoweredPlace place = place_of(value);
        return place.place == Place::kTransient && !places_.parts[size_t(place.index)] &&
               lowered_.transients[size_t(place.index)].bytes == bytes;
    }

    bool place_operands_of(int32_t step, const NodeData& node) {
        const LoweredStep& concat = lowered_.steps[size_t(step)];
        const ValueId whole = node.outputs[0];
        if (place_of(whole).place != Place::kTransient || !is_contiguous(node, concat.outputs[0])) {
            return false;
        }
        std::vector<std::pair<int32_t, PartPlace>> parts;
        parts.reserve(node.inputs.size());
        int64_t offset = 0;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const int64_t bytes =
                concat.inputs[i].shape.element_count() * bits_of(concat.inputs[i].dtype) / 8;
            const int32_t transient = place_of(node.inputs[i]).index;
            const bool is_new = std::none_of(parts.begin(), parts.end(), [&](const auto& part) {
                return part.first == transient;
            });
            if (!is_movable(node.inputs[i], bytes) || !is_new ||
                offset % kOperandAlignmentBytes != 0 || views_.operand_view(step, i) != nullptr) {
                return false;
            }
            parts.push_back({transient, {whole, offset}});
            offset += bytes;
        }
        for (const auto& [transient, part] : parts) {
            places_.parts[size_t(transient)] = part;
        }
        return true;
    }

    const GraphData& graph_;
    const LoweredGraph& lowered_;
    const MovedViews& views_;
    ConcatPlaces places_;
};

}  // namespace

ConcatPlaces place_operands(const GraphData& graph,
                            const LoweredGraph& lowered,
                            const MovedViews& views) {
    return ConcatPlacer(graph, lowered, views).place();
}

}  // namespace leat::vulkan
