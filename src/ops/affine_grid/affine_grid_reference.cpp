#include <array>

#include "ops/affine_grid/affine_grid.h"
#include "ops/element.h"

namespace leat {
namespace {

// The coordinate of element i of an axis.
double affine_coordinate(int64_t i, int64_t extent, bool align_corners) {
    if (align_corners) {
        return extent == 1 ? -1 : 2 * double(i) / double(extent - 1) - 1;
    }
    return double(2 * i + 1) / double(extent) - 1;
}

// row: a coefficient for each axis, and what is added.
template <class T>
T affine_sum(const T* row, const std::array<double, 3>& place, int rank) {
    double sum = widen(row[rank]);
    for (int j = 0; j < rank; ++j) {
        sum += widen(row[j]) * place[size_t(j)];
    }
    return narrow<T>(sum);
}

template <class T>
Status run_affine_grid(const ReferenceArgs& args) {
    const Shape& shape = args.outputs[0].shape;
    const int rank = shape.rank() - 2;
    const bool align_corners = args.node.attr("align_corners", int64_t{0}) != 0;
    const std::array<int64_t, 3> extents = {rank == 3 ? shape[1] : 1, shape[rank - 1], shape[rank]};
    T* y = args.outputs[0].as<T>();
    for (int64_t n = 0; n < shape[0]; ++n) {
        const T* theta = args.inputs[0].as<const T>() + n * rank * (rank + 1);
        for (int64_t p = 0; p < extents[0] * extents[1] * extents[2]; ++p) {
            const int64_t w = p % extents[2];
            const int64_t h = p / extents[2] % extents[1];
            const int64_t d = p / extents[2] / extents[1];
            const std::array<double, 3> place = {affine_coordinate(w, extents[2], align_corners),
                                                 affine_coordinate(h, extents[1], align_corners),
                                                 affine_coordinate(d, extents[0], align_corners)};
            for (int i = 0; i < rank; ++i) {
                *y++ = affine_sum(theta + int64_t{i} * (rank + 1), place, rank);
            }
        }
    }
    return {};
}

}  // namespace

Status affine_grid_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_affine_grid<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
