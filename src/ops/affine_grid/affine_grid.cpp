#include "ops/affine_grid/affine_grid.h"

#include <fmt/format.h>

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// Spatial axes: 2 or 3, as theta or the length of size say; 0 if neither is known.
Result<int> affine_rank(const TypeInfo& theta, int64_t size_length) {
    int rank = 0;
    if (size_length >= 0) {
        if (size_length != 4 && size_length != 5) {
            return invalid_argument("size has the wrong length")
                .with_found(fmt::format("{} elements", size_length))
                .with_needed("4, [n, c, h, w], or 5, [n, c, d, h, w]");
        }
        rank = int(size_length) - 2;
    }
    for (int axis = 1; theta.dims && axis < 3; ++axis) {
        const DimSpec& dim = (*theta.dims)[size_t(axis)];
        if (!dim.is_fixed()) {
            continue;
        }
        const int64_t found = dim.extent() - (axis - 1);
        if ((found != 2 && found != 3) || (rank != 0 && found != rank)) {
            return invalid_argument("theta holds no affine maps of the positions")
                .with_found(theta.to_string())
                .with_needed(rank == 0 ? "[n, 2, 3] or [n, 3, 4]"
                                       : fmt::format("[n, {}, {}]", rank, rank + 1));
        }
        rank = int(found);
    }
    return rank;
}

Status infer_affine_grid(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "theta"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 3, "theta"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "size"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 1, 1, "size"));
    const TypeInfo& theta = context.input(0);
    if (const auto values = context.ints(1)) {
        for (const int64_t extent : *values) {
            if (extent < 0) {
                return invalid_argument("size holds no extents")
                    .with_found(fmt::format("[{}]", fmt::join(*values, ", ")))
                    .with_needed("numbers >= 0");
            }
        }
    }
    const auto size = context.extents(1);
    const int64_t length = size ? int64_t(size->size()) : known_length(context.input(1));
    LEAT_ASSIGN_OR_RETURN(const int rank, affine_rank(theta, length));
    if (rank == 0) {
        context.set_output(0, theta.dtype, std::nullopt);
        return {};
    }
    Dims dims = unknown_dims(rank + 2);
    dims.back() = DimSpec(int64_t{rank});
    if (theta.dims) {
        dims[0] = (*theta.dims)[0];
    }
    for (size_t i = 0; size && i < size->size(); ++i) {
        const DimSpec& extent = (*size)[i];
        if (i == 0) {
            LEAT_ASSIGN_OR_RETURN(dims[0],
                                  merge_dims(dims[0], extent, "the batch of theta and size"));
        } else if (i >= 2) {
            dims[i - 1] = extent;
        }
    }
    context.set_output(0, theta.dtype, std::move(dims));
    return {};
}

constexpr AttributeSchema kAffineGridAttributes[] = {
    {.name = "align_corners", .kind = AttributeKind::kInt},
};

constexpr OpDef kAffineGridOps[] = {
    {.name = "AffineGrid",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kAffineGridAttributes,
     .infer = infer_affine_grid,
     .reference = affine_grid_reference,
     .shape_inputs = 0b10},
};

}  // namespace

std::span<const OpDef> affine_grid_ops() {
    return kAffineGridOps;
}

}  // namespace leat
