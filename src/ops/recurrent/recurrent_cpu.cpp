// LSTM, GRU and RNN in f32. What gates take of x is one product for many steps at a time; in each
// step they take from h what rows x panels of the register tile give, and then units of a row one
// after the other.
//
// A tile is one direction of some sequences, which read the same weights in a step. Which of them
// share a tile changes no bit.
#include <algorithm>
#include <array>

#include "backends/cpu/former_kernel.h"
#include "backends/cpu/gemm.h"
#include "base/round_up.h"
#include "memory/domains/weight_store.h"
#include "ops/elementwise/binary_f32.h"
#include "ops/recurrent/gate_panels_cpu.h"
#include "ops/recurrent/recurrent_loops_cpu.h"

namespace leat {
namespace cpu {
namespace {

// Rows of x that are multiplied at once: four register tiles, which share what they read of w.
constexpr int64_t kInputRows = 56;
// What products of few rows read of weights, from L2 or behind it.
constexpr double kWeightBytesPerNs = 40;

// One sequence of a tile.
struct TileSequence {
    int64_t n = 0;
    int64_t length = 0;
};

// Where things are in a worker's scratch, in floats.
struct RecurrentScratch {
    int64_t w = 0;  // packed weights of a direction, where they are no constants
    int64_t r = 0;
    int64_t bias = 0;         // one row of sums
    int64_t hidden_bias = 0;  // of the part of h, where it stays apart
    int64_t sums = 0;         // of the gates: rows of steps
    int64_t h = 0;
    int64_t c = 0;
    int64_t aside = 0;  // what of h goes into, or comes from, the last product of a GRU
    int64_t gemm = 0;
    int64_t input_rows = 0;  // GemmRows
    int64_t state_rows = 0;
};

// Weights of all directions in panels; null: each tile packs those of its direction.
struct PackedGates {
    std::shared_ptr<const std::byte> w;
    std::shared_ptr<const std::byte> r;
};

class RecurrentKernel final : public CpuKernel {
  public:
    RecurrentKernel(const NodeData& node,
                    const RecurrentForm& form,
                    const RecurrentGeometry& geometry,
                    GatePanels panels,
                    PackedGates packed);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

    const PackedGates& packed() const { return packed_; }

  private:
    struct Tile;
    void place_scratch();
    Status run_tile(const KernelArgs& args, int64_t index) const;
    Status begin(Tile& tile) const;
    Status order_sequences(Tile& tile) const;
    void find_weights(Tile& tile) const;
    void add_up_biases(Tile& tile) const;
    void load_state(const Tile& tile, RecurrentInput input, float* state) const;
    Status add_inputs(const Tile& tile, int64_t begin, int64_t end) const;
    void run_step(const Tile& tile, int64_t step, float* sums) const;
    void finish_lstm(const Tile& tile, float* gates, int64_t row) const;
    void finish_gru(const Tile& tile, float* sums) const;
    void finish_rnn(const Tile& tile, float* gates, int64_t row) const;
    void activate(const Tile& tile, int which, float* x, int64_t n) const;
    void finish(const Tile& tile) const;
    void write_state(const Tile& tile, int output, const float* state) const;

    const NodeData& node_;  // for messages
    RecurrentForm form_;
    RecurrentGeometry geometry_;
    const RecurrentLoops& loops_;
    BinaryF32 multiply_f32_;
    BinaryF32 add_f32_;
    std::array<std::array<UnaryF32Function, 3>, 2> activations_{};  // by direction
    UnaryF32Function clip_;
    bool clips_ = false;
    GatePanels panels_;
    int64_t blocks_ = 1;  // of sequences
    int64_t rows_ = 1;    // sequences of a block, at most
    int64_t steps_at_once_ = 1;
    PanelGemm input_gemm_;
    RecurrentScratch scratch_;
    PackedGates packed_;
};

// One call's view of a tile.
struct RecurrentKernel::Tile {
    const KernelArgs& args;
    int64_t direction = 0;
    int64_t first = 0;  // sequence
    int64_t rows = 0;
    std::array<TileSequence, kMaxTileRows> sequences{};  // the longest first
    int64_t active = 0;  // sequences that have the step: the first ones
    bool is_backward = false;
    const float* w = nullptr;
    const float* r = nullptr;
    const float* bias = nullptr;  // null: none
    const float* hidden_bias = nullptr;
    const float* peepholes = nullptr;
    float* h = nullptr;
    float* c = nullptr;
    float* aside = nullptr;
    GemmRow* state_rows = nullptr;

