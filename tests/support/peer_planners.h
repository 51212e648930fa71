// The planning rules of five other runtimes, written down again from their sources: plans of ours
// are never larger than any of theirs.
//
// Buffers are alive in [begin_step, end_step); all sizes are rounded up to the largest alignment,
// as each of the five does with its own. Each returns the bytes that its plan needs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/offsets/plan.h"

namespace leat::testing {

// ggml-alloc.c and ONNX Runtime's mem_pattern_planner.h: in the order of execution, what is dead is
// freed (free blocks merge), and a new buffer takes the smallest free block that is large enough,
// else the end of the arena.
int64_t online_best_fit_bytes(const std::vector<PlannedBuffer>& buffers);

// ExecuTorch, exir/memory_planning.py, greedy(): by falling size, into the first shared object none
// of whose buffers is alive at the same time (at its start; an object is as large as its first, and
// so largest, buffer), else a new object. Objects lie end to end.
int64_t shared_objects_bytes(const std::vector<PlannedBuffer>& buffers);

// TensorFlow Lite, simple_memory_arena and greedy_by_size (Pisarchyk & Lee, arXiv:2001.03288, alg.
// 3): by falling size, ties by first step, into the smallest gap between what is alive meanwhile.
int64_t greedy_by_size_bytes(const std::vector<PlannedBuffer>& buffers);

// XLA, heap_simulator.cc, GlobalDecreasingSizeBestFitHeap: as before, by falling size (spatial;
// ties by longer life) and by falling duration (temporal; ties by size); the smaller plan.
int64_t decreasing_best_fit_bytes(const std::vector<PlannedBuffer>& buffers);

// TVM, relax/transform/static_plan_block_memory.cc: in the order of execution, a free token of a
// size in [size / 16, 16 size), the smallest that is large enough, else the largest that is smaller
// and grows; a token never splits.
int64_t token_pool_bytes(const std::vector<PlannedBuffer>& buffers);

struct PeerPlanner {
    const char* name;
    int64_t (*bytes)(const std::vector<PlannedBuffer>&);
};
constexpr PeerPlanner kPeerPlanners[] = {
    {"online best fit (ggml, ONNX Runtime)", online_best_fit_bytes},
    {"shared objects (ExecuTorch)", shared_objects_bytes},
    {"greedy by size (TensorFlow Lite)", greedy_by_size_bytes},
    {"decreasing best fit (XLA)", decreasing_best_fit_bytes},
    {"token pool (TVM)", token_pool_bytes},
};

}  // namespace leat::testing
