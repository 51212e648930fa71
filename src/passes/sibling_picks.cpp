// Many Gather nodes that each pick one position of the same axis pick from a transpose of the
// value, in which that axis is the outermost.
//
// Detectors take the scores of one class after the other from a matrix of boxes x classes, and
// each pick then reads the whole matrix: a cache line for one element. The transpose reads it once.
#include <fmt/core.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

constexpr int64_t kLineBytes = 64;
// A pick of 3,234 elements of 91 columns takes 15 us, and the transpose of them all 100.
constexpr int64_t kMostPositionsPerPick = 8;
constexpr int64_t kFewestPicks = 4;

class PickGrouper {
  public:
    PickGrouper(GraphData& graph, const PassContext& context, NodeHistory& history)
        : graph_(graph), context_(context), rewriter_(graph, history) {}

    Result<int> run() {
        int grouped = 0;
        const int32_t count = graph_.value_count();
        for (ValueId id{0}; id.index < count; ++id.index) {
            if (context_.has_facts(id) && rewriter_.readers(id).size() >= size_t{kFewestPicks}) {
                grouped += group_picks_of(id);
            }
        }
        return grouped;
    }

  private:
    // The axis if the node picks one position of it, which is not the outermost; otherwise 0.
    int axis_of_pick(ValueId value, NodeId id) const {
        const NodeData& node = graph_.node(id);
        const TypeInfo& type = context_.type(value);
        if (node.dead || !node.domain.empty() || node.op_type != "Gather" ||
            node.inputs[0] != value || node.inputs[1] == value) {
            return 0;
        }
        const Tensor* const index = constant_of(graph_, node.inputs[1]);
        const int64_t axis = node.attr("axis", int64_t{0});
        return index == nullptr || index->shape().rank() > 0
                   ? 0
                   : int(axis < 0 ? axis + type.rank() : axis);
    }

    bool is_pinned(NodeId id) {
        return rewriter_.history().pin_of(graph_.node(id).name).is_pinned();
    }

    // Whether picks of the axis read far more than they take.
    bool is_scattered(const TypeInfo& type, int axis) const {
        int64_t bytes = bits_of(type.dtype) / 8;
        for (int inner = axis + 1; inner < type.rank(); ++inner) {
            const DimSpec& dim = (*type.dims)[size_t(inner)];
            if (!dim.is_fixed()) {
                return false;
            }
            bytes *= std::min(dim.extent(), kLineBytes);
            bytes = std::min(bytes, kLineBytes);
        }
        const auto is_one = [](const DimSpec& dim) { return dim.is_fixed() && dim.extent() == 1; };
        return bytes <= kLineBytes / 4 &&
               !std::all_of(type.dims->begin(), type.dims->begin() + axis, is_one);
    }

    int group_picks_of(ValueId value) {
        const TypeInfo& type = context_.type(value);
        if (!type.is_tensor() || !type.dims || type.dtype == DType::kString ||
            bits_of(type.dtype) < 8) {
            return 0;
        }
        int grouped = 0;
        for (int axis = 1; axis < type.rank(); ++axis) {
            const DimSpec& extent = (*type.dims)[size_t(axis)];
            std::vector<NodeId> picks;
            for (const NodeId reader : rewriter_.readers(value)) {
                if (axis_of_pick(value, reader) == axis && !is_pinned(reader)) {
                    picks.push_back(reader);
                }
            }
            const auto count = int64_t(picks.size());
            if (count >= kFewestPicks && extent.is_fixed() &&
                extent.extent() <= count * kMostPositionsPerPick && is_scattered(type, axis)) {
                pick_from_transpose(value, axis, picks);
                grouped += int(count);
            }
        }
        return grouped;
    }

    void pick_from_transpose(ValueId value, int axis, const std::vector<NodeId>& picks) {
        std::vector<int64_t> perm = {axis};
        for (int i = 0; i < context_.type(value).rank(); ++i) {
            if (i != axis) {
                perm.push_back(i);
            }
        }
        const NodeId transpose =
            rewriter_.add_node("", "Transpose", {value}, graph_.value(value).name + ".picks");
        graph_.node(transpose).attributes["perm"] = perm;
        for (const NodeId pick : picks) {
            rewriter_.set_input(pick, 0, graph_.node(transpose).outputs[0]);
            graph_.node(pick).attributes["axis"] = int64_t{0};
        }
    }

    GraphData& graph_;
    const PassContext& context_;
    Rewriter rewriter_;
};

}  // namespace

Result<bool> group_sibling_picks(GraphData& graph, PassContext& context) {
    LEAT_ASSIGN_OR_RETURN(const int picks, PickGrouper(graph, context, context.history).run());
    if (picks > 0) {
        context.detail = fmt::format("{} nodes", picks);
    }
    return picks > 0;
}

}  // namespace leat
