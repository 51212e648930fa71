// One direction of some sequences of LSTM, GRU or RNN in f32, as one worker sees it: the unit of
// work that is a tile, or that the workers of a team divide (backends/cpu/open_team.h).
//
// Its phases: one before the steps, and one or two for each step. The items of a phase are chunks
// of units.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/gemm.h"
#include "ops/elementwise/binary_f32.h"
#include "ops/recurrent/gate_panels_cpu.h"
#include "ops/recurrent/recurrent_loops_cpu.h"

namespace leat::cpu {

// Where things are, in floats: of a piece, and of each worker.
struct RecurrentMemory {
    int64_t w = 0;  // packed weights of a direction, where they are no constants
    int64_t r = 0;
    int64_t bias = 0;            // one row of sums
    int64_t hidden_bias = 0;     // of the part of h, where it stays apart
    int64_t sums = 0;            // of the gates: rows of steps
    std::array<int64_t, 2> h{};  // take turns where there are several chunks
    int64_t c = 0;
    int64_t aside = 0;  // what of h goes into, or comes from, the last product of a GRU
    int64_t piece_floats = 0;

    int64_t gemm = 0;
    int64_t input_rows = 0;  // GemmRow
    int64_t state_rows = 0;
    int64_t worker_floats = 0;
};

// Weights of all directions in panels; null: each piece packs those of its direction.
struct PackedGates {
    std::shared_ptr<const std::byte> w;
    std::shared_ptr<const std::byte> r;
};

// What the pieces of a node have in common. Immutable once made.
struct RecurrentLayer {
    // has_team: set by whoever divides pieces; the rest follows from the others.
    RecurrentLayer(const RecurrentForm& form,
                   const RecurrentGeometry& geometry,
                   GatePanels panels,
                   PackedGates packed);
    void place_memory();

    RecurrentForm form;
    RecurrentGeometry geometry;
    const RecurrentLoops& loops;
    BinaryF32 multiply_f32;
    BinaryF32 add_f32;
    std::array<std::array<UnaryF32Function, 3>, 2> activations{};  // by direction
    UnaryF32Function clip;
    bool clips = false;
    GatePanels panels;
    int64_t blocks = 1;  // of sequences
    int64_t rows = 1;    // sequences of a block, at most
    int64_t steps_at_once = 1;
    // A step is two phases, not one: the last gate of a GRU may need r of all units.
    bool has_half_steps = false;
    bool has_team = false;
    PanelGemm input_gemm;
    PackedGates packed;
    RecurrentMemory memory;
};

class RecurrentPiece {
  public:
    // memory, scratch: of the piece, and of the worker; 64-byte aligned.
    RecurrentPiece(const RecurrentLayer& layer,
                   const KernelArgs& args,
                   int64_t index,
                   float* memory,
                   float* scratch);
    // First. An error names the node and a sequence's length that cannot be; all workers get it.
    Status order_sequences(const NodeData& node);

    int64_t phases() const { return 1 + longest() * (layer_.has_half_steps ? 2 : 1); }
    bool is_backward(int64_t phase) const { return phase > 0 && step_at(phase) % 2 != 0; }
    // A chunk of a phase, with all chunks of the phases before done.
    void run(int64_t phase, int64_t item) const;

  private:
    // One sequence.
    struct Sequence {
        int64_t n = 0;
        int64_t length = 0;
    };
    struct Step;
    int64_t longest() const { return sequences_[0].length; }
    int64_t step_at(int64_t phase) const {
        return layer_.has_half_steps ? (phase - 1) / 2 : phase - 1;
    }
    Step step_of(int64_t index) const;

    void prepare(const GateChunk& chunk) const;
    void add_up_biases(const GateChunk& chunk) const;
    void load_state(RecurrentInput input, const GateChunk& chunk, float* state) const;
    void fill_where_no_step_writes(const GateChunk& chunk) const;
    void add_inputs(int64_t begin, const GateChunk& chunk) const;
    void run_step(const Step& step, const GateChunk& chunk) const;
    void prefetch(const Step& step, const float* state) const;
    void begin_gru(const Step& step, const GateChunk& chunk) const;
    void finish_gru(const Step& step, const GateChunk& chunk) const;
    void finish_lstm(const Step& step, const GatePart& part, int64_t row) const;
    void finish_rnn(const Step& step, const GatePart& part, int64_t row) const;
    void activate(int which, float* x, int64_t n) const;
    void write_results(const Step& step, const GateChunk& chunk) const;

    const RecurrentLayer& layer_;
    const KernelArgs& args_;
    int64_t direction_;
    int64_t first_;  // sequence
    int64_t rows_;
    std::array<Sequence, kMaxTileRows> sequences_{};  // the longest first
    float* memory_;
    float* scratch_;
    const float* w_;
    const float* r_;
    const float* peepholes_ = nullptr;
    GemmRow* state_rows_;
};

}  // namespace leat::cpu
