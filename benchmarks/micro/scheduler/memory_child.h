// The memory section's other half: a fresh process prepares one graph, so that its heap is cold and
// what it maps is the graph's.
#pragma once

#include "bench.h"

namespace leat::micro {

// Prepares random4 in the one executor of `bench` and prints a line that measure_memory() reads.
int run_memory_child(Bench& bench);

}  // namespace leat::micro
