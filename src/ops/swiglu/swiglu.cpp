#include "ops/swiglu/swiglu.h"

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status infer_swiglu(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "A"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    const TypeInfo& a = context.input(0);
    const TypeInfo& b = context.input(1);
    const DType dtype = a.dtype != DType::kUndefined ? a.dtype : b.dtype;
    if (!a.dims || !b.dims) {
        context.set_output(0, dtype, a.dims ? a.dims : b.dims);
        return {};
    }
    if (a.rank() != b.rank()) {
        return invalid_argument("A and B must have the same shape")
            .with_found(fmt::format("{} and {}", a.to_string(), b.to_string()))
            .with_needed("equal ranks: there is no broadcasting");
    }
    Dims dims;
    for (size_t i = 0; i < a.dims->size(); ++i) {
        LEAT_ASSIGN_OR_RETURN(DimSpec dim, merge_dims((*a.dims)[i], (*b.dims)[i],
                                                      fmt::format("axis {} of A and B", i)));
        dims.push_back(std::move(dim));
    }
    context.set_output(0, dtype, std::move(dims));
    return {};
}

bool swiglu_gives_rows(const ShardArgs& args) {
    return args.parts[0] == ShardPart::kRows && args.parts[1] == ShardPart::kRows;
}

constexpr AttributeSchema kSwigluAttributes[] = {
    {.name = "alpha", .kind = AttributeKind::kFloat},
};

constexpr OpDef kSwigluOps[] = {
    {.name = "SwiGLU",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kSwigluAttributes,
     .infer = infer_swiglu,
     .reference = swiglu_reference,
     .cost = cost_by_element<16>,
     .in_place_inputs = 0b11,
     .gives_rows = swiglu_gives_rows},
};

}  // namespace

std::span<const OpDef> swiglu_ops() {
    return kSwigluOps;
}

}  // namespace leat
