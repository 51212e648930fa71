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
    static const std::vector<OpDef> kOps = [] {
        OpDef def;
        def.name = "Clip";
        def.max_inputs = 3;
        def.attributes = kClipAttributes;
        def.infer = infer_clip;
        def.reference = clip_reference;
        def.cost = clip_cost;
        def.in_place_inputs = 1;
        def.gives_rows = rows_of_first_input;
        def.layout_rule = LayoutRule::kAgnostic;
        def.type_rule = TypeRule::kFirst;
        def.fusible_epilogue = true;
        return std::vector<OpDef>{def};
    }();
    return kOps;
}

}  // namespace leat
