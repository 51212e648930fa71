#include "backends/vulkan/plugin/lower/moved_views.h"

#include <algorithm>

#include "ops/matmul/gemm_vulkan.h"
#include "ops/movement/movement_vulkan.h"
#include "ops/transpose/transpose.h"

namespace leat::vulkan {
namespace {

using lowered::LoweredGraph;
using lowered::LoweredPlace;
using lowered::LoweredStep;
using lowered::Place;

// The strides of a view under another shape of as many elements, if they are regular. Runs of axes
// that follow each other in memory are one; each axis of `to` lies within one of these.
std::optional<Strides> reshaped(const StridedView& view, const Shape& to) {
    struct Run {
        int64_t extent = 1;
        int64_t stride = 0;
    };
    std::vector<Run> runs;
    runs.reserve(size_t(view.shape.rank()));
    for (int axis = 0; axis < view.shape.rank(); ++axis) {
        const Run own{view.shape[axis], view.strides[size_t(axis)]};
        if (own.extent == 1) {
            continue;
        }
        if (!runs.empty() && runs.back().stride == own.stride * own.extent) {
            runs.back() = {runs.back().extent * own.extent, own.stride};
        } else {
            runs.push_back(own);
        }
    }
    Strides strides{};
    for (int axis = to.rank(); axis-- > 0;) {
        if (to[axis] == 1) {
            continue;
        }
        while (!runs.empty() && runs.back().extent == 1) {
            runs.pop_back();
        }
        if (runs.empty() || runs.back().extent % to[axis] != 0) {
            return std::nullopt;
        }
        strides[size_t(axis)] = runs.back().stride;
        runs.back() = {runs.back().extent / to[axis], runs.back().stride * to[axis]};
    }
    return strides;
}

bool is_viewable(const TensorArg& arg) {
    const int64_t count = arg.shape.element_count();
    return arg.present() && bits_of(arg.dtype) >= 8 && count > 0 && count < kMovementCountLimit;
}

}  // namespace

MovedViews::MovedViews(const GraphData& graph,
                       const LoweredGraph& lowered,
                       const KernelLimits& limits)
    : graph_(graph),
      lowered_(lowered),
      is_cpu_(limits.is_cpu),
      views_(graph.values.size()),
      is_movement_(lowered.steps.size()),
      is_read_(lowered.transients.size()),
      view_readers_(graph.values.size()) {
    std::vector<int32_t> step_of(graph.nodes.size(), -1);
    for (size_t s = 0; s < lowered.steps.size(); ++s) {
        step_of[size_t(lowered.steps[s].node.index)] = int32_t(s);
    }
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (step_of[n] >= 0) {
            is_movement_[size_t(step_of[n])] = add_views(step_of[n]);
        } else {
            add_reshaped(graph.nodes[n]);
        }
    }
}

void MovedViews::plan_reads(std::vector<uint32_t> reads_views) {
    reads_views_ = std::move(reads_views);
    note_reads();
    note_view_reads();
}

const NodeData& MovedViews::node_of(int32_t step) const {
    return graph_.node(lowered_.steps[size_t(step)].node);
}

StridedView MovedViews::base_of(ValueId value, const TensorArg& arg) const {
    const StridedView* view = view_of(value);
    return view != nullptr ? *view : StridedView{value, 0, arg.shape, row_major_strides(arg.shape)};
}

// True if all outputs of the step are views of input 0.
bool MovedViews::add_views(int32_t step) {
    const LoweredStep& lowered = lowered_.steps[size_t(step)];
    const NodeData& node = node_of(step);
    const bool moves = is_own(node, "Transpose") || is_own(node, "Split") || is_own(node, "Slice");
    if (!moves || !std::all_of(lowered.outputs.begin(), lowered.outputs.end(), is_viewable)) {
        return false;
    }
    const StridedView base = base_of(node.inputs[0], lowered.inputs[0]);
    if (node.op_type == "Transpose") {
        const auto permutation = transpose_permutation(node, base.shape.rank());
        if (!permutation.ok()) {
            return false;
        }
        StridedView view{base.root, base.first_element, lowered.outputs[0].shape, {}};
        for (int axis = 0; axis < view.shape.rank(); ++axis) {
            view.strides[size_t(axis)] = base.strides[size_t((*permutation)[size_t(axis)])];
        }
        views_[size_t(node.outputs[0].index)] = view;
        return true;
    }
    const std::vector<CopiedBox> boxes =
        node.def->copied_boxes(node, lowered.inputs, lowered.outputs);
    for (const CopiedBox& box : boxes) {
        StridedView view{base.root, base.first_element, lowered.outputs[size_t(box.output)].shape,
                         base.strides};
        for (int axis = 0; axis < view.shape.rank(); ++axis) {
            view.first_element += box.begin[size_t(axis)] * base.strides[size_t(axis)];
        }
        views_[size_t(node.outputs[size_t(box.output)].index)] = view;
    }
    return boxes.size() == node.outputs.size();
}

