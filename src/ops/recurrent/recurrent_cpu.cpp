// LSTM, GRU and RNN in f32. What gates take of x is one product for many steps at a time; in each
// step they take from h what rows x panels of the register tile give, and then units of a row one
// after the other.
//
// A piece of the work is one direction of some sequences, which read the same weights in a step. It
// is a tile; or, where a step is long enough, several tiles, whose workers divide the units of each
// step among themselves. Neither changes a bit.
#include <algorithm>

#include "backends/cpu/former_kernel.h"
#include "backends/cpu/open_team.h"
#include "base/round_up.h"
#include "memory/domains/weight_store.h"
#include "ops/recurrent/recurrent_piece_cpu.h"

namespace leat {
namespace cpu {
namespace {

// What products of few rows read of weights, from L2 or behind it.
constexpr double kWeightBytesPerNs = 40;
// The same from L2, where a worker of a team has its share of them.
constexpr double kNearBytesPerNs = 150;
// Of a step, for each worker of a team: a meeting takes some 0.2 us.
constexpr double kMemberNs = 1000;
// Of each worker, so that others can help one that has lost its core.
constexpr int64_t kChunksPerMember = 2;

// How many workers are worth their meetings, for a step of that many sequences.
int64_t workers_of_a_step(const RecurrentForm& form,
                          const RecurrentGeometry& geometry,
                          int64_t rows,
                          int workers) {
    const double weights = double(form.gates * geometry.hidden * geometry.hidden);
    const double step_ns = std::max(gemm_cost_ns(2.0 * double(rows) * weights),
                                    weights * double(sizeof(float)) / kNearBytesPerNs);
    return std::clamp<int64_t>(int64_t(step_ns / kMemberNs), 1, workers);
}

class RecurrentKernel final : public CpuKernel {
  public:
    RecurrentKernel(const NodeData& node, RecurrentLayer layer, int workers)
        : node_(node),
          layer_(std::move(layer)),
          pieces_(layer_.geometry.directions * layer_.blocks) {
        kernel_name = "recurrent_f32";
        names_node = true;
        choose_team(workers);
        const RecurrentMemory& memory = layer_.memory;
        const int64_t own = layer_.has_team ? 0 : memory.piece_floats;
        const int64_t shared = layer_.has_team ? pieces_ * memory.piece_floats : 0;
        scratch_bytes = (memory.worker_floats + own) * int64_t{sizeof(float)};
        shared_bytes = shared * int64_t{sizeof(float)};
        cost_ns = estimated_ns();
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
            LEAT_RETURN_IF_ERROR(run_tile(args, tile));
        }
        return {};
    }

    std::unique_ptr<KernelState> make_host_state() const override {
        return layer_.has_team ? std::make_unique<TeamsState>(pieces_, team_) : nullptr;
    }

    const PackedGates& packed() const { return layer_.packed; }
    size_t chunks() const { return layer_.panels.chunks().size(); }

  private:
    void choose_team(int workers) {
        team_.items = int64_t(chunks());
        // Else each worker has pieces of its own.
        if (pieces_ % workers != 0) {
            team_.members = std::min(
                workers_of_a_step(layer_.form, layer_.geometry, layer_.rows, workers), team_.items);
        }
        layer_.has_team = team_.members > 1;
        tile_count = pieces_ * team_.members;
    }

    double estimated_ns() const {
        const RecurrentGeometry& geometry = layer_.geometry;
        const double columns = double(layer_.form.gates * geometry.hidden);
        const double step_flops = 2.0 * double(geometry.hidden) * columns;
        const double step_ns = std::max(gemm_cost_ns(double(layer_.rows) * step_flops),
                                        2.0 * step_flops / kWeightBytesPerNs);
        const double unit_ns = columns * layer_.activations[0][0].ns_per_element;
        return double(geometry.steps * geometry.directions) *
               (double(layer_.blocks) * step_ns +
                double(geometry.batch) *
                    (unit_ns + gemm_cost_ns(2.0 * double(geometry.inputs) * columns)));
    }

    Status run_tile(const KernelArgs& args, int64_t tile) const {
        const int64_t index = tile / team_.members;
        auto* const own = reinterpret_cast<float*>(args.scratch);
        float* const scratch = own + (layer_.has_team ? 0 : layer_.memory.piece_floats);
        float* const memory = layer_.has_team ? reinterpret_cast<float*>(args.shared) +
                                                    index * layer_.memory.piece_floats
                                              : own;
        RecurrentPiece piece(layer_, args, index, memory, scratch);
        LEAT_RETURN_IF_ERROR(piece.order_sequences(node_));
        if (layer_.has_team) {
            TeamsState::team_of(*args.state, index)
                .take_part(piece.phases(), tile % team_.members, piece);
        } else {
            work_alone(piece.phases(), team_.items, piece);
        }
        return {};
    }

    const NodeData& node_;  // for messages
    RecurrentLayer layer_;
    int64_t pieces_;
    TeamSize team_;  // of a piece
};

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
    const std::string key = fmt::format("gates_f32 nr={} {} of {} shape={} chunks={}",
                                        gemm_table().nr, is_w ? 'w' : 'r', context.node.op_type,
                                        shape.to_string(), panels.chunks().size());
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        for (int64_t d = 0; d < directions; ++d) {
            float* to = reinterpret_cast<float*>(packed) + d * floats;
            for (const GateChunk& chunk : panels.chunks()) {
                is_w ? panels.pack_w(tensor.bytes(), d, chunk, to)
                     : panels.pack_r(tensor.bytes(), d, chunk, to);
            }
        }
    };
    LEAT_ASSIGN_OR_RETURN(auto packed,
                          context.weights.get_or_pack(
                              *source, key, directions * floats * int64_t{sizeof(float)}, pack));
    context.packed_inputs |= uint64_t{1} << unsigned(input);
    return packed;
}

// By what one sequence is worth, so that plans for all batches read the same packed weights.
int64_t choose_chunks(const RecurrentForm& form, const RecurrentGeometry& geometry, int workers) {
    // Workers that have pieces of their own need no chunks, whatever the batch.
    const bool is_even = geometry.directions % workers == 0;
    const int64_t members = is_even ? 1 : workers_of_a_step(form, geometry, 1, workers);
    return members == 1
               ? 1
               : std::min(GatePanels::most_chunks(form, geometry), kChunksPerMember * members);
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
    GatePanels panels(form, geometry, choose_chunks(form, geometry, context.workers));
    PackedGates packed;
    const auto* former = former_kernel<RecurrentKernel>(context);
    if (former != nullptr && former->chunks() == panels.chunks().size() &&
        former->packed().w != nullptr && former->packed().r != nullptr) {
        packed = former->packed();
        context.packed_inputs |= 1U << kRecurrentW | 1U << kRecurrentR;
    } else {
        LEAT_ASSIGN_OR_RETURN(packed.w, pack_gates(context, panels, kRecurrentW));
        LEAT_ASSIGN_OR_RETURN(packed.r, pack_gates(context, panels, kRecurrentR));
    }
    return std::unique_ptr<CpuKernel>(std::make_unique<RecurrentKernel>(
        context.node, RecurrentLayer(form, geometry, std::move(panels), std::move(packed)),
        context.workers));
}

constexpr CpuKernelEntry kRecurrentCpuKernels[] = {
    {"GRU", make_recurrent}, {"LSTM", make_recurrent}, {"RNN", make_recurrent}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> recurrent_cpu_kernels() {
    return cpu::kRecurrentCpuKernels;
}

}  // namespace leat
