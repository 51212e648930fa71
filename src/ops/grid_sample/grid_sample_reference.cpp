// The taps of one position at a time, for all channels.
#include <string>
#include <vector>

#include "ops/elementwise/element_access.h"
#include "ops/grid_sample/grid_sample.h"
#include "ops/movement/movement.h"

namespace leat {
namespace {

// An element of a plane of x, and what it counts.
struct SampleTap {
    int64_t offset;
    double weight;
};

template <class Real>
Real coordinate_at(const TensorArg& grid, int64_t index) {
    return Real(load_real(grid.dtype, grid.data, index));
}

// Behind `tap` along one more axis.
void append_sample_taps(const SampleTap& tap,
                        const GridTaps& found,
                        int64_t extent,
                        std::vector<SampleTap>& taps) {
    for (size_t i = 0; i < size_t(found.count); ++i) {
        if (found.index[i] >= 0) {
            taps.push_back({tap.offset * extent + found.index[i], tap.weight * found.weight[i]});
        }
    }
}

// Precondition: no spatial extent is 0.
template <class Real>
void find_sample_taps(const GridSampleOptions& options,
                      const Shape& x,
                      const TensorArg& grid,
                      int64_t position,
                      std::vector<SampleTap>& taps) {
    const int rank = x.rank() - 2;
    taps.assign(1, {0, 1});
    std::vector<SampleTap> outer;
    for (int axis = 0; axis < rank; ++axis) {
        const Real coordinate = coordinate_at<Real>(grid, position * rank + rank - 1 - axis);
        const GridTaps found = grid_taps(options, coordinate, x[2 + axis]);
        outer.swap(taps);
        taps.clear();
        for (const SampleTap& tap : outer) {
            append_sample_taps(tap, found, x[2 + axis], taps);
        }
    }
}

// Nearest: there is one tap, or none.
void copy_sample(const TensorArg& x,
                 int64_t plane,
                 const std::vector<SampleTap>& taps,
                 const TensorArg& y,
                 int64_t to) {
    // A string needs a constructed one; every other type's zero is zero bytes.
    const std::string empty;
    static constexpr std::byte kZeros[16] = {};
    const std::byte* zero =
        x.dtype == DType::kString ? reinterpret_cast<const std::byte*>(&empty) : kZeros;
    if (taps.empty()) {
        copy_elements(x.dtype, zero, 0, y.data, to, 1);
    } else {
        copy_elements(x.dtype, x.data, plane + taps[0].offset, y.data, to, 1);
    }
}

// Complex numbers are pairs of parts.
void mix_samples(const TensorArg& x,
                 int64_t plane,
                 const std::vector<SampleTap>& taps,
                 const TensorArg& y,
                 int64_t to) {
    const bool is_complex = x.dtype == DType::kComplex64 || x.dtype == DType::kComplex128;
    const int64_t parts = is_complex ? 2 : 1;
    DType dtype = x.dtype;
    if (is_complex) {
        dtype = x.dtype == DType::kComplex64 ? DType::kFloat32 : DType::kFloat64;
    }
    for (int64_t part = 0; part < parts; ++part) {
        double sum = 0;
        for (const SampleTap& tap : taps) {
            sum += tap.weight * load_real(dtype, x.data, (plane + tap.offset) * parts + part);
        }
        store_real(dtype, y.data, to * parts + part, sum);
    }
}

}  // namespace

Status grid_sample_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& grid = args.inputs[1];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const auto options, GridSampleOptions::from_node(args.node));
    const int64_t plane = x.shape.element_count(2, x.shape.rank());
    const int64_t positions = y.shape.element_count(2, y.shape.rank());
    if (plane == 0 && y.shape.element_count() > 0 &&
        options.outside != GridSampleOptions::Outside::kZeros) {
        return invalid_argument("X has no element to read from")
            .with_found(x.shape.to_string())
            .with_needed("spatial extents of 1 or more");
    }
    const int64_t channels = y.shape[1];
    std::vector<SampleTap> taps;
    for (int64_t n = 0; n < y.shape[0]; ++n) {
        for (int64_t p = 0; p < positions; ++p) {
            const int64_t position = n * positions + p;
            if (plane == 0) {
                taps.clear();
            } else if (grid.dtype == DType::kFloat64) {
                find_sample_taps<double>(options, x.shape, grid, position, taps);
            } else {
                find_sample_taps<float>(options, x.shape, grid, position, taps);
            }
            for (int64_t c = n * channels; c < (n + 1) * channels; ++c) {
                const auto read =
                    options.mode == GridSampleOptions::Mode::kNearest ? copy_sample : mix_samples;
                read(x, c * plane, taps, y, c * positions + p);
            }
        }
    }
    return {};
}

}  // namespace leat
