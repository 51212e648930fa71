// Orders in which to place the items of a problem: those of known greedy planners, and more.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "memory/offsets/plan_problem.h"

namespace leat {

enum class GreedyOrder : uint8_t {
    kSize,     // TensorFlow Lite, XLA (spatial), ExecuTorch
    kBreadth,  // the most bytes that are met, then size: Pisarchyk & Lee, arXiv:2001.03288
    kSizeDuration,
    kArea,
    kDuration,  // XLA (temporal)
    kConflictingBytes,
    kFirstStep,  // ggml, ONNX Runtime, IREE
    kLastStep,
};
std::string_view name_of(GreedyOrder order);

// All items, the largest of what the order names first, ties by first step.
std::vector<int32_t> ordered_items(const PlanProblem& problem, GreedyOrder order);

// A packing of a problem, by item.
struct Packing {
    std::vector<int64_t> offsets;
    int64_t height_bytes = std::numeric_limits<int64_t>::max();
    std::string algorithm;
};

// The lowest of several orders, placed by first or by best fit; stops at the first that is not
// above the goal. At least one item.
Packing pack_greedily(const PlanProblem& problem, int64_t goal_bytes);

}  // namespace leat
