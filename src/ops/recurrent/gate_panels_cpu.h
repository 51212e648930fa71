// The weights of the gates of LSTM, GRU and RNN in panels of the register tile, and the products of
// one step.
//
// w is multiplied by many rows, and lies in panels [k][nr] as any B. r is read whole by each step,
// by one row or few: several panels lie side by side, [k][panels nr], so that a call for one row
// reads one stream of memory, not one for each panel (docs/measurements/recurrent.md).
//
// Units are divided into chunks, each of which has panels of its own: what a step does for a chunk
// needs nothing of other chunks but h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/gemm_micro.h"
#include "ops/recurrent/recurrent.h"

namespace leat::cpu {

// Gates of a chunk's units whose sums one product gives: whole panels of columns, each gate's units
// side by side.
struct GatePart {
    int64_t first_gate = 0;
    int64_t gates = 0;
    int64_t unit = 0;
    int64_t units = 0;
    int64_t column = 0;   // of a row of sums
    int64_t columns = 0;  // with those that fill the last panel
    int64_t before = 0;   // columns of this part of the chunks before
};

// Units [unit, unit + units).
struct GateChunk {
    int64_t unit = 0;
    int64_t units = 0;
    int64_t column = 0;  // of a row of sums: all parts
    int64_t columns = 0;
    GatePart first;
    // The last gate of a GRU, which has a product of its own; else the same as the first.
    GatePart last;
};

// States [rows, hidden] that a product reads, in one step.
struct StateRows {
    const GemmRow* rows = nullptr;  // where each begins
    int64_t count = 0;              // no more than a register tile has
    const float* state = nullptr;
    // Panels from the last to the first.
    bool is_backward = false;
};

// Immutable; used from any thread.
class GatePanels {
  public:
    // chunks: no more than most_chunks().
    GatePanels(const RecurrentForm& form, const RecurrentGeometry& geometry, int64_t chunks);
    // So many that products of one row for all of them take no longer than one for all units.
    static int64_t most_chunks(const RecurrentForm& form, const RecurrentGeometry& geometry);

    std::span<const GateChunk> chunks() const { return chunks_; }
    int64_t row_floats() const { return row_floats_; }    // of sums of all gates
    int64_t last_floats() const { return last_floats_; }  // of those, in last parts

    // Floats of w (k = inputs) or r (k = hidden) of one direction.
    int64_t packed_floats(int64_t k) const { return row_floats_ * k; }
    // A chunk of one direction of those of all, which may be unaligned. packed: of the direction.
    void pack_w(const std::byte* w, int64_t direction, const GateChunk& chunk, float* packed) const;
    void pack_r(const std::byte* r, int64_t direction, const GateChunk& chunk, float* packed) const;

    // sums [rows, row_floats()] += states R, in the columns of the part. r: packed.
    void add_product(const StateRows& states,
                     const float* r,
                     const GatePart& part,
                     float* sums) const;
    // sums [rows, part.columns] = states R + bias. bias: null, or as many elements as columns.
    void product(const StateRows& states,
                 const float* r,
                 const GatePart& part,
                 const float* bias,
                 float* sums) const;

  private:
    void pack(const std::byte* weights,
              int64_t k,
              int64_t direction,
              const GatePart& part,
              int64_t panels_abreast,
              float* packed) const;
    template <class SetTarget>
    void for_each_call(const StateRows& states,
                       const float* r,
                       const GatePart& part,
                       const SetTarget& set_target) const;

    const GemmTable& table_;
    int64_t gates_;
    int64_t inputs_;
    int64_t hidden_;
    bool has_last_apart_;
    std::vector<GateChunk> chunks_;
    int64_t row_floats_ = 0;
    int64_t last_floats_ = 0;
    std::vector<GemmSegment> segments_;
};

}  // namespace leat::cpu
