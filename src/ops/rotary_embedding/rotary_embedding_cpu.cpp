// RotaryEmbedding in f32, a token a unit: its row of angles serves all heads.
#include <array>
#include <cstring>
#include <memory>

#include "backends/cpu/unit_kernel.h"
#include "ops/rotary_embedding/rotary_embedding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rotary_embedding/rotary_embedding_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

// Pairs are those of the two halves of n elements each.
void rotate_halves(const float* x, const float* cos, const float* sin, float* y, int64_t n) {
    for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
        const FloatVec c = at.load(cos + i);
        const FloatVec s = at.load(sin + i);
        const FloatVec x1 = at.load(x + i);
        const FloatVec x2 = at.load(x + n + i);
        at.store(hn::Sub(hn::Mul(c, x1), hn::Mul(s, x2)), y + i);
        at.store(hn::Add(hn::Mul(s, x1), hn::Mul(c, x2)), y + n + i);
    });
}

// Pairs are neighbours.
void rotate_neighbours(const float* x, const float* cos, const float* sin, float* y, int64_t n) {
    int64_t i = 0;
    for (; i + kFloatLanes <= n; i += kFloatLanes) {
        const FloatVec c = hn::LoadU(kFloats, cos + i);
        const FloatVec s = hn::LoadU(kFloats, sin + i);
        FloatVec x1 = hn::Zero(kFloats);
        FloatVec x2 = x1;
        hn::LoadInterleaved2(kFloats, x + 2 * i, x1, x2);
        hn::StoreInterleaved2(hn::Sub(hn::Mul(c, x1), hn::Mul(s, x2)),
                              hn::Add(hn::Mul(s, x1), hn::Mul(c, x2)), kFloats, y + 2 * i);
    }
    for (; i < n; ++i) {
        const float x1 = x[2 * i];
        const float x2 = x[2 * i + 1];
        y[2 * i] = cos[i] * x1 - sin[i] * x2;
        y[2 * i + 1] = sin[i] * x1 + cos[i] * x2;
    }
}

}  // namespace

using RotateHead = void (*)(const float*, const float*, const float*, float*, int64_t);
RotateHead select_rotate_head(bool is_interleaved) {
    return is_interleaved ? rotate_neighbours : rotate_halves;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_rotate_head);

using RotateHeadFunction = void (*)(const float*, const float*, const float*, float*, int64_t);

class RotaryKernel final : public cpu::CpuKernel {
  public:
    RotaryKernel(const RotaryGeometry& geometry, RotateHeadFunction rotate, double total_ns)
        : geometry_(geometry), rotate_(rotate) {
        constexpr double kTileNs = 40e3;  // as of UnitKernel
        kernel_name = "rotary_embedding_f32";
        cost_ns = total_ns;
        tile_count = std::max<int64_t>(1, std::min(tokens(), int64_t(total_ns / kTileNs)));
    }

    Status run(const cpu::KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const int64_t end = part_begin(tokens(), tile_count, tile_end);
        for (int64_t token = part_begin(tokens(), tile_count, tile_begin); token < end; ++token) {
            LEAT_RETURN_IF_ERROR(
                run_token(args, token / geometry_.length, token % geometry_.length));
        }
        return {};
    }

  private:
    int64_t tokens() const { return geometry_.batch * geometry_.length; }

    Status run_token(const cpu::KernelArgs& args, int64_t sequence, int64_t token) const {
        LEAT_ASSIGN_OR_RETURN(const int64_t row, rotary_row(args.inputs, sequence, token));
        const int64_t half = geometry_.rotated / 2;
        const float* cos = args.inputs[1].as<const float>() + row * half;
        const float* sin = args.inputs[2].as<const float>() + row * half;
        for (int64_t head = 0; head < geometry_.heads; ++head) {
            const int64_t first = geometry_.first_element(sequence, token, head);
            const float* x = args.inputs[0].as<const float>() + first;
            float* y = args.outputs[0].as<float>() + first;
            rotate_(x, cos, sin, y, half);
            const int64_t rest = geometry_.head_size - geometry_.rotated;
            if (rest > 0) {
                std::memcpy(y + geometry_.rotated, x + geometry_.rotated,
                            size_t(rest) * sizeof(float));
            }
        }
        return {};
    }

    RotaryGeometry geometry_;
    RotateHeadFunction rotate_;
};

Result<std::unique_ptr<cpu::CpuKernel>> make_rotary_embedding(cpu::PrepareContext& context) {
    const std::span<const TensorArg> inputs = context.inputs;
    LEAT_ASSIGN_OR_RETURN(const auto geometry, RotaryGeometry::make(context.node, inputs[0].shape));
    const auto is_row_major = [](const TensorArg& arg) {
        return !arg.present() || arg.is_row_major();
    };
    if (!cpu::all_f32(inputs.first(3)) || !context.outputs[0].is_row_major() ||
        !std::all_of(inputs.begin(), inputs.end(), is_row_major)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    // Memory of the second cache, read and written.
    const double total_ns = 0.3 * double(inputs[0].shape.element_count());
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<RotaryKernel>(
        geometry, HWY_DYNAMIC_DISPATCH(select_rotate_head)(geometry.is_interleaved), total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> rotary_embedding_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{
        {"RotaryEmbedding", make_rotary_embedding},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
