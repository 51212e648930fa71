#include "ops/max_unpool/max_unpool.h"

#include "ops/movement/extents.h"
#include "ops/type_checks.h"
#include "ops/window_ints.h"

namespace leat {
namespace {

// By spatial axis.
struct Unpooling {
    std::vector<int64_t> kernel;
    std::vector<int64_t> stride;
    std::vector<int64_t> pads;  // of both ends together

    static Result<Unpooling> make(const NodeData& node);
    size_t rank() const { return kernel.size(); }
    Result<DimSpec> unpooled(const DimSpec& dim, size_t axis) const;
};

Result<Unpooling> Unpooling::make(const NodeData& node) {
    const std::vector<int64_t>* const kernel = node.ints("kernel_shape");
    if (kernel == nullptr || kernel->empty()) {
        return invalid_argument("attribute 'kernel_shape' is missing")
            .with_needed("an extent for each spatial axis");
    }
    LEAT_RETURN_IF_ERROR(check_window_ints(*kernel, kernel->size(), 1, "attribute 'kernel_shape'"));
    Unpooling unpooling;
    unpooling.kernel = *kernel;
    const size_t rank = kernel->size();
    LEAT_ASSIGN_OR_RETURN(unpooling.stride, window_ints(node, "strides", rank, 1, 1));
    LEAT_ASSIGN_OR_RETURN(unpooling.pads, window_ints(node, "pads", 2 * rank, 0, 0));
    for (size_t i = 0; i < rank; ++i) {
        unpooling.pads[i] += unpooling.pads[rank + i];
    }
    unpooling.pads.resize(rank);
    return unpooling;
}

Result<DimSpec> Unpooling::unpooled(const DimSpec& dim, size_t axis) const {
    // Extent d gives d * stride + rest.
    const int64_t rest = kernel[axis] - pads[axis] - stride[axis];
    if (!dim.is_fixed()) {
        const DimSpec product = multiply_dims(dim, DimSpec(stride[axis]));
        return rest == 0  ? product
               : rest > 0 ? add_dims(product, DimSpec(rest))
                          : DimSpec::unknown();
    }
    int64_t extent = 0;
    if (__builtin_mul_overflow(dim.extent(), stride[axis], &extent) ||
        __builtin_add_overflow(extent, rest, &extent) || extent < 0) {
        return invalid_argument("spatial axis {} cannot be unpooled so", axis)
            .with_found(fmt::format("extent {}, stride {}, kernel {}, pads {}", dim.extent(),
                                    stride[axis], kernel[axis], pads[axis]))
            .with_needed("a result with an extent >= 0");
    }
    return DimSpec(extent);
}

Status check_unpooled_rank(int found, size_t spatial) {
    if (found >= 0 && size_t(found) != spatial + 2) {
        return invalid_argument("the input does not fit kernel_shape")
            .with_found(fmt::format("rank {}", found))
            .with_needed(fmt::format("rank {}", spatial + 2));
    }
    return check_output_rank(int64_t(spatial) + 2);
}

// Of output_shape; its first two extents are those of x.
Status infer_given_shape(InferContext& context, const Dims& x) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 2, dtype_bit(DType::kInt64), "output_shape"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 2, 1, "output_shape"));
    const int64_t length = known_length(context.input(2));
    if (length >= 0 && length != int64_t(x.size())) {
        return invalid_argument("output_shape does not fit the input")
            .with_found(fmt::format("{} elements", length))
            .with_needed(fmt::format("{}, one for each axis", x.size()));
    }
    for (const int64_t extent : context.ints(2).value_or(std::vector<int64_t>())) {
        if (extent < 0) {
            return invalid_argument("output_shape has a negative extent")
                .with_found(fmt::format("{}", extent))
                .with_needed(">= 0");
        }
    }
    Dims dims = context.extents(2).value_or(unknown_dims(int64_t(x.size())));
    for (size_t i = 0; i < 2; ++i) {
        LEAT_ASSIGN_OR_RETURN(
            dims[i],
            merge_dims(dims[i], x[i], fmt::format("axis {} of input and output_shape", i)));
    }
    context.set_output(0, context.input(0).dtype, std::move(dims));
    return {};
}

Status infer_max_unpool(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "x"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "indices"));
    LEAT_ASSIGN_OR_RETURN(const Unpooling unpooling, Unpooling::make(context.node()));
    for (const int i : {0, 1}) {
        LEAT_RETURN_IF_ERROR(check_unpooled_rank(context.input(i).rank(), unpooling.rank()));
    }
    Dims dims = context.input(0).dims.value_or(unknown_dims(int64_t(unpooling.rank()) + 2));
    if (const auto& indices = context.input(1).dims) {
        for (size_t i = 0; i < dims.size(); ++i) {
            LEAT_ASSIGN_OR_RETURN(
                dims[i],
                merge_dims(dims[i], (*indices)[i], fmt::format("axis {} of input and indices", i)));
        }
    }
    if (context.has_input(2)) {
        return infer_given_shape(context, dims);
    }
    for (size_t i = 0; i < unpooling.rank(); ++i) {
        LEAT_ASSIGN_OR_RETURN(dims[i + 2], unpooling.unpooled(dims[i + 2], i));
    }
    context.set_output(0, context.input(0).dtype, std::move(dims));
    return {};
}

constexpr AttributeSchema kMaxUnpoolAttributes[] = {
    {.name = "kernel_shape", .kind = AttributeKind::kInts, .is_required = true},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr OpDef kMaxUnpoolOps[] = {
    {.name = "MaxUnpool",
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kMaxUnpoolAttributes,
     .infer = infer_max_unpool,
     .reference = max_unpool_reference,
     .shape_inputs = 0b100},
};

}  // namespace

Result<std::vector<int64_t>> unpooled_extents(const NodeData& node, const Shape& x) {
    LEAT_ASSIGN_OR_RETURN(const Unpooling unpooling, Unpooling::make(node));
    LEAT_RETURN_IF_ERROR(check_unpooled_rank(x.rank(), unpooling.rank()));
    std::vector<int64_t> extents(x.begin(), x.end());
    for (size_t i = 0; i < unpooling.rank(); ++i) {
        LEAT_ASSIGN_OR_RETURN(const DimSpec dim, unpooling.unpooled(DimSpec(extents[i + 2]), i));
        extents[i + 2] = dim.extent();
    }
    return extents;
}

std::span<const OpDef> max_unpool_ops() {
    return kMaxUnpoolOps;
}

}  // namespace leat
