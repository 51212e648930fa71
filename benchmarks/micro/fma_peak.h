// The machine's own limit: f32 multiply-adds from registers, with the best instruction set of
// Highway.
#pragma once

namespace leat::micro {

// Runs a fixed number of independent multiply-adds; returns their floating-point operations.
double run_fma_chains();

}  // namespace leat::micro
