#include "ops/batch_normalization/batch_normalization.h"

#include <algorithm>
#include <array>

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status batch_normalization_reference(const ReferenceArgs& args);

namespace {

constexpr std::array<std::string_view, 5> kInputNames{"X", "scale", "B", "input_mean", "input_var"};

Status check_parameter(const InferContext& context, int i) {
    const std::string_view what = kInputNames[size_t(i)];
    LEAT_RETURN_IF_ERROR(require_dtype(context, i, kFloatTypes, what));
    LEAT_RETURN_IF_ERROR(require_rank(context, i, 1, what));
    const TypeInfo& x = context.input(0);
    const TypeInfo& parameter = context.input(i);
    if (!x.dims || !parameter.dims) {
        return {};
    }
    const DimSpec channels = x.rank() > 1 ? (*x.dims)[1] : DimSpec(int64_t{1});
    const DimSpec& found = parameter.dims->front();
    if (channels.is_fixed() && found.is_fixed() && channels.extent() != found.extent()) {
        return invalid_argument("input {} must have an element for each channel", what)
            .with_found(fmt::format("{} for X {}", parameter.to_string(), x.to_string()))
            .with_needed(fmt::format("{} elements", channels.extent()));
    }
    return {};
}

Status infer_batch_normalization(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    const TypeInfo& x = context.input(0);
    if (x.rank() == 0) {
        return invalid_argument("input X must not be a scalar")
            .with_found(x.to_string())
            .with_needed("rank 1 or more");
    }
    for (int i = 1; i < 5; ++i) {
        LEAT_RETURN_IF_ERROR(check_parameter(context, i));
    }
    context.set_output(0, x);
    const bool training = context.node().attr("training_mode", int64_t{0}) != 0;
    const std::vector<ValueId>& outputs = context.node().outputs;
    const auto named = std::count_if(outputs.begin(), outputs.end(),
                                     [](ValueId output) { return output.valid(); });
    if (named > 1 && !training) {
        return invalid_argument("only training_mode = 1 has running statistics")
            .with_found(fmt::format("{} outputs and training_mode = 0", named))
            .with_needed("1 output");
    }
    for (int i = 1; i < context.output_count(); ++i) {
        context.set_output(i, context.input(i + 2));
    }
    return {};
}

bool batch_normalization_gives_rows(const ShardArgs& args) {
    const bool training = args.node.attr("training_mode", int64_t{0}) != 0;
    return !training && rows_of_first_input(args);
}

constexpr AttributeSchema kBatchNormalizationAttributes[] = {
    {.name = "epsilon", .kind = AttributeKind::kFloat},
    {.name = "is_test", .kind = AttributeKind::kInt, .before = 7},
    {.name = "momentum", .kind = AttributeKind::kFloat},
    {.name = "spatial", .kind = AttributeKind::kInt, .before = 9},
    {.name = "training_mode", .kind = AttributeKind::kInt, .since = 14},
};

}  // namespace

std::span<const OpDef> batch_normalization_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "BatchNormalization",
         .min_inputs = 5,
         .max_inputs = 5,
         .max_outputs = 3,
         .attributes = kBatchNormalizationAttributes,
         .infer = infer_batch_normalization,
         .reference = batch_normalization_reference,
         .cost = cost_by_element<2>,
         .in_place_inputs = 1,
         .gives_rows = batch_normalization_gives_rows,
         .layout_rule = LayoutRule::kChannelsLastPreferred},
    };
    return kOps;
}

}  // namespace leat
