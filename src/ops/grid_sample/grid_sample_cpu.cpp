// GridSample of f32, up to three spatial axes. A unit is a block of positions of one image: their
// taps are found once, and all channels read them. Bits are those of the reference kernel.
#include <array>

#include "backends/cpu/unit_kernel.h"
#include "base/round_up.h"
#include "ops/grid_sample/grid_sample.h"

namespace leat {
namespace {

constexpr int64_t kPositionsOfUnit = 32;
constexpr size_t kMostSampledTaps = 64;  // cubic mode, three axes
constexpr int kMostSampledAxes = 3;
// Measured with AVX2 on data in L2.
constexpr double kNsPerSampledTap = 0.8;
constexpr double kNsPerCoordinate = 12;

struct GridSampleParams {
    GridSampleOptions options;
    int rank = 0;
    std::array<int64_t, size_t(kMostSampledAxes)> extents{1, 1, 1};  // the last ones count
    int64_t plane = 1;                                               // elements of x
    int64_t channels = 0;
    int64_t positions = 0;  // of an image
    int64_t blocks = 0;     // of positions
};

// What a position reads.
struct SampledPlace {
    size_t count = 0;
    std::array<int64_t, kMostSampledTaps> offset{};
    std::array<double, kMostSampledTaps> weight{};
};

void find_place(const GridSampleParams& params, const float* coordinates, SampledPlace& place) {
    std::array<GridTaps, size_t(kMostSampledAxes)> axes;
    const int first = kMostSampledAxes - params.rank;
    for (int axis = 0; axis < kMostSampledAxes; ++axis) {
        if (axis < first) {
            axes[size_t(axis)] = {1, {0}, {1}};
        } else {
            axes[size_t(axis)] = grid_taps(params.options, coordinates[kMostSampledAxes - 1 - axis],
                                           params.extents[size_t(axis)]);
        }
    }
    place.count = 0;
    const auto add = [&](size_t d, size_t h) {
        const int64_t row = axes[0].index[d] * params.extents[1] + axes[1].index[h];
        const double weight = axes[0].weight[d] * axes[1].weight[h];
        for (size_t w = 0; w < size_t(axes[2].count); ++w) {
            if (axes[2].index[w] >= 0) {
                place.offset[place.count] = row * params.extents[2] + axes[2].index[w];
                place.weight[place.count++] = weight * axes[2].weight[w];
            }
        }
    };
    for (size_t d = 0; d < size_t(axes[0].count); ++d) {
        for (size_t h = 0; h < size_t(axes[1].count); ++h) {
            if (axes[0].index[d] >= 0 && axes[1].index[h] >= 0) {
                add(d, h);
            }
        }
    }
}

float read_nearest(const float* x, const SampledPlace& place) {
    return place.count == 0 ? 0 : x[place.offset[0]];
}
float read_mixed(const float* x, const SampledPlace& place) {
    if (place.count == 4) {  // linear, two axes
        double sum = 0.0 + place.weight[0] * double(x[place.offset[0]]);
        sum += place.weight[1] * double(x[place.offset[1]]);
        sum += place.weight[2] * double(x[place.offset[2]]);
        return float(sum + place.weight[3] * double(x[place.offset[3]]));
    }
    double sum = 0;
    for (size_t t = 0; t < place.count; ++t) {
        sum += place.weight[t] * double(x[place.offset[t]]);
    }
    return float(sum);
}

template <float (*kRead)(const float* x, const SampledPlace& place)>
void sample_blocks(const GridSampleParams& params,
                   const cpu::KernelArgs& args,
                   int64_t begin,
                   int64_t end) {
    std::array<SampledPlace, size_t(kPositionsOfUnit)> places;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t image = unit / params.blocks;
        const int64_t first = unit % params.blocks * kPositionsOfUnit;
        const int64_t count = std::min(kPositionsOfUnit, params.positions - first);
        const float* grid =
            args.inputs[1].as<const float>() + (image * params.positions + first) * params.rank;
        for (int64_t p = 0; p < count; ++p) {
            find_place(params, grid + p * params.rank, places[size_t(p)]);
        }
        for (int64_t c = image * params.channels; c < (image + 1) * params.channels; ++c) {
            const float* x = args.inputs[0].as<const float>() + c * params.plane;
            float* y = args.outputs[0].as<float>() + c * params.positions + first;
            for (int64_t p = 0; p < count; ++p) {
                y[p] = kRead(x, places[size_t(p)]);
            }
        }
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_grid_sample(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const int rank = x.shape.rank() - 2;
    const bool is_covered = cpu::all_f32(context.inputs) && rank <= kMostSampledAxes &&
                            x.is_row_major() && context.inputs[1].is_row_major() &&
                            y.is_row_major() && x.shape.element_count() > 0 &&
                            y.shape.element_count() > 0;
    if (!is_covered) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    GridSampleParams params;
    LEAT_ASSIGN_OR_RETURN(params.options, GridSampleOptions::from_node(context.node));
    params.rank = rank;
    double taps = 1;
    for (int axis = 0; axis < rank; ++axis) {
        params.extents[size_t(axis) + size_t(kMostSampledAxes) - size_t(rank)] = x.shape[2 + axis];
        taps *= params.options.taps();
    }
    params.plane = x.shape.element_count(2, x.shape.rank());
    params.channels = x.shape[1];
    params.positions = y.shape.element_count(2, y.shape.rank());
    params.blocks = divide_up(params.positions, kPositionsOfUnit);
    const double places = double(x.shape[0]) * double(params.positions);
    const double ns =
        places * (kNsPerCoordinate * rank + kNsPerSampledTap * taps * double(params.channels));
    const bool is_nearest = params.options.mode == GridSampleOptions::Mode::kNearest;
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<GridSampleParams>>(
        is_nearest ? "grid_sample_f32_nearest" : "grid_sample_f32",
        is_nearest ? sample_blocks<read_nearest> : sample_blocks<read_mixed>, params,
        x.shape[0] * params.blocks, ns));
}

constexpr cpu::CpuKernelEntry kGridSampleCpuKernels[] = {{"GridSample", make_grid_sample}};

}  // namespace

std::span<const cpu::CpuKernelEntry> grid_sample_cpu_kernels() {
    return kGridSampleCpuKernels;
}

}  // namespace leat
