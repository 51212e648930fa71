#include "ops/logic/logic.h"

#include "base/find_named.h"
#include "base/transformed.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kBool = dtype_set(DType::kBool);
constexpr DTypeSet kEqualTypes = kNumericTypes | dtype_set(DType::kBool, DType::kString);
constexpr DTypeSet kNanTypes = kFloatTypes | (kSmallFloatTypes & ~kPackedFloatTypes);

constexpr AttributeSchema kIsInfAttributes[] = {
    {.name = "detect_negative", .kind = AttributeKind::kInt},
    {.name = "detect_positive", .kind = AttributeKind::kInt},
};

constexpr LogicOp kLogicTable[] = {
    {"And", kBool, 2, kOldBroadcastAttributes},
    {"Equal", kEqualTypes, 2, kOldBroadcastAttributes},
    {"Greater", kNumericTypes, 2, kOldBroadcastAttributes},
    {"GreaterOrEqual", kNumericTypes},
    {"IsInf", kNanTypes, 1, kIsInfAttributes},
    {"IsNaN", kNanTypes, 1},
    {"Less", kNumericTypes, 2, kOldBroadcastAttributes},
    {"LessOrEqual", kNumericTypes},
    {"Not", kBool, 1},
    {"Or", kBool, 2, kOldBroadcastAttributes},
    {"Xor", kBool, 2, kOldBroadcastAttributes},
};

const LogicOp& row_of(const NodeData& node) {
    return *find_named(kLogicTable, node.op_type);
}

// Exporters compare a shape with -1 to choose between its extents and others (Equal, then Where):
// extents are never negative, so the answer is known even for symbolic ones. 1 and 0 are true and
// false.
void propagate_equal(InferContext& context) {
    for (const int constant : {0, 1}) {
        const auto numbers = context.ints(constant);
        const auto extents = context.extents(1 - constant);
        if (!numbers || !extents || context.input(0).rank() > 1 || context.input(1).rank() > 1 ||
            (numbers->size() != extents->size() && numbers->size() != 1)) {
            continue;
        }
        const auto exact = context.ints(1 - constant);
        std::vector<DimSpec> equal;
        for (size_t i = 0; i < extents->size(); ++i) {
            const int64_t number = (*numbers)[numbers->size() == 1 ? 0 : i];
            const DimSpec& extent = (*extents)[i];
            if (exact || extent.is_fixed()) {
                equal.emplace_back((exact ? (*exact)[i] : extent.extent()) == number ? 1 : 0);
            } else {
                equal.push_back(number < 0 && !extent.name().empty() ? DimSpec(0)
                                                                     : DimSpec::unknown());
            }
        }
        context.set_extents(0, std::move(equal));
        return;
    }
}

Status infer_logic(InferContext& context) {
    const LogicOp& op = row_of(context.node());
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, op.dtypes, op.inputs == 1 ? "X" : "A"));
    if (op.inputs == 2) {
        LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    }
    LEAT_RETURN_IF_ERROR(infer_broadcast(context, DType::kBool));
    if (op.name == "Equal") {
        propagate_equal(context);
    }
    return {};
}

}  // namespace

Status logic_reference(const ReferenceArgs& args);

std::span<const LogicOp> logic_table() {
    return kLogicTable;
}

std::span<const OpDef> logic_ops() {
    static const std::vector<OpDef> kOps = transformed(kLogicTable, [](const LogicOp& op) {
        return OpDef{.name = op.name,
                     .min_inputs = op.inputs,
                     .max_inputs = op.inputs,
                     .attributes = op.attributes,
                     .infer = infer_logic,
                     .reference = logic_reference,
                     .in_place_inputs = op.inputs == 1 ? 1U : 3U,  // where the inputs are bool
                     .gives_rows = rows_by_broadcasting,
                     .layout_rule = LayoutRule::kAgnostic};
    });
    return kOps;
}

}  // namespace leat
