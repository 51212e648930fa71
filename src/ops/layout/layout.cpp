#include "ops/layout/layout.h"

#include "ops/shard_rules.h"

namespace leat {
namespace {

Status infer_layout(InferContext& context) {
    context.set_output(0, context.input(0));
    return {};
}

constexpr OpDef kLayoutOps[] = {
    {.name = "Layout",
     .domain = "leat",
     .infer = infer_layout,
     .reference = layout_reference,
     .gives_rows = rows_of_first_input},
};

}  // namespace

std::span<const OpDef> layout_ops() {
    return kLayoutOps;
}

}  // namespace leat
