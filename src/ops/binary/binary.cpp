#include "ops/binary/binary.h"

#include "base/find_named.h"
#include "base/transformed.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kPReluTypes = kFloatTypes | kWideIntTypes;

constexpr AttributeSchema kBitShiftAttributes[] = {
    {.name = "direction", .kind = AttributeKind::kString, .is_required = true},
};

constexpr AttributeSchema kModAttributes[] = {
    {.name = "fmod", .kind = AttributeKind::kInt},
};

constexpr BinaryOp kBinaryTable[] = {
    {"Add", kNumericTypes, true, 1, add_dims, kOldBroadcastAttributes},
    {"BitShift", kIntTypes, false, 1, nullptr, kBitShiftAttributes},
    {"BitwiseAnd", kIntTypes},
    {"BitwiseOr", kIntTypes},
    {"BitwiseXor", kIntTypes},
    {"Div", kNumericTypes, true, 4, divide_dims, kOldBroadcastAttributes},
    {"Mod", kNumericTypes, false, 20, nullptr, kModAttributes},
    {"Mul", kNumericTypes, true, 1, multiply_dims, kOldBroadcastAttributes},
    {"PRelu", kPReluTypes, true, 2},
    {"Pow", kNumericTypes, false, 40, nullptr, kOldBroadcastAttributes},
    {"Sub", kNumericTypes, true, 1, subtract_dims, kOldBroadcastAttributes},
};

Status check_prelu_shape(const TypeInfo& x, const TypeInfo& slope) {
    LEAT_ASSIGN_OR_RETURN(const auto dims, broadcast_dims(x, slope));
    if (!dims) {
        return {};
    }
    bool fits = dims->size() == x.dims->size();
    for (size_t i = 0; fits && i < dims->size(); ++i) {
        const DimSpec& own = (*x.dims)[i];
        fits = !own.is_fixed() || own.extent() == (*dims)[i].extent();
    }
    if (!fits) {
        return invalid_argument("the slope must broadcast to X")
            .with_found(slope.to_string())
            .with_needed("a shape that broadcasts to " + x.to_string());
    }
    return {};
}

Status infer_binary(InferContext& context) {
    const BinaryOp& op = *find_binary(context.node().op_type);
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, op.dtypes, "A"));
    if (op.name == "Pow") {
        LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kNumericTypes, "Y"));
    } else {
        LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    }
    if (op.name == "BitShift") {
        const std::string direction = context.node().attr("direction", "");
        if (direction != "LEFT" && direction != "RIGHT") {
            return invalid_argument("attribute 'direction' is missing or unknown")
                .with_found("'" + direction + "'")
                .with_needed("LEFT or RIGHT");
        }
    }
    const DType dtype = context.input(0).dtype;
    if (op.name == "PRelu") {
        LEAT_RETURN_IF_ERROR(check_prelu_shape(context.input(0), context.input(1)));
        context.set_output(0, context.input(0));
        return {};
    }
    LEAT_RETURN_IF_ERROR(infer_broadcast(context, dtype));
    if (op.extents != nullptr && contains(kIntTypes, dtype)) {
        propagate_extents(context, op.extents);
    }
    return {};
}

Cost binary_cost(const NodeData& node,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) {
    return elementwise_cost(find_binary(node.op_type)->flops, inputs, outputs);
}

}  // namespace

Status binary_reference(const ReferenceArgs& args);

std::span<const BinaryOp> binary_table() {
    return kBinaryTable;
}

const BinaryOp* find_binary(std::string_view op_type) {
    return find_named(kBinaryTable, op_type);
}

std::string_view binary_expression(const NodeData& node) {
    const std::string_view name = find_binary(node.op_type)->name;
    if (name == "Mod") {
        return node.attr("fmod", int64_t{0}) != 0 ? "Fmod" : "Mod";
    }
    if (name == "BitShift") {
        return node.attr("direction", "LEFT") == "RIGHT" ? "ShiftRight" : "ShiftLeft";
    }
    return name;
}

std::span<const OpDef> binary_ops() {
    static const std::vector<OpDef> kOps = transformed(kBinaryTable, [](const BinaryOp& op) {
        return OpDef{.name = op.name,
                     .min_inputs = 2,
                     .max_inputs = 2,
                     .attributes = op.attributes,
                     .infer = infer_binary,
                     .reference = binary_reference,
                     .cost = binary_cost,
                     .in_place_inputs = 3,
                     .gives_rows = rows_by_broadcasting,
                     .layout_rule = LayoutRule::kAgnostic,
                     .type_rule = TypeRule::kBroadcast,
                     .fusible_epilogue = op.fusible};
    });
    return kOps;
}

}  // namespace leat