// A node without a step whose result lies where its operand does: another shape of it.
void MovedViews::add_reshaped(const NodeData& node) {
    if (node.inputs.empty() || !node.inputs[0].valid() || node.outputs.size() != 1) {
        return;
    }
    const LoweredPlace from = lowered_.form->places[size_t(node.inputs[0].index)];
    const LoweredPlace to = lowered_.form->places[size_t(node.outputs[0].index)];
    const StridedView* view = view_of(node.inputs[0]);
    const std::optional<Shape> shape =
        lowered_.facts[size_t(node.outputs[0].index)].type.fixed_shape();
    if (view == nullptr || !shape || from.place != to.place || from.index != to.index ||
        to.place == Place::kKnown) {
        return;
    }
    if (const std::optional<Strides> strides = reshaped(*view, *shape)) {
        views_[size_t(node.outputs[0].index)] = {view->root, view->first_element, *shape, *strides};
    }
}

// Products read operands in place, where their kernels are as fast on them.
bool MovedViews::is_fast_in_product(const LoweredStep& product,
                                    size_t input,
                                    const StridedView& view) const {
    const Shape& a = product.inputs[0].shape;
    if (a.rank() < 2 || product.inputs[1].shape.rank() < 2) {
        return false;
    }
    const bool has_dense_rows = view.strides[size_t(view.shape.rank() - 1)] == 1;
    return input == 0 || !is_cpu_ || has_dense_rows || a[a.rank() - 2] < int64_t{kRowsWorthCopy};
}

const StridedView* MovedViews::operand_view(int32_t step, size_t input) const {
    const NodeData& node = node_of(step);
    const LoweredStep& lowered = lowered_.steps[size_t(step)];
    const StridedView* view = node.inputs[input].valid() ? view_of(node.inputs[input]) : nullptr;
    if (view == nullptr) {
        return nullptr;
    }
    if (is_own(node, "MatMul")) {
        const bool reads_any = (reads_views_[size_t(step)] >> input & 1U) != 0;
        return reads_any || is_fast_in_product(lowered, input, *view) ? view : nullptr;
    }
    // Copies move several elements at once, from addresses that are multiples of these.
    const int64_t offset_bytes = view->first_element * bits_of(lowered.inputs[input].dtype) / 8;
    return is_own(node, "Concat") && offset_bytes % kOperandAlignmentBytes == 0 ? view : nullptr;
}

void MovedViews::note_reads() {
    const auto note = [&](ValueId value) {
        const LoweredPlace place = lowered_.form->places[size_t(value.index)];
        if (place.place == Place::kTransient) {
            is_read_[size_t(place.index)] = true;
        }
    };
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
        const NodeData& node = node_of(int32_t(s));
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId value = node.inputs[i];
            if (!value.valid()) {
                continue;
            }
            const bool is_moved_on = is_movement_[s] && i == 0 && view_of(value) != nullptr;
            if (!is_moved_on && operand_view(int32_t(s), i) == nullptr) {
                note(value);
            }
        }
    }
    for (const lowered::LoweredOutput& output : lowered_.outputs) {
        if (output.is_copied) {
            note(ValueId{output.value});
        }
    }
}

void MovedViews::note_view_reads() {
    for (size_t s = 0; s < lowered_.steps.size(); ++s) {
        const NodeData& node = node_of(int32_t(s));
        for (size_t i = 0; i < node.inputs.size() && !is_movement_[s]; ++i) {
            if (const StridedView* view = operand_view(int32_t(s), i)) {
                ++view_readers_[size_t(view->root.index)];
            }
        }
        const bool is_copy =
            is_movement_[s] && std::any_of(node.outputs.begin(), node.outputs.end(),
                                           [&](ValueId y) { return is_stored(y); });
        if (is_copy) {
            ++view_readers_[size_t(view_of(node.outputs[0])->root.index)];
        }
    }
}

bool MovedViews::is_stored(ValueId value) const {
    const LoweredPlace place = lowered_.form->places[size_t(value.index)];
    return place.place != Place::kTransient || is_read_[size_t(place.index)];
}

}  // namespace leat::vulkan
