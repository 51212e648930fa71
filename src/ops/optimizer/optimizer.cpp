#include "ops/optimizer/optimizer.h"

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr DTypeSet kOptimizerTypes = dtype_bit(DType::kFloat32) | dtype_bit(DType::kFloat64);

// The type of tensor t, as far as its groups tell: X, its gradient, and so on.
Result<TypeInfo> optimizer_parameter(const InferContext& context, int groups, int tensors, int t) {
    TypeInfo type = context.input(2 + t);
    for (int group = 0; group < groups; ++group) {
        const int i = 2 + group * tensors + t;
        LEAT_RETURN_IF_ERROR(require_dtype(context, i, kOptimizerTypes, "inputs"));
        LEAT_RETURN_IF_ERROR(require_same_dtype(context, 2 + t, i));
        const TypeInfo& other = context.input(i);
        if (!other.dims) {
            continue;
        }
        if (!type.dims) {
            type.dims = other.dims;
        }
        if (type.rank() != other.rank()) {
            return invalid_argument("inputs {} and {} have different ranks", 2 + t, i)
                .with_found(fmt::format("{} and {}", type.to_string(), other.to_string()))
                .with_needed("one shape");
        }
        for (size_t axis = 0; axis < type.dims->size(); ++axis) {
            LEAT_ASSIGN_OR_RETURN((*type.dims)[axis],
                                  merge_dims((*type.dims)[axis], (*other.dims)[axis],
                                             "the shape of a tensor and its gradient"));
        }
    }
    return type;
}

// kGroups: lists of inputs. All but the gradients have a list of outputs.
template <int kGroups>
Status infer_optimizer(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_all_inputs(context));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kOptimizerTypes, "R"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "T"));
    for (int i = 0; i < 2; ++i) {
        if (!may_have_one_element(context.input(i))) {
            return invalid_argument("input {} must have one element", i == 0 ? "R" : "T")
                .with_found(context.input(i).to_string());
        }
    }
    const int tensors = (context.input_count() - 2) / kGroups;
    if (tensors * kGroups + 2 != context.input_count() ||
        tensors * (kGroups - 1) != context.output_count()) {
        return invalid_argument("the numbers of inputs and outputs do not fit each other")
            .with_found(fmt::format("{} inputs and {} outputs", context.input_count(),
                                    context.output_count()))
            .with_needed(fmt::format("2 + {} n inputs and {} n outputs for n tensors", kGroups,
                                     kGroups - 1));
    }
    for (int t = 0; t < tensors; ++t) {
        LEAT_ASSIGN_OR_RETURN(const TypeInfo type,
                              optimizer_parameter(context, kGroups, tensors, t));
        for (int group = 0; group + 1 < kGroups; ++group) {
            context.set_output(group * tensors + t, type);
        }
    }
    return {};
}

Status infer_momentum(InferContext& context) {
    const std::string mode = context.node().attr("mode", "");
    if (mode != "standard" && mode != "nesterov") {
        return invalid_argument("attribute mode is unknown")
            .with_found("'" + mode + "'")
            .with_needed("'standard' or 'nesterov'");
    }
    return infer_optimizer<3>(context);
}

Cost optimizer_cost(const NodeData& /*node*/,
                    std::span<const TensorArg> inputs,
                    std::span<const TensorArg> outputs) {
    double elements = 0;
    for (const TensorArg& output : outputs) {
        elements += double(output.shape.element_count());
    }
    return {10 * elements, moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kAdagradAttributes[] = {
    {.name = "decay_factor", .kind = AttributeKind::kFloat},
    {.name = "epsilon", .kind = AttributeKind::kFloat},
    {.name = "norm_coefficient", .kind = AttributeKind::kFloat},
};
constexpr AttributeSchema kAdamAttributes[] = {
    {.name = "alpha", .kind = AttributeKind::kFloat},
    {.name = "beta", .kind = AttributeKind::kFloat},
    {.name = "epsilon", .kind = AttributeKind::kFloat},
    {.name = "norm_coefficient", .kind = AttributeKind::kFloat},
    {.name = "norm_coefficient_post", .kind = AttributeKind::kFloat},
};
constexpr AttributeSchema kMomentumAttributes[] = {
    {.name = "alpha", .kind = AttributeKind::kFloat, .is_required = true},
    {.name = "beta", .kind = AttributeKind::kFloat, .is_required = true},
    {.name = "mode", .kind = AttributeKind::kString, .is_required = true},
    {.name = "norm_coefficient", .kind = AttributeKind::kFloat, .is_required = true},
};

constexpr OpDef optimizer_def(std::string_view name,
                              int groups,
                              std::span<const AttributeSchema> attributes,
                              Status (*infer)(InferContext& context),
                              ReferenceKernel reference) {
    return {.name = name,
            .domain = "ai.onnx.preview.training",
            .min_inputs = 2 + groups,
            .max_inputs = -1,
            .min_outputs = groups - 1,
            .max_outputs = -1,
            .named_outputs = 0,
            .attributes = attributes,
            .infer = infer,
            .reference = reference,
            .cost = optimizer_cost};
}

constexpr OpDef kOptimizerOps[] = {
    optimizer_def("Adagrad", 3, kAdagradAttributes, infer_optimizer<3>, adagrad_reference),
    optimizer_def("Adam", 4, kAdamAttributes, infer_optimizer<4>, adam_reference),
    optimizer_def("Momentum", 3, kMomentumAttributes, infer_momentum, momentum_reference),
};

}  // namespace

std::span<const OpDef> optimizer_ops() {
    return kOptimizerOps;
}

}  // namespace leat
