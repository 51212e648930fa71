#include "ops/recurrent/gate_panels_cpu.h"

#include <algorithm>
#include <numeric>

#include "backends/cpu/gemm.h"
#include "backends/cpu/packing.h"
#include "base/round_up.h"

namespace leat::cpu {

GatePanels::GatePanels(const RecurrentForm& form, const RecurrentGeometry& geometry)
    : table_(gemm_table()),
      gates_(form.gates),
      inputs_(geometry.inputs),
      hidden_(geometry.hidden),
      k_offsets_(size_t(std::max(geometry.inputs, geometry.hidden))),
      segments_(PanelGemm::plain_segments(geometry.hidden)) {
    std::iota(k_offsets_.begin(), k_offsets_.end(), int64_t{0});
    const auto add_part = [this](int64_t first, int64_t gates) {
        const int64_t columns = divide_up(gates * hidden_, table_.nr) * table_.nr;
        parts_.push_back({first, gates, row_floats_, columns});
        row_floats_ += columns;
    };
    const int64_t apart = form.cell == RecurrentCell::kGru ? 1 : 0;
    add_part(0, gates_ - apart);
    if (apart > 0) {
        add_part(gates_ - apart, apart);
    }
}

void GatePanels::pack_w(const std::byte* w, int64_t direction, float* packed) const {
    pack(w, inputs_, direction, 1, packed);
}

void GatePanels::pack_r(const std::byte* r, int64_t direction, float* packed) const {
    pack(r, hidden_, direction, kMaxPanelsPerCall, packed);
}

void GatePanels::pack(const std::byte* weights,
                      int64_t k,
                      int64_t direction,
                      int64_t panels_abreast,
                      float* packed) const {
    for (const GatePart& part : parts_) {
        const int64_t row = (direction * gates_ + part.first_gate) * hidden_;
        const int64_t columns = part.gates * hidden_;
        const int64_t most = panels_abreast * table_.nr;
        for (int64_t first = 0; first < part.columns; first += most) {
            const WeightMatrix matrix{weights + (row + first) * k * int64_t{sizeof(float)},
                                      std::span(k_offsets_).first(size_t(k)),
                                      std::min(most, columns - first), k};
            pack_panels(matrix, std::min(most, part.columns - first), 1,
                        packed + (part.column + first) * k);
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