    StateRows states(const float* state) const { return {state_rows, active, state, is_backward}; }
    float* scratch(int64_t offset) const { return reinterpret_cast<float*>(args.scratch) + offset; }
};

RecurrentKernel::RecurrentKernel(const NodeData& node,
                                 const RecurrentForm& form,
                                 const RecurrentGeometry& geometry,
                                 GatePanels panels,
                                 PackedGates packed)
    : node_(node),
      form_(form),
      geometry_(geometry),
      loops_(recurrent_loops()),
      multiply_f32_(find_binary_f32("Mul")),
      add_f32_(find_binary_f32("Add")),
      clips_(form.clip < std::numeric_limits<float>::infinity()),
      panels_(std::move(panels)),
      input_gemm_(PanelGemm::plain_segments(geometry.inputs), Epilogue(), 1),
      packed_(std::move(packed)) {
    kernel_name = "recurrent_f32";
    names_node = true;
    for (size_t d = 0; d < size_t(form.directions); ++d) {
        for (size_t i = 0; i < size_t(form.activation_count); ++i) {
            activations_[d][i] = gate_activation_f32(form.activations[d][i]);
        }
    }
    clip_ = *find_unary_f32("Clip", {{"min", -form.clip}, {"max", form.clip}});
    // Half the height of a register tile: it then has twice the panels, and is as fast, and there
    // are twice the tiles.
    blocks_ = divide_up(geometry.batch, int64_t{gemm_table().max_rows / 2});
    rows_ = divide_up(geometry.batch, blocks_);
    steps_at_once_ = std::clamp<int64_t>(kInputRows / rows_, 1, geometry.steps);
    tile_count = geometry.directions * blocks_;
    place_scratch();

    const double columns = double(form.gates * geometry.hidden);
    const double step_flops = 2.0 * double(geometry.hidden) * columns;
    const double step_ns =
        std::max(gemm_cost_ns(double(rows_) * step_flops), 2.0 * step_flops / kWeightBytesPerNs);
    const double unit_ns = columns * activations_[0][0].ns_per_element;
    cost_ns = double(geometry.steps * geometry.directions) *
              (double(blocks_) * step_ns +
               double(geometry.batch) *
                   (unit_ns + gemm_cost_ns(2.0 * double(geometry.inputs) * columns)));
}

void RecurrentKernel::place_scratch() {
    constexpr int64_t kLineFloats = 16;
    const int64_t row_floats = int64_t{sizeof(GemmRow) / sizeof(float)};
    const int64_t input_rows = steps_at_once_ * rows_;
    int64_t end = 0;
    const auto place = [&end](int64_t floats) {
        const int64_t begin = end;
        end += round_up(floats, kLineFloats);
        return begin;
    };
    const int64_t states = rows_ * geometry_.hidden;
    scratch_.w = place(packed_.w == nullptr ? panels_.packed_floats(geometry_.inputs) : 0);
    scratch_.r = place(packed_.r == nullptr ? panels_.packed_floats(geometry_.hidden) : 0);
    scratch_.bias = place(panels_.row_floats());
    scratch_.hidden_bias = place(form_.linear_before_reset ? panels_.parts().back().columns : 0);
    scratch_.sums = place(input_rows * panels_.row_floats());
    scratch_.h = place(states);
    scratch_.c = place(form_.cell == RecurrentCell::kLstm ? states : 0);
    scratch_.aside =
        place(form_.cell == RecurrentCell::kGru ? rows_ * panels_.parts().back().columns : 0);
    scratch_.gemm =
        place(input_gemm_.scratch_floats(input_rows, panels_.row_floats() / gemm_table().nr));
    scratch_.input_rows = place(input_rows * row_floats);
    scratch_.state_rows = place(rows_ * row_floats);
    scratch_bytes = end * int64_t{sizeof(float)};
}

Status RecurrentKernel::run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const {
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        LEAT_RETURN_IF_ERROR(run_tile(args, tile));
    }
    return {};
}

Status RecurrentKernel::run_tile(const KernelArgs& args, int64_t index) const {
    Tile tile{args};
    tile.direction = index / blocks_;
    tile.first = part_begin(geometry_.batch, blocks_, index % blocks_);
    tile.rows = part_begin(geometry_.batch, blocks_, index % blocks_ + 1) - tile.first;
    LEAT_RETURN_IF_ERROR(begin(tile));
    const int64_t longest = tile.sequences[0].length;
    float* sums = tile.scratch(scratch_.sums);
    for (int64_t from = 0; from < longest; from += steps_at_once_) {
        const int64_t to = std::min(from + steps_at_once_, longest);
        LEAT_RETURN_IF_ERROR(add_inputs(tile, from, to));
        for (int64_t step = from; step < to; ++step) {
            while (tile.sequences[size_t(tile.active - 1)].length <= step) {
                --tile.active;
            }
            // In turn: what a step read last of weights is still near when the next one begins.
            tile.is_backward = step % 2 != 0;
            run_step(tile, step, sums + (step - from) * tile.rows * panels_.row_floats());
        }
    }
    finish(tile);
    return {};
}

Status RecurrentKernel::begin(Tile& tile) const {
    LEAT_RETURN_IF_ERROR(order_sequences(tile));
    tile.active = tile.rows;
    find_weights(tile);
    add_up_biases(tile);
    if (const TensorArg* p = find_arg(tile.args.inputs, kRecurrentPeepholes)) {
        tile.peepholes = p->as<const float>() + tile.direction * p->shape[1];
    }
    tile.h = tile.scratch(scratch_.h);
    tile.c = tile.scratch(scratch_.c);
    tile.aside = tile.scratch(scratch_.aside);
    load_state(tile, kRecurrentInitialH, tile.h);
    if (form_.cell == RecurrentCell::kLstm) {
        load_state(tile, kRecurrentInitialC, tile.c);
    }
    tile.state_rows = reinterpret_cast<GemmRow*>(tile.scratch(scratch_.state_rows));
    for (int64_t row = 0; row < tile.rows; ++row) {
        tile.state_rows[row] = GemmRow();
        tile.state_rows[row].a_offset = row * geometry_.hidden;
    }
    return {};
}

// So that those that a step has are the first ones.
Status RecurrentKernel::order_sequences(Tile& tile) const {
    for (int64_t row = 0; row < tile.rows; ++row) {
        TileSequence next{tile.first + row, 0};
        LEAT_ASSIGN_OR_RETURN(next.length,
                              sequence_length(node_, tile.args.inputs, next.n, geometry_.steps));
        int64_t place = row;
        for (; place > 0 && tile.sequences[size_t(place - 1)].length < next.length; --place) {
            tile.sequences[size_t(place)] = tile.sequences[size_t(place - 1)];
        }
        tile.sequences[size_t(place)] = next;
    }
    return {};
}

// Packed ones, or those of this run.
void RecurrentKernel::find_weights(Tile& tile) const {
    const auto find = [&](const std::byte* packed, int64_t depth, int64_t scratch,
                          RecurrentInput input, auto pack) -> const float* {
        if (packed != nullptr) {
            return reinterpret_cast<const float*>(packed) +
                   tile.direction * panels_.packed_floats(depth);
        }
        float* own = tile.scratch(scratch);
        (panels_.*pack)(tile.args.inputs[size_t(input)].data, tile.direction, own);
        return own;
    };
    tile.w = find(packed_.w.get(), geometry_.inputs, scratch_.w, kRecurrentW, &GatePanels::pack_w);
    tile.r = find(packed_.r.get(), geometry_.hidden, scratch_.r, kRecurrentR, &GatePanels::pack_r);
}

// The bias of x and that of h are one, but where the latter is multiplied by r.
void RecurrentKernel::add_up_biases(Tile& tile) const {
    const TensorArg* b = find_arg(tile.args.inputs, kRecurrentBias);
    if (b == nullptr) {
        return;
    }
    const int64_t hidden = geometry_.hidden;
    const float* of_x = b->as<const float>() + tile.direction * b->shape[1];
    const float* of_h = of_x + form_.gates * hidden;
    float* bias = tile.scratch(scratch_.bias);
    std::fill_n(bias, panels_.row_floats(), 0.0F);
    for (const GatePart& part : panels_.parts()) {
        const int64_t from = part.first_gate * hidden;
        const int64_t count = part.gates * hidden;
        if (part.first_gate > 0 && form_.linear_before_reset) {
            float* apart = tile.scratch(scratch_.hidden_bias);
            std::fill_n(apart, part.columns, 0.0F);
            std::copy_n(of_h + from, count, apart);
            std::copy_n(of_x + from, count, bias + part.column);
            tile.hidden_bias = apart;
        } else {
            add_f32_({of_x + from}, {of_h + from}, bias + part.column, 0, 1, count);
        }
    }
    tile.bias = bias;
}

void RecurrentKernel::load_state(const Tile& tile, RecurrentInput input, float* state) const {
    const TensorArg* initial = find_arg(tile.args.inputs, input);
    for (int64_t row = 0; row < tile.rows; ++row) {
        float* to = state + row * geometry_.hidden;
        if (initial == nullptr) {
            std::fill_n(to, geometry_.hidden, 0.0F);
            continue;
        }
        const int64_t from = geometry_.state_row(tile.direction, tile.sequences[size_t(row)].n);
        std::copy_n(initial->as<const float>() + from, geometry_.hidden, to);
    }
}

// Sums of steps [begin, end): what gates take of x, and the bias.
Status RecurrentKernel::add_inputs(const Tile& tile, int64_t begin, int64_t end) const {
    float* sums = tile.scratch(scratch_.sums);
    auto* rows = reinterpret_cast<GemmRow*>(tile.scratch(scratch_.input_rows));
    int64_t count = 0;
    for (int64_t step = begin; step < end; ++step) {
        for (int64_t row = 0; row < tile.rows && tile.sequences[size_t(row)].length > step; ++row) {
            const TileSequence& sequence = tile.sequences[size_t(row)];
            const int64_t at = form_.is_reverse(tile.direction) ? sequence.length - 1 - step : step;
            rows[count] = GemmRow();
            rows[count].a_offset = geometry_.x_row(at, sequence.n);
            rows[count].dst_offset = ((step - begin) * tile.rows + row) * panels_.row_floats();
            rows[count].row = int32_t(count);
            ++count;
        }
    }
    const std::span<GemmRow> given(rows, size_t(count));
    cut_tiles(given, gemm_table().max_rows);
    PanelGemm::Block block;
    block.args = &tile.args;
    block.a = tile.args.inputs[kRecurrentX].as<const float>();
    block.rows = given;
    block.b = tile.w;
    block.b_row_stride = gemm_table().nr;
    block.b_panel_stride = geometry_.inputs * gemm_table().nr;
    block.columns = panels_.row_floats();
    block.dst = sums;
    block.scratch = tile.scratch(scratch_.gemm);
    LEAT_RETURN_IF_ERROR(input_gemm_.run(block));
    for (const GemmRow& row : given) {
        float* to = sums + row.dst_offset;
        if (tile.bias != nullptr) {
            add_f32_({to}, {tile.bias}, to, 0, 1, panels_.row_floats());
        }
    }
    return {};
}

void RecurrentKernel::run_step(const Tile& tile, int64_t step, float* sums) const {
    panels_.add_product(tile.states(tile.h), tile.r, panels_.parts().front(), sums);
    if (form_.cell == RecurrentCell::kGru) {
        finish_gru(tile, sums);
    }
    const TensorArg* y = find_arg(tile.args.outputs, 0);
    for (int64_t row = 0; row < tile.active; ++row) {
        if (form_.cell == RecurrentCell::kLstm) {
            finish_lstm(tile, sums + row * panels_.row_floats(), row);
        } else if (form_.cell == RecurrentCell::kRnn) {
            finish_rnn(tile, sums + row * panels_.row_floats(), row);
        }
        if (y != nullptr) {
            const TileSequence& sequence = tile.sequences[size_t(row)];
            const int64_t at = form_.is_reverse(tile.direction) ? sequence.length - 1 - step : step;
            std::copy_n(tile.h + row * geometry_.hidden, geometry_.hidden,
                        y->as<float>() + geometry_.y_row(at, tile.direction, sequence.n));
        }
    }
}

// x = f(clip(x)), with f of the direction and number.
void RecurrentKernel::activate(const Tile& tile, int which, float* x, int64_t n) const {
    if (clips_) {
        clip_(x, x, n);
    }
    activations_[size_t(tile.direction)][size_t(which)](x, x, n);
}

void RecurrentKernel::finish_lstm(const Tile& tile, float* gates, int64_t row) const {
    const int64_t n = geometry_.hidden;
    float* i = gates;
    float* o = gates + n;
    float* f = gates + 2 * n;
    float* g = gates + 3 * n;
    float* c = tile.c + row * n;
    if (tile.peepholes == nullptr) {
        activate(tile, 0, i, 3 * n);
    } else {
        loops_.add_product(tile.peepholes, c, i, n);
        loops_.add_product(tile.peepholes + 2 * n, c, f, n);
        activate(tile, 0, i, n);
        activate(tile, 0, f, n);
    }
    if (form_.input_forget) {
        loops_.complement(i, f, n);
    }
    activate(tile, 1, g, n);
    loops_.next_cell(i, f, g, c, n);
    if (tile.peepholes != nullptr) {
        loops_.add_product(tile.peepholes + n, c, o, n);
        activate(tile, 0, o, n);
    }
    float* of_c = i;
    activations_[size_t(tile.direction)][2](c, of_c, n);
    multiply_f32_({o}, {of_c}, tile.h + row * n, 0, 1, n);
}

// All rows: the last gate has a product of its own.
void RecurrentKernel::finish_gru(const Tile& tile, float* sums) const {
    const int64_t n = geometry_.hidden;
    const GatePart& last = panels_.parts().back();
    if (form_.linear_before_reset) {
        panels_.product(tile.states(tile.h), tile.r, last, tile.hidden_bias, tile.aside);
    }
    for (int64_t row = 0; row < tile.active; ++row) {
        float* z = sums + row * panels_.row_floats();
        float* r = z + n;
        activate(tile, 0, z, 2 * n);
        if (form_.linear_before_reset) {
            loops_.add_product(r, tile.aside + row * last.columns, z + last.column, n);
        } else {
            multiply_f32_({r}, {tile.h + row * n}, tile.aside + row * n, 0, 1, n);
        }
    }
    if (!form_.linear_before_reset) {
        panels_.add_product(tile.states(tile.aside), tile.r, last, sums);
    }
    for (int64_t row = 0; row < tile.active; ++row) {
        float* z = sums + row * panels_.row_floats();
        float* next = z + last.column;
        activate(tile, 1, next, n);
        loops_.blend(z, next, tile.h + row * n, n);
    }
}

void RecurrentKernel::finish_rnn(const Tile& tile, float* gates, int64_t row) const {
    const int64_t n = geometry_.hidden;
    activate(tile, 0, gates, n);
    std::copy_n(gates, n, tile.h + row * n);
}

// Zeros behind the sequences, and the last states.
void RecurrentKernel::finish(const Tile& tile) const {
    if (const TensorArg* y = find_arg(tile.args.outputs, 0)) {
        for (int64_t row = 0; row < tile.rows; ++row) {
            const TileSequence& sequence = tile.sequences[size_t(row)];
            for (int64_t step = sequence.length; step < geometry_.steps; ++step) {
                std::fill_n(y->as<float>() + geometry_.y_row(step, tile.direction, sequence.n),
                            geometry_.hidden, 0.0F);
            }
        }
    }
    write_state(tile, 1, tile.h);
    write_state(tile, 2, tile.c);
}

void RecurrentKernel::write_state(const Tile& tile, int output, const float* state) const {
    const TensorArg* to = find_arg(tile.args.outputs, output);
    for (int64_t row = 0; to != nullptr && row < tile.rows; ++row) {
        const TileSequence& sequence = tile.sequences[size_t(row)];
        float* at = to->as<float>() + geometry_.state_row(tile.direction, sequence.n);
        if (sequence.length > 0) {
            std::copy_n(state + row * geometry_.hidden, geometry_.hidden, at);
        } else {
            std::fill_n(at, geometry_.hidden, 0.0F);
        }
    }
}

// The packed copy of constant w or r, or null.
Result<std::shared_ptr<const std::byte>> pack_gates(PrepareContext& context,
                                                    const GatePanels& panels,
                                                    RecurrentInput input) {
    const Tensor* source = context.constants[size_t(input)];
    if (source == nullptr) {
        return std::shared_ptr<const std::byte>();
    }
    const Shape& shape = source->shape();
    const int64_t directions = shape[0];
    const int64_t k = shape[2];
    const int64_t floats = panels.packed_floats(k);
    const bool is_w = input == kRecurrentW;
    const std::string key = fmt::format("gates_f32 nr={} {} of {} shape={}", gemm_table().nr,
                                        is_w ? 'w' : 'r', context.node.op_type, shape.to_string());
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        for (int64_t d = 0; d < directions; ++d) {
            float* to = reinterpret_cast<float*>(packed) + d * floats;
            is_w ? panels.pack_w(tensor.bytes(), d, to) : panels.pack_r(tensor.bytes(), d, to);
        }
    };
    LEAT_ASSIGN_OR_RETURN(auto packed,
                          context.weights.get_or_pack(
                              *source, key, directions * floats * int64_t{sizeof(float)}, pack));
    context.packed_inputs |= uint64_t{1} << unsigned(input);
    return packed;
}

Result<std::unique_ptr<CpuKernel>> make_recurrent(PrepareContext& context) {
    if (context.inputs[kRecurrentX].dtype != DType::kFloat32) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const RecurrentForm form, RecurrentForm::make(context.node));
    const RecurrentGeometry geometry = RecurrentGeometry::make(
        form, context.inputs[kRecurrentX].shape, context.inputs[kRecurrentR].shape);
    if (geometry.steps == 0 || geometry.batch == 0 || geometry.inputs == 0 ||
        geometry.hidden == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    GatePanels panels(form, geometry);
    PackedGates packed;
    const auto* former = former_kernel<RecurrentKernel>(context);
    if (former != nullptr && former->packed().w != nullptr && former->packed().r != nullptr) {
        packed = former->packed();
        context.packed_inputs |= 1U << kRecurrentW | 1U << kRecurrentR;
    } else {
        LEAT_ASSIGN_OR_RETURN(packed.w, pack_gates(context, panels, kRecurrentW));
        LEAT_ASSIGN_OR_RETURN(packed.r, pack_gates(context, panels, kRecurrentR));
    }
    return std::unique_ptr<CpuKernel>(std::make_unique<RecurrentKernel>(
        context.node, form, geometry, std::move(panels), std::move(packed)));
}

constexpr CpuKernelEntry kRecurrentCpuKernels[] = {
    {"GRU", make_recurrent}, {"LSTM", make_recurrent}, {"RNN", make_recurrent}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> recurrent_cpu_kernels() {
    return cpu::kRecurrentCpuKernels;
}

}  // namespace leat
