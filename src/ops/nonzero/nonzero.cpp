#include "ops/nonzero/nonzero.h"

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

constexpr DTypeSet kNonzeroTypes =
    kNumericTypes | dtype_set(DType::kBool, DType::kString, DType::kComplex64, DType::kComplex128);

Status infer_nonzero(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kNonzeroTypes, "X"));
    const int rank = context.input(0).rank();
    context.set_output(
        0, DType::kInt64,
        Dims{rank < 0 ? DimSpec::unknown() : DimSpec(int64_t{rank}), DimSpec::unknown()});
    return {};
}

// As if no element was zero.
Cost nonzero_cost(const NodeData& /*node*/,
                  std::span<const TensorArg> inputs,
                  std::span<const TensorArg> /*outputs*/) {
    const TensorArg& x = inputs[0];
    const int64_t elements = x.shape.element_count();
    return {double(elements), x.byte_count() + elements * x.shape.rank() * int64_t{8}};
}

constexpr OpDef kNonzeroOps[] = {
    {.name = "NonZero",
     .open_outputs = 0b1,
     .infer = infer_nonzero,
     .reference = nonzero_reference,
     .cost = nonzero_cost},
};

}  // namespace

std::span<const OpDef> nonzero_ops() {
    return kNonzeroOps;
}

}  // namespace leat
