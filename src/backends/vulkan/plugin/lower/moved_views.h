// Results of operators that only move elements (Transpose, Split, Slice, and Reshape between them)
// as strided views of the values that they come from.
//
//     qkv --Split--> q --Reshape--> --Transpose--> MatMul       MatMul reads qkv in place
//     qkv --Split--> k --Transpose--> output                    one copy, from qkv to the output
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "backends/vulkan/kernel/kernel.h"

namespace leat::vulkan {

// Kernels take operands from multiples of these on.
constexpr int64_t kOperandAlignmentBytes = 64;

// Elements of `root`, whose own are dense; strides are in elements.
struct StridedView {
    ValueId root;
    int64_t first_element = 0;
    Shape shape;
    Strides strides{};
};

class MovedViews {
  public:
    // Finds the views. `graph` and `lowered` outlive it.
    MovedViews(const GraphData& graph,
               const lowered::LoweredGraph& lowered,
               const KernelLimits& limits);

    // Decides which operands are read in place and so which views are stored, which the functions
    // below tell. Bit i of an element of `reads_views`, by step: its kernel reads input i as any
    // view.
    void plan_reads(std::vector<uint32_t> reads_views);

    // Null where the value is no view.
    const StridedView* view_of(ValueId value) const {
        const std::optional<StridedView>& view = views_[size_t(value.index)];
        return view ? &*view : nullptr;
    }
    // True if the step's outputs are views: it has nothing to do but to copy those that are stored.
    bool is_movement(int32_t step) const { return is_movement_[size_t(step)]; }
    // Whether somebody reads the value from memory of its own.
    bool is_stored(ValueId value) const;
    // Steps that read the value by way of views of it.
    int32_t view_readers(ValueId value) const { return view_readers_[size_t(value.index)]; }
    // The view that the step's kernel reads in the place of an input; null where it reads the
    // input.
    const StridedView* operand_view(int32_t step, size_t input) const;

  private:
    const NodeData& node_of(int32_t step) const;
    StridedView base_of(ValueId value, const TensorArg& arg) const;
    bool add_views(int32_t step);
    void add_reshaped(const NodeData& node);
    bool is_fast_in_product(const lowered::LoweredStep& product,
                            size_t input,
                            const StridedView& view) const;
    void note_reads();
    void note_view_reads();

    const GraphData& graph_;
    const lowered::LoweredGraph& lowered_;
    bool is_cpu_;
    std::vector<std::optional<StridedView>> views_;  // by value
    std::vector<bool> is_movement_;                  // by step
    std::vector<uint32_t> reads_views_;              // by step: bits of inputs
    std::vector<bool> is_read_;                      // by transient: from its own memory
    std::vector<int32_t> view_readers_;              // by value
};

}  // namespace leat::vulkan
