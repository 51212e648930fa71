#include "ops/bitcast/bitcast.h"

#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kBitCastTypes = kRealTypes | dtype_set(DType::kComplex64, DType::kComplex128);

Status infer_bitcast(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kBitCastTypes, "input"));
    const DType to = dtype_from_number(context.node().attr("to", int64_t{0}));
    if (!contains(kBitCastTypes, to)) {
        return invalid_argument("attribute 'to' is no type that BitCast can give")
            .with_found(to == DType::kUndefined
                            ? std::to_string(context.node().attr("to", int64_t{0}))
                            : std::string(name_of(to)))
            .with_needed("the number of any element type but string");
    }
    TypeInfo type = context.input(0);
    if (type.dtype != DType::kUndefined && bits_of(type.dtype) != bits_of(to)) {
        return invalid_argument("BitCast needs two types of the same width")
            .with_found(std::string(name_of(type.dtype)) + " to " + std::string(name_of(to)))
            .with_needed("a type of " + std::to_string(bits_of(type.dtype)) + " bits");
    }
    type.dtype = to;
    context.set_output(0, std::move(type));
    return {};
}

constexpr AttributeSchema kBitCastAttributes[] = {
    {.name = "to", .kind = AttributeKind::kInt, .is_required = true},
};

constexpr OpDef kBitCastOps[] = {
    {.name = "BitCast",
     .attributes = kBitCastAttributes,
     .infer = infer_bitcast,
     .reference = bitcast_reference,
     .gives_rows = rows_of_first_input},
};

}  // namespace

std::span<const OpDef> bitcast_ops() {
    return kBitCastOps;
}

}  // namespace leat
