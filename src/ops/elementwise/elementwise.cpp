#include "ops/elementwise/elementwise.h"

#include <algorithm>

#include "ops/type_checks.h"

namespace leat {

Status infer_broadcast(InferContext& context, DType output) {
    if (context.input_count() == 2 && context.has_input(0) && context.has_input(1)) {
        const TypeInfo& a = context.input(0);
        const TypeInfo& b = context.input(1);
        if (a.dims && b.dims && broadcasts_into(*b.dims, *a.dims)) {
            context.set_output(0, output, a.dims);
            return {};
        }
    }
    TypeInfo shape = TypeInfo::tensor(output, Shape());
    for (int i = 0; i < context.input_count(); ++i) {
        if (context.has_input(i)) {
            LEAT_ASSIGN_OR_RETURN(shape.dims, broadcast_dims(shape, context.input(i)));
        }
    }
    context.set_output(0, std::move(shape));
    return {};
}

void propagate_extents(InferContext& context, ExtentFunction f) {
    const auto a = context.extents(0);
    const auto b = context.extents(1);
    if (!a || !b || context.input(0).rank() > 1 || context.input(1).rank() > 1) {
        return;
    }
    if (a->size() != b->size() && a->size() != 1 && b->size() != 1) {
        return;
    }
    const size_t count = a->empty() || b->empty() ? 0 : std::max(a->size(), b->size());
    std::vector<DimSpec> result;
    for (size_t i = 0; i < count; ++i) {
        result.push_back(f((*a)[a->size() == 1 ? 0 : i], (*b)[b->size() == 1 ? 0 : i]));
    }
    context.set_extents(0, std::move(result));
}

DimSpec subtract_dims(const DimSpec& a, const DimSpec& b) {
    if (a.is_fixed() && b.is_fixed()) {
        return a.extent() >= b.extent() ? DimSpec(a.extent() - b.extent()) : DimSpec::unknown();
    }
    if (b.extent() == 0) {
        return a;
    }
    return same_dim(a, b) ? DimSpec(0) : DimSpec::unknown();
}

DimSpec divide_dims(const DimSpec& a, const DimSpec& b) {
    if (a.is_fixed() && b.extent() > 0) {
        return DimSpec(a.extent() / b.extent());
    }
    return b.extent() == 1 ? a : DimSpec::unknown();
}

float float_attribute(const Attributes& attributes, std::string_view key, float fallback) {
    const auto found = attributes.find(key);
    const float* value = found == attributes.end() ? nullptr : std::get_if<float>(&found->second);
    return value == nullptr ? fallback : *value;
}

Cost elementwise_cost(double flops,
                      std::span<const TensorArg> inputs,
                      std::span<const TensorArg> outputs) {
    return {flops * double(outputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

}  // namespace leat
