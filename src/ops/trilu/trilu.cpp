#include "ops/trilu/trilu.h"

#include <algorithm>

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status infer_trilu(InferContext& context) {
    const TypeInfo& x = context.input(0);
    if (x.dims && x.rank() < 2) {
        return invalid_argument("the input is no matrix")
            .with_found(x.to_string())
            .with_needed("rank >= 2");
    }
    if (context.has_input(1)) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "k"));
        if (!may_have_one_element(context.input(1))) {
            return invalid_argument("k must have one element")
                .with_found(context.input(1).to_string());
        }
    }
    context.set_output(0, x);
    return {};
}

bool trilu_gives_rows(const ShardArgs& args) {
    return args.inputs[0].shape.rank() > 2 && rows_of_first_input(args);
}

constexpr AttributeSchema kTriluAttributes[] = {
    {.name = "upper", .kind = AttributeKind::kInt},
};

constexpr OpDef kTriluOps[] = {
    {.name = "Trilu",
     .min_inputs = 1,
     .max_inputs = 2,
     .attributes = kTriluAttributes,
     .infer = infer_trilu,
     .reference = trilu_reference,
     .in_place_inputs = 0b1,
     .gives_rows = trilu_gives_rows,
     .type_rule = TypeRule::kFirst},
};

}  // namespace

Triangle Triangle::make(const NodeData& node, const Shape& x) {
    Triangle triangle;
    triangle.is_upper = node.attr("upper", int64_t{1}) != 0;
    triangle.rows = x[x.rank() - 2];
    triangle.columns = x[x.rank() - 1];
    return triangle;
}

Triangle Triangle::moved_by(const TensorArg* diagonal) const {
    Triangle moved = *this;
    if (diagonal != nullptr) {
        moved.k = std::clamp(diagonal->as<const int64_t>()[0], -rows, columns);
    }
    return moved;
}

int64_t Triangle::edge(int64_t i) const {
    return std::clamp<int64_t>(i + k + (is_upper ? 0 : 1), 0, columns);
}

std::span<const OpDef> trilu_ops() {
    return kTriluOps;
}

}  // namespace leat
