// What the nodes do: nothing, or arithmetic of a calibrated length.
#pragma once

#include <cstdint>
#include <vector>

#include "executor.h"

namespace leat::micro {

int64_t now_ns();  // monotonic

// Nothing, at the price of an indirect call.
NodeBody empty_body();

// A chain of dependent multiplications: no clock is read, so it takes as long as its iterations
// whatever else the machine does. Bodies below about 20 ns overlap in the out-of-order window.
struct BusyWork {
    int64_t iterations = 0;
    std::vector<float> weights;  // of node i; empty: 1 for all

    NodeBody body();
    // Iterations for a body of `length_ns` at the current clock frequency.
    void set_length_ns(double length_ns, double ns_per_iteration);
};

uint64_t multiply_chain(int64_t iterations, uint64_t seed);

// The best of a few short measurements: frequency moves, so repeat before each round.
double measure_ns_per_iteration();

}  // namespace leat::micro
