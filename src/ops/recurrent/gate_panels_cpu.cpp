#include "ops/recurrent/gate_panels_cpu.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backends/cpu/gemm.h"
#include "base/parts.h"
#include "base/round_up.h"

namespace leat::cpu {
namespace {

// Of a part: all gates of an LSTM have one product.
bool has_single_gates(const RecurrentForm& form) {
    return form.cell != RecurrentCell::kLstm;
}

// Chunks begin at multiples of that many units: a line of h or more, so that no two workers write
// to the same one, and columns that are whole panels.
int64_t unit_block(const RecurrentForm& form) {
    constexpr int64_t kLineFloats = 16;
    return has_single_gates(form) ? std::max(kLineFloats, int64_t{gemm_table().nr}) : kLineFloats;
}

}  // namespace

// For one row a call of several panels takes as long as one of a single panel: sums of a column
// wait for each other.
int64_t GatePanels::most_chunks(const RecurrentForm& form, const RecurrentGeometry& geometry) {
    const int64_t columns = int64_t{gemm_table().wide_panels[1]} * gemm_table().nr;
    const int64_t least_units = has_single_gates(form) ? columns : columns / form.gates;
    return std::max<int64_t>(
        geometry.hidden / (divide_up(least_units, unit_block(form)) * unit_block(form)), 1);
}

GatePanels::GatePanels(const RecurrentForm& form, const RecurrentGeometry& geometry, int64_t chunks)
    : table_(gemm_table()),
      gates_(form.gates),
      inputs_(geometry.inputs),
      hidden_(geometry.hidden),
      has_last_apart_(form.cell == RecurrentCell::kGru),
      segments_(PanelGemm::plain_segments(geometry.hidden)) {
    const int64_t block = unit_block(form);
    const int64_t blocks = divide_up(hidden_, block);
    const auto first_unit = [&](int64_t chunk) {
        return std::min(hidden_, block * part_begin(blocks, chunks, chunk));
    };
    const int64_t gates_together = gates_ - (has_last_apart_ ? 1 : 0);
    for (int64_t i = 0; i < chunks; ++i) {
        GateChunk& chunk = chunks_.emplace_back();
        chunk.unit = first_unit(i);
        chunk.units = first_unit(i + 1) - chunk.unit;
        chunk.column = row_floats_;
        const auto part = [&](int64_t first, int64_t gates) {
            const int64_t columns = divide_up(gates * chunk.units, table_.nr) * table_.nr;
            const int64_t column = row_floats_;
            row_floats_ += columns;
            return GatePart{first, gates, chunk.unit, chunk.units, column, columns, last_floats_};
        };
        chunk.first = part(0, gates_together);
        chunk.last = has_last_apart_ ? part(gates_together, 1) : chunk.first;
        chunk.columns = row_floats_ - chunk.column;
        last_floats_ += chunk.last.columns;
    }
}

void GatePanels::pack_w(const std::byte* w,
                        int64_t direction,
                        const GateChunk& chunk,
                        float* packed) const {
    pack(w, inputs_, direction, chunk.first, 1, packed);
    if (has_last_apart_) {
        pack(w, inputs_, direction, chunk.last, 1, packed);
    }
}

void GatePanels::pack_r(const std::byte* r,
                        int64_t direction,
                        const GateChunk& chunk,
                        float* packed) const {
    pack(r, hidden_, direction, chunk.first, kMaxPanelsPerCall, packed);
    if (has_last_apart_) {
        pack(r, hidden_, direction, chunk.last, kMaxPanelsPerCall, packed);
    }
}

void GatePanels::pack(const std::byte* weights,
                      int64_t k,
                      int64_t direction,
                      const GatePart& part,
                      int64_t panels_abreast,
                      float* packed) const {
    // Of the weights: a row for each column of the panels.
    std::array<const std::byte*, size_t{kMaxPanelsPerCall} * kMaxPanelColumns> rows{};
    const int64_t most = panels_abreast * table_.nr;
    float* to = packed + part.column * k;
    for (int64_t first = 0; first < part.columns; first += most) {
        const int64_t columns = std::min(most, part.columns - first);
        const int64_t given = std::clamp<int64_t>(part.gates * part.units - first, 0, columns);
        for (int64_t j = 0; j < given; ++j) {
            const int64_t gate = direction * gates_ + part.first_gate + (first + j) / part.units;
            const int64_t row = gate * hidden_ + part.unit + (first + j) % part.units;
            rows[size_t(j)] = weights + row * k * int64_t{sizeof(float)};
        }
        for (int64_t i = 0; i < k; ++i, to += columns) {
            for (int64_t j = 0; j < given; ++j) {
                std::memcpy(to + j, rows[size_t(j)] + i * int64_t{sizeof(float)}, sizeof(float));
            }
            std::fill(to + given, to + columns, 0.0F);
        }
    }
}

// set_target(call, column) says where sums of the panels from that column of the part on come from
// and go to.
template <class SetTarget>
void GatePanels::for_each_call(const StateRows& states,
                               const float* r,
                               const GatePart& part,
                               const SetTarget& set_target) const {
    const int64_t nr = table_.nr;
    const auto height = size_t(states.count);
    const int64_t panels = part.columns / nr;
    const int64_t groups = divide_up(panels, int64_t{kMaxPanelsPerCall});
    MicroCall call;
    call.rows = states.rows;
    call.a = states.state;
    call.segments = segments_.data();
    call.segment_count = int64_t(segments_.size());
    call.b_panel_stride = nr;
    for (int64_t i = 0; i < groups; ++i) {
        const int64_t group = states.is_backward ? groups - 1 - i : i;
        const int64_t first = group * kMaxPanelsPerCall;
        const int64_t abreast = std::min(panels - first, int64_t{kMaxPanelsPerCall});
        call.b_row_stride = abreast * nr;
        int64_t done = 1;
        for (int64_t panel = 0; panel < abreast; panel += done) {
            const bool is_wide = panel + table_.wide_panels[height] <= abreast;
            done = is_wide ? table_.wide_panels[height] : 1;
            call.b = r + (part.column + first * nr) * hidden_ + panel * nr;
            set_target(call, (first + panel) * nr);
            (is_wide ? table_.wide : table_.single)[height](call);
        }
    }
}

void GatePanels::add_product(const StateRows& states,
                             const float* r,
                             const GatePart& part,
                             float* sums) const {
    for_each_call(states, r, part, [&](MicroCall& call, int64_t column) {
        call.partial_out = sums + part.column + column;
        call.partial_in = call.partial_out;
        call.partial_stride = row_floats_;
    });
}

void GatePanels::product(const StateRows& states,
                         const float* r,
                         const GatePart& part,
                         const float* bias,
                         float* sums) const {
    for_each_call(states, r, part, [&](MicroCall& call, int64_t column) {
        call.dst = sums + column;
        call.dst_stride = part.columns;
        call.bias = bias == nullptr ? nullptr : bias + column;
    });
}

}  // namespace leat::cpu
