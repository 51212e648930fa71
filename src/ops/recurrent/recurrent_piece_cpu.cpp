#include "ops/recurrent/recurrent_piece_cpu.h"

#include <algorithm>

#include "base/check.h"
#include "base/parts.h"
#include "base/round_up.h"
#include "hwy/cache_control.h"

namespace leat::cpu {
namespace {

// Rows of x that are multiplied at once: four register tiles, which share what they read of w.
constexpr int64_t kInputRows = 56;

}  // namespace

RecurrentLayer::RecurrentLayer(const RecurrentForm& given_form,
                               const RecurrentGeometry& given_geometry,
                               GatePanels given_panels,
                               PackedGates given_packed)
    : form(given_form),
      geometry(given_geometry),
      loops(recurrent_loops()),
      multiply_f32(find_binary_f32("Mul")),
      add_f32(find_binary_f32("Add")),
      clips(form.clip < std::numeric_limits<float>::infinity()),
      panels(std::move(given_panels)),
      input_gemm(PanelGemm::plain_segments(geometry.inputs), Epilogue(), 1),
      packed(std::move(given_packed)) {
    for (size_t d = 0; d < size_t(form.directions); ++d) {
        for (size_t i = 0; i < size_t(form.activation_count); ++i) {
            activations[d][i] = gate_activation_f32(form.activations[d][i]);
        }
    }
    clip = *find_unary_f32("Clip", {{"min", -form.clip}, {"max", form.clip}});
    // Half the height of a register tile: it then has twice the panels, and is as fast, and there
    // are twice the pieces.
    blocks = divide_up(geometry.batch, int64_t{gemm_table().max_rows / 2});
    rows = divide_up(geometry.batch, blocks);
    steps_at_once = std::clamp<int64_t>(kInputRows / rows, 1, geometry.steps);
    const bool is_last_after_all = form.cell == RecurrentCell::kGru && !form.linear_before_reset;
    has_half_steps = is_last_after_all && panels.chunks().size() > 1;
    place_memory();
}

void RecurrentLayer::place_memory() {
    constexpr int64_t kLineFloats = 16;
    const int64_t row_floats = int64_t{sizeof(GemmRow) / sizeof(float)};
    const int64_t input_rows = steps_at_once * rows;
    int64_t end = 0;
    const auto place = [&end](int64_t floats) {
        const int64_t begin = end;
        end += round_up(floats, kLineFloats);
        return begin;
    };
    const int64_t states = rows * geometry.hidden;
    memory.w = place(packed.w == nullptr ? panels.packed_floats(geometry.inputs) : 0);
    memory.r = place(packed.r == nullptr ? panels.packed_floats(geometry.hidden) : 0);
    memory.bias = place(panels.row_floats());
    memory.hidden_bias = place(form.linear_before_reset ? panels.last_floats() : 0);
    memory.sums = place(input_rows * panels.row_floats());
    memory.h[0] = place(states);
    memory.h[1] = panels.chunks().size() > 1 ? place(states) : memory.h[0];
    memory.c = place(form.cell == RecurrentCell::kLstm ? states : 0);
    memory.aside = place(form.cell == RecurrentCell::kGru ? rows * panels.last_floats() : 0);
    memory.piece_floats = end;

    end = 0;
    memory.gemm =
        place(input_gemm.scratch_floats(input_rows, panels.row_floats() / gemm_table().nr));
    memory.input_rows = place(input_rows * row_floats);
    memory.state_rows = place(rows * row_floats);
    memory.worker_floats = end;
}

// One step of a piece.
struct RecurrentPiece::Step {
    int64_t index = 0;
    int64_t among_inputs = 0;  // of the steps whose x is multiplied at once
    int64_t active = 0;        // sequences that have the step: the first ones
    // In turn: what a step read last of weights is still near when the next one begins.
    bool is_backward = false;
    const float* h = nullptr;  // of the step before
    float* next_h = nullptr;   // may be h
    float* sums = nullptr;

