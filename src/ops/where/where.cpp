#include "ops/where/where.h"

#include <algorithm>

#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

// The condition's elements, 1 or 0 or unknown: a constant, or what Equal found out about a shape.
std::optional<std::vector<DimSpec>> condition_of(const InferContext& context) {
    if (context.fact(0).extents) {
        return context.fact(0).extents;
    }
    const Tensor* value = context.value(0);
    if (value == nullptr || value->dtype() != DType::kBool ||
        value->element_count() > int64_t(kMaxTrackedExtents)) {
        return std::nullopt;
    }
    std::vector<DimSpec> elements;
    for (int64_t i = 0; i < value->element_count(); ++i) {
        elements.emplace_back(load_integer(DType::kBool, value->bytes(), i));
    }
    return elements;
}

// Which shape to use is often decided by a Where (see logic.cpp).
void propagate_choice(InferContext& context) {
    const auto condition = condition_of(context);
    const auto a = context.extents(1);
    const auto b = context.extents(2);
    if (!condition || !a || !b) {
        return;
    }
    const size_t count = std::max({condition->size(), a->size(), b->size()});
    for (const auto* operand : {&*condition, &*a, &*b}) {
        if (operand->size() != count && operand->size() != 1) {
            return;
        }
    }
    const auto at = [](const std::vector<DimSpec>& v, size_t i) {
        return v[v.size() == 1 ? 0 : i];
    };
    std::vector<DimSpec> chosen;
    for (size_t i = 0; i < count; ++i) {
        const DimSpec which = at(*condition, i);
        const DimSpec yes = at(*a, i);
        const DimSpec no = at(*b, i);
        const DimSpec either = same_dim(yes, no) ? yes : DimSpec::unknown();
        chosen.push_back(!which.is_fixed() ? either : which.extent() != 0 ? yes : no);
    }
    track_extents(context, 0, context.input(1).dtype, std::move(chosen));
}

Status infer_where(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, dtype_set(DType::kBool), "condition"));
    constexpr DTypeSet kTypes =
        kNumericTypes | (kSmallFloatTypes & ~kPackedFloatTypes) |
        dtype_set(DType::kBool, DType::kString, DType::kComplex64, DType::kComplex128);
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 1, 2));
    const DType dtype = context.input(1).dtype;
    LEAT_RETURN_IF_ERROR(infer_broadcast(context, dtype));
    const bool is_vector = context.input(0).rank() <= 1 && context.input(1).rank() <= 1 &&
                           context.input(2).rank() <= 1;
    if (is_vector && contains(kIntTypes, dtype)) {
        propagate_choice(context);
    }
    return {};
}

}  // namespace

Status where_reference(const ReferenceArgs& args);

std::span<const OpDef> where_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "Where",
         .min_inputs = 3,
         .max_inputs = 3,
         .infer = infer_where,
         .reference = where_reference,
         .in_place_inputs = 7,
         .gives_rows = rows_by_broadcasting,
         .layout_rule = LayoutRule::kAgnostic},
    };
    return kOps;
}

}  // namespace leat
