#include "ops/clip/clip.h"

#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

Status infer_clip(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kNumericTypes, "input"));
    for (int i = 1; i < context.input_count(); ++i) {
        if (!context.has_input(i)) {
            continue;
        }
        LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
        const std::optional<Shape> shape = context.input(i).fixed_shape();
        if (shape && shape->element_count() != 1) {
            return invalid_argument("input {} must be a scalar", i == 1 ? "min" : "max")
                .with_found(context.input(i).to_string())
                .with_needed("one element");
        }
    }
    context.set_output(0, context.input(0));
    return {};
}

Cost clip_cost(const NodeData& /*node*/,
               std::span<const TensorArg> inputs,
               std::span<const TensorArg> outputs) {
    return elementwise_cost(2, inputs, outputs);
}

constexpr AttributeSchema kClipAttributes[] = {
    {.name = "max", .kind = AttributeKind::kFloat, .before = 11},
    {.name = "min", .kind = AttributeKind::kFloat, .before = 11},
};

}  // namespace

Status clip_reference(const ReferenceArgs& args);

std::span<const OpDef> clip_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "Clip",
         .max_inputs = 3,
         .attributes = kClipAttributes,
         .infer = infer_clip,
         .reference = clip_reference,
         .cost = clip_cost,
         .in_place_inputs = 1,
         .gives_rows = rows_of_first_input,
         .layout_rule = LayoutRule::kAgnostic,
         .type_rule = TypeRule::kFirst,
         .fusible_epilogue = true},
    };
    return kOps;
}

}  // namespace leat
