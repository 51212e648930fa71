#include "ops/eye_like/eye_like.h"

#include "ops/elementwise/element_access.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr DTypeSet kEyeTypes = kNumericTypes | dtype_set(DType::kBool);

Status infer_eye_like(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kEyeTypes, "x"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 2, "x"));
    TypeInfo type = context.input(0);
    if (!type.dims) {
        type = TypeInfo::tensor(type.dtype, std::vector<DimSpec>(2, DimSpec::unknown()));
    }
    if (context.node().has_attr("dtype")) {
        const int64_t number = context.node().attr("dtype", int64_t{0});
        if (number <= 0 || number >= kDTypeCount || !contains(kEyeTypes, DType(number))) {
            return invalid_argument("attribute dtype is no type that EyeLike can give")
                .with_found(number > 0 && number < kDTypeCount ? std::string(name_of(DType(number)))
                                                               : std::to_string(number))
                .with_needed("the number of an integer or floating type, or of bool");
        }
        type.dtype = DType(number);
    }
    context.set_output(0, std::move(type));
    return {};
}

constexpr AttributeSchema kEyeLikeAttributes[] = {
    {.name = "dtype", .kind = AttributeKind::kInt},
    {.name = "k", .kind = AttributeKind::kInt},
};

constexpr OpDef kEyeLikeOps[] = {
    {.name = "EyeLike",
     .attributes = kEyeLikeAttributes,
     .infer = infer_eye_like,
     .reference = eye_like_reference},
};

}  // namespace

std::span<const OpDef> eye_like_ops() {
    return kEyeLikeOps;
}

}  // namespace leat
