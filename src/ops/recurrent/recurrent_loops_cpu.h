// What the f32 kernel of LSTM, GRU and RNN does with rows of units between products.
#pragma once

#include <cstdint>

#include "ops/elementwise/unary_f32.h"
#include "ops/recurrent/recurrent.h"

namespace leat {

// Loops over n units, for the best instruction set of this machine. Any alignment; what is written
// may be what is read, else no overlap.
struct RecurrentLoops {
    // y += a b
    void (*add_product)(const float* a, const float* b, float* y, int64_t n);
    // c = f c + i g
    void (*next_cell)(const float* i, const float* f, const float* g, float* c, int64_t n);
    // h = (1 - z) next + z h
    void (*blend)(const float* z, const float* next, float* h, int64_t n);
    // y = 1 - x
    void (*complement)(const float* x, float* y, int64_t n);
};
const RecurrentLoops& recurrent_loops();

// f, g or h of a cell.
UnaryF32Function gate_activation_f32(const GateActivation& activation);

}  // namespace leat