    StateRows states(const GemmRow* rows, const float* state) const {
        return {rows, active, state, is_backward};
    }
};

RecurrentPiece::RecurrentPiece(const RecurrentLayer& layer,
                               const KernelArgs& args,
                               int64_t index,
                               float* memory,
                               float* scratch)
    : layer_(layer),
      args_(args),
      direction_(index / layer.blocks),
      first_(part_begin(layer.geometry.batch, layer.blocks, index % layer.blocks)),
      rows_(part_begin(layer.geometry.batch, layer.blocks, index % layer.blocks + 1) - first_),
      memory_(memory),
      scratch_(scratch),
      state_rows_(reinterpret_cast<GemmRow*>(scratch + layer.memory.state_rows)) {
    // Packed ones, or those that this run packs.
    const auto find = [&](const std::byte* packed, int64_t depth, int64_t own) -> const float* {
        return packed == nullptr ? memory + own
                                 : reinterpret_cast<const float*>(packed) +
                                       direction_ * layer.panels.packed_floats(depth);
    };
    w_ = find(layer.packed.w.get(), layer.geometry.inputs, layer.memory.w);
    r_ = find(layer.packed.r.get(), layer.geometry.hidden, layer.memory.r);
    if (const TensorArg* p = find_arg(args.inputs, kRecurrentPeepholes)) {
        peepholes_ = p->as<const float>() + direction_ * p->shape[1];
    }
    for (int64_t row = 0; row < rows_; ++row) {
        state_rows_[row] = GemmRow();
        state_rows_[row].a_offset = row * layer.geometry.hidden;
    }
}

// So that those that a step has are the first ones.
Status RecurrentPiece::order_sequences(const NodeData& node) {
    for (int64_t row = 0; row < rows_; ++row) {
        Sequence next{first_ + row, 0};
        LEAT_ASSIGN_OR_RETURN(next.length,
                              sequence_length(node, args_.inputs, next.n, layer_.geometry.steps));
        int64_t place = row;
        for (; place > 0 && sequences_[size_t(place - 1)].length < next.length; --place) {
            sequences_[size_t(place)] = sequences_[size_t(place - 1)];
        }
        sequences_[size_t(place)] = next;
    }
    return {};
}

void RecurrentPiece::run(int64_t phase, int64_t item) const {
    const GateChunk& chunk = layer_.panels.chunks()[size_t(item)];
    if (phase == 0) {
        prepare(chunk);
        return;
    }
    const Step step = step_of(step_at(phase));
    if (layer_.has_half_steps && phase % 2 == 0) {
        finish_gru(step, chunk);
    } else {
        run_step(step, chunk);
    }
}

void RecurrentPiece::prepare(const GateChunk& chunk) const {
    if (layer_.packed.w == nullptr) {
        layer_.panels.pack_w(args_.inputs[kRecurrentW].data, direction_, chunk,
                             memory_ + layer_.memory.w);
    }
    if (layer_.packed.r == nullptr) {
        layer_.panels.pack_r(args_.inputs[kRecurrentR].data, direction_, chunk,
                             memory_ + layer_.memory.r);
    }
    add_up_biases(chunk);
    load_state(kRecurrentInitialH, chunk, memory_ + layer_.memory.h[0]);
    if (layer_.form.cell == RecurrentCell::kLstm) {
        load_state(kRecurrentInitialC, chunk, memory_ + layer_.memory.c);
    }
    fill_where_no_step_writes(chunk);
}

// The bias of x and that of h are one, but where the latter is multiplied by r.
void RecurrentPiece::add_up_biases(const GateChunk& chunk) const {
    const TensorArg* b = find_arg(args_.inputs, kRecurrentBias);
    if (b == nullptr) {
        return;
    }
    const float* of_x = b->as<const float>() + direction_ * b->shape[1] + chunk.unit;
    const float* of_h = of_x + layer_.form.gates * layer_.geometry.hidden;
    float* bias = memory_ + layer_.memory.bias;
    float* apart = memory_ + layer_.memory.hidden_bias + chunk.last.before;
    std::fill_n(bias + chunk.column, chunk.columns, 0.0F);
    if (layer_.form.linear_before_reset) {
        std::fill_n(apart, chunk.last.columns, 0.0F);
    }
    for (int64_t gate = 0; gate < layer_.form.gates; ++gate) {
        const int64_t from = gate * layer_.geometry.hidden;
        const GatePart& part = gate < chunk.last.first_gate ? chunk.first : chunk.last;
        float* to = bias + part.column + (gate - part.first_gate) * chunk.units;
        if (gate > 0 && gate == chunk.last.first_gate && layer_.form.linear_before_reset) {
            std::copy_n(of_h + from, chunk.units, apart);
            std::copy_n(of_x + from, chunk.units, to);
        } else {
            layer_.add_f32({of_x + from}, {of_h + from}, to, 0, 1, chunk.units);
        }
    }
}

void RecurrentPiece::load_state(RecurrentInput input, const GateChunk& chunk, float* state) const {
    const TensorArg* initial = find_arg(args_.inputs, input);
    for (int64_t row = 0; row < rows_; ++row) {
        float* to = state + row * layer_.geometry.hidden + chunk.unit;
        if (initial == nullptr) {
            std::fill_n(to, chunk.units, 0.0F);
            continue;
        }
        const int64_t from = layer_.geometry.state_row(direction_, sequences_[size_t(row)].n);
        std::copy_n(initial->as<const float>() + from + chunk.unit, chunk.units, to);
    }
}

// Zeros behind the sequences, and as the last states of those without steps.
void RecurrentPiece::fill_where_no_step_writes(const GateChunk& chunk) const {
    const TensorArg* y = find_arg(args_.outputs, 0);
    for (int64_t row = 0; row < rows_; ++row) {
        const Sequence& sequence = sequences_[size_t(row)];
        const int64_t begin = y == nullptr ? layer_.geometry.steps : sequence.length;
        for (int64_t step = begin; step < layer_.geometry.steps; ++step) {
            const int64_t at = layer_.geometry.y_row(step, direction_, sequence.n);
            std::fill_n(y->as<float>() + at + chunk.unit, chunk.units, 0.0F);
        }
        for (const int output : {1, 2}) {
            const TensorArg* to = find_arg(args_.outputs, output);
            if (to != nullptr && sequence.length == 0) {
                const int64_t at = layer_.geometry.state_row(direction_, sequence.n);
                std::fill_n(to->as<float>() + at + chunk.unit, chunk.units, 0.0F);
            }
        }
    }
}

RecurrentPiece::Step RecurrentPiece::step_of(int64_t index) const {
    Step step;
    step.index = index;
    step.among_inputs = index % layer_.steps_at_once;
    step.active = rows_;
    while (sequences_[size_t(step.active - 1)].length <= index) {
        --step.active;
    }
    step.is_backward = index % 2 != 0;
    step.h = memory_ + layer_.memory.h[size_t(index % 2)];
    step.next_h = memory_ + layer_.memory.h[size_t((index + 1) % 2)];
    step.sums =
        memory_ + layer_.memory.sums + step.among_inputs * rows_ * layer_.panels.row_floats();
    return step;
}

// Sums of the steps from there on that are multiplied at once: what gates take of x, and the bias.
void RecurrentPiece::add_inputs(int64_t begin, const GateChunk& chunk) const {
    const int64_t end = std::min(begin + layer_.steps_at_once, longest());
    auto* rows = reinterpret_cast<GemmRow*>(scratch_ + layer_.memory.input_rows);
    int64_t count = 0;
    for (int64_t step = begin; step < end; ++step) {
        for (int64_t row = 0; row < rows_ && sequences_[size_t(row)].length > step; ++row) {
            const Sequence& sequence = sequences_[size_t(row)];
            const bool is_reverse = layer_.form.is_reverse(direction_);
            const int64_t at = is_reverse ? sequence.length - 1 - step : step;
            rows[count] = GemmRow();
            rows[count].a_offset = layer_.geometry.x_row(at, sequence.n);
            rows[count].dst_offset = ((step - begin) * rows_ + row) * layer_.panels.row_floats();
            rows[count].row = int32_t(count);
            ++count;
        }
    }
    const std::span<GemmRow> given(rows, size_t(count));
    cut_tiles(given, gemm_table().max_rows);
    float* sums = memory_ + layer_.memory.sums + chunk.column;
    PanelGemm::Block block;
    block.args = &args_;
    block.a = args_.inputs[kRecurrentX].as<const float>();
    block.rows = given;
    block.b = w_ + chunk.column * layer_.geometry.inputs;
    block.b_row_stride = gemm_table().nr;
    block.b_panel_stride = layer_.geometry.inputs * gemm_table().nr;
    block.columns = chunk.columns;
    block.dst = sums;
    block.scratch = scratch_ + layer_.memory.gemm;
    const Status status = layer_.input_gemm.run(block);
    LEAT_CHECK(status.ok(), "a product without an epilogue failed: {}", status.message());
    if (find_arg(args_.inputs, kRecurrentBias) != nullptr) {
        const float* bias = memory_ + layer_.memory.bias + chunk.column;
        for (const GemmRow& row : given) {
            float* to = sums + row.dst_offset;
            layer_.add_f32({to}, {bias}, to, 0, 1, chunk.columns);
        }
    }
}

// What other members have written: a product would wait for one line after the other.
void RecurrentPiece::prefetch(const Step& step, const float* state) const {
    constexpr int64_t kLineFloats = 16;
    const int64_t end = step.active * layer_.geometry.hidden;
    for (int64_t at = 0; at < end; at += kLineFloats) {
        hwy::Prefetch(state + at);
    }
}

// All of a chunk's step; or, where a GRU has two phases, the first of them.
void RecurrentPiece::run_step(const Step& step, const GateChunk& chunk) const {
    if (step.among_inputs == 0) {
        add_inputs(step.index, chunk);
    }
    if (layer_.has_team) {
        prefetch(step, step.h);
    }
    layer_.panels.add_product(step.states(state_rows_, step.h), r_, chunk.first, step.sums);
    if (layer_.form.cell == RecurrentCell::kGru) {
        begin_gru(step, chunk);
        if (!layer_.has_half_steps) {
            finish_gru(step, chunk);
        }
        return;
    }
    for (int64_t row = 0; row < step.active; ++row) {
        if (layer_.form.cell == RecurrentCell::kLstm) {
            finish_lstm(step, chunk.first, row);
        } else {
            finish_rnn(step, chunk.first, row);
        }
    }
    write_results(step, chunk);
}

// x = f(clip(x)), with f of the direction and number.
void RecurrentPiece::activate(int which, float* x, int64_t n) const {
    if (layer_.clips) {
        layer_.clip(x, x, n);
    }
    layer_.activations[size_t(direction_)][size_t(which)](x, x, n);
}

void RecurrentPiece::finish_lstm(const Step& step, const GatePart& part, int64_t row) const {
    const int64_t hidden = layer_.geometry.hidden;
    const int64_t n = part.units;
    float* i = step.sums + row * layer_.panels.row_floats() + part.column;
    float* o = i + n;
    float* f = i + 2 * n;
    float* g = i + 3 * n;
    float* c = memory_ + layer_.memory.c + row * hidden + part.unit;
    const float* peepholes = peepholes_ == nullptr ? nullptr : peepholes_ + part.unit;
    if (peepholes == nullptr) {
        activate(0, i, 3 * n);
    } else {
        layer_.loops.add_product(peepholes, c, i, n);
        layer_.loops.add_product(peepholes + 2 * hidden, c, f, n);
        activate(0, i, n);
        activate(0, f, n);
    }
    if (layer_.form.input_forget) {
        layer_.loops.complement(i, f, n);
    }
    activate(1, g, n);
    layer_.loops.next_cell(i, f, g, c, n);
    if (peepholes != nullptr) {
        layer_.loops.add_product(peepholes + hidden, c, o, n);
        activate(0, o, n);
    }
    float* of_c = i;
    layer_.activations[size_t(direction_)][2](c, of_c, n);
    layer_.multiply_f32({o}, {of_c}, step.next_h + row * hidden + part.unit, 0, 1, n);
}

// All but the last gate, whose product reads r of all units, or adds to what it reads of h.
void RecurrentPiece::begin_gru(const Step& step, const GateChunk& chunk) const {
    const int64_t n = chunk.units;
    const GatePart& last = chunk.last;
    float* aside = memory_ + layer_.memory.aside;
    float* of_h = aside + layer_.rows * last.before;
    if (layer_.form.linear_before_reset) {
        const bool has_bias = find_arg(args_.inputs, kRecurrentBias) != nullptr;
        const float* bias = memory_ + layer_.memory.hidden_bias + last.before;
        layer_.panels.product(step.states(state_rows_, step.h), r_, last, has_bias ? bias : nullptr,
                              of_h);
    }
    for (int64_t row = 0; row < step.active; ++row) {
        float* sums = step.sums + row * layer_.panels.row_floats();
        float* z = sums + chunk.first.column;
        float* r = z + n;
        activate(0, z, 2 * n);
        if (layer_.form.linear_before_reset) {
            layer_.loops.add_product(r, of_h + row * last.columns, sums + last.column, n);
        } else {
            const int64_t at = row * layer_.geometry.hidden + chunk.unit;
            layer_.multiply_f32({r}, {step.h + at}, aside + at, 0, 1, n);
        }
    }
}

void RecurrentPiece::finish_gru(const Step& step, const GateChunk& chunk) const {
    if (!layer_.form.linear_before_reset) {
        const float* aside = memory_ + layer_.memory.aside;
        if (layer_.has_team) {
            prefetch(step, aside);
        }
        layer_.panels.add_product(step.states(state_rows_, aside), r_, chunk.last, step.sums);
    }
    for (int64_t row = 0; row < step.active; ++row) {
        float* sums = step.sums + row * layer_.panels.row_floats();
        float* next = sums + chunk.last.column;
        const int64_t at = row * layer_.geometry.hidden + chunk.unit;
        activate(1, next, chunk.units);
        if (step.next_h != step.h) {
            std::copy_n(step.h + at, chunk.units, step.next_h + at);
        }
        layer_.loops.blend(sums + chunk.first.column, next, step.next_h + at, chunk.units);
    }
    write_results(step, chunk);
}

void RecurrentPiece::finish_rnn(const Step& step, const GatePart& part, int64_t row) const {
    float* sum = step.sums + row * layer_.panels.row_floats() + part.column;
    activate(0, sum, part.units);
    std::copy_n(sum, part.units, step.next_h + row * layer_.geometry.hidden + part.unit);
}

// The step's h, and the last states of sequences that end with it.
void RecurrentPiece::write_results(const Step& step, const GateChunk& chunk) const {
    const TensorArg* y = find_arg(args_.outputs, 0);
    for (int64_t row = 0; row < step.active; ++row) {
        const Sequence& sequence = sequences_[size_t(row)];
        const int64_t own = row * layer_.geometry.hidden + chunk.unit;
        if (y != nullptr) {
            const bool is_reverse = layer_.form.is_reverse(direction_);
            const int64_t at = is_reverse ? sequence.length - 1 - step.index : step.index;
            std::copy_n(
                step.next_h + own, chunk.units,
                y->as<float>() + layer_.geometry.y_row(at, direction_, sequence.n) + chunk.unit);
        }
        if (step.index + 1 < sequence.length) {
            continue;
        }
        const int64_t at = layer_.geometry.state_row(direction_, sequence.n) + chunk.unit;
        if (const TensorArg* last_h = find_arg(args_.outputs, 1)) {
            std::copy_n(step.next_h + own, chunk.units, last_h->as<float>() + at);
        }
        if (const TensorArg* last_c = find_arg(args_.outputs, 2)) {
            std::copy_n(memory_ + layer_.memory.c + own, chunk.units, last_c->as<float>() + at);
        }
    }
}

}  // namespace leat::cpu
