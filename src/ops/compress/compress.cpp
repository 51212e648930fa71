#include "ops/compress/compress.h"

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status infer_compress(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kBool), "condition"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 1, 1, "condition"));
    const TypeInfo& x = context.input(0);
    if (x.dims && x.rank() == 0) {
        return invalid_argument("the data is a scalar").with_needed("rank >= 1");
    }
    if (!context.node().has_attr("axis")) {
        context.set_output(0, x.dtype, Dims{DimSpec::unknown()});
        return {};
    }
    std::optional<Dims> dims = x.dims;
    if (dims) {
        LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), x.rank()));
        (*dims)[size_t(axis)] = DimSpec::unknown();
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// As if the condition held everywhere.
Cost compress_cost(const NodeData& /*node*/,
                   std::span<const TensorArg> inputs,
                   std::span<const TensorArg> /*outputs*/) {
    return {double(inputs[1].shape.element_count()),
            2 * inputs[0].byte_count() + inputs[1].byte_count()};
}

constexpr AttributeSchema kCompressAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
};

constexpr OpDef kCompressOps[] = {
    {.name = "Compress",
     .min_inputs = 2,
     .max_inputs = 2,
     .open_outputs = 0b1,
     .attributes = kCompressAttributes,
     .infer = infer_compress,
     .reference = compress_reference,
     .cost = compress_cost},
};

}  // namespace

std::span<const OpDef> compress_ops() {
    return kCompressOps;
}

}  // namespace leat
