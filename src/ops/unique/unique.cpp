#include "ops/unique/unique.h"

#include <cmath>
#include <utility>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"

namespace leat {
namespace {

constexpr DTypeSet kUniqueTypes =
    kNumericTypes | dtype_set(DType::kBool, DType::kString, DType::kComplex64, DType::kComplex128);

Status infer_unique(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kUniqueTypes, "X"));
    const TypeInfo& x = context.input(0);
    std::optional<Dims> dims = x.dims;
    DimSpec extent = DimSpec::unknown();
    if (!context.node().has_attr("axis")) {
        if (dims) {
            extent = DimSpec(1);
            for (const DimSpec& dim : *dims) {
                extent = multiply_dims(extent, dim);
            }
        }
        dims = Dims{DimSpec::unknown()};
    } else if (dims) {
        LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), x.rank()));
        extent = std::exchange((*dims)[size_t(axis)], DimSpec::unknown());
    }
    context.set_output(kUniqueY, x.dtype, std::move(dims));
    for (int i = kUniqueIndices; i < context.output_count(); ++i) {
        context.set_output(i, DType::kInt64,
                           Dims{i == kUniqueInverse ? extent : DimSpec::unknown()});
    }
    return {};
}

// As if no element was there twice: sorting compares each as often as its number has bits.
Cost unique_cost(const NodeData& /*node*/,
                 std::span<const TensorArg> inputs,
                 std::span<const TensorArg> outputs) {
    const double elements = double(inputs[0].shape.element_count());
    return {elements * std::log2(elements + 2),
            int64_t(outputs.size()) * inputs[0].byte_count() + inputs[0].byte_count()};
}

constexpr AttributeSchema kUniqueAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "sorted", .kind = AttributeKind::kInt},
};

constexpr OpDef kUniqueOps[] = {
    {.name = "Unique",
     .max_outputs = 4,
     .open_outputs = 1U << kUniqueY | 1U << kUniqueIndices | 1U << kUniqueCounts,
     .attributes = kUniqueAttributes,
     .infer = infer_unique,
     .reference = unique_reference,
     .cost = unique_cost},
};

}  // namespace

std::span<const OpDef> unique_ops() {
    return kUniqueOps;
}

}  // namespace leat
