// A cell of the NUMA tests: restricts the calling process as asked, runs a small graph through the
// public API, and tells what numa_cells_test.cpp checks, a fact a line.
#pragma once

#include <span>
#include <string>

#include "leat/leat.h"

namespace leat::numa_test {

// Words, each on a line of its own:
//   of the process, once and for good: seccomp | interleave=NODES | cpus=LIST |
//       join=CONTROL_GROUP | env=NAME=VALUE | env=NAME (unset) | save_topology=FILE (as XML)
//   of its runtime: off | strict | limit=BYTES | weights=home|interleave|replicate|partition |
//       threads=N | requests=one|all|shards
//   of its request: node=N | maker=LIST (CPUs of the thread that makes it) | runs=N
//   of its graph: batch[=ROWS] | few (doublings) | branches, wide (other graphs)
// Facts are lines of `name=value`; "error=": all went well.
std::string run_cell(const std::string& words);

// Whether words restrict the process, so that it must be one of its own.
bool restricts_process(const std::string& words);

constexpr int64_t kSide = 32;           // of inputs and constants
constexpr int64_t kWideColumns = 4096;  // of the graph with one large constant, of 512 KiB
constexpr int kFewDoublings = 5;
constexpr int kManyDoublings = 9;  // of 4 KiB: activations have huge pages too

// Little work for much memory: arithmetic is slow in an emulated machine, copies are not.
//   x f32 [32, 32] or [N, 32] -> y, 2^doublings times as large.
Graph doubling_graph(bool is_batch, int doublings);
Tensor cell_input(const Shape& shape, int seed);
uint64_t bits_of(std::span<const float> elements);

}  // namespace leat::numa_test
