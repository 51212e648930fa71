#include "place/assumed_shapes.h"

#include <optional>
#include <utility>

#include "plan/dim_bounds.h"

namespace leat {
namespace {

std::optional<std::vector<DimSpec>> fixed_dims(const TypeInfo& type,
                                               const CompileOptions& options,
                                               bool& has_assumed) {
    if (!type.dims) {
        return std::nullopt;
    }
    std::vector<DimSpec> dims = *type.dims;
    for (DimSpec& dim : dims) {
        if (!dim.is_fixed()) {
            const std::optional<int64_t> extent = assumed_extent(options, dim.name());
            has_assumed = has_assumed || !extent;
            dim = DimSpec(extent.value_or(1));
        }
    }
    return dims;
}

}  // namespace

AssumedShapes assume_shapes(const GraphData& graph, const CompileOptions& options) {
    AssumedShapes shapes;
    std::vector<ValueFact> inputs;
    for (const ValueId id : graph.inputs) {
        const ValueData& value = graph.value(id);
        ValueFact& fact = inputs.emplace_back();
        fact.type = value.type;
        const auto given = options.shapes.find(value.name);
        if (value.type.is_tensor()) {
            fact.type =
                given != options.shapes.end()
                    ? TypeInfo::tensor(value.type.dtype, given->second)
                    : TypeInfo::tensor(value.type.dtype,
                                       fixed_dims(value.type, options, shapes.has_assumed_extents));
        }
    }
    Result<std::vector<ValueFact>> facts = infer_graph(graph, inputs, {});
    if (facts.ok()) {
        shapes.facts.reserve(facts->size());
        for (ValueFact& fact : *facts) {
            shapes.facts.push_back(std::make_shared<const ValueFact>(std::move(fact)));
        }
    }
    return shapes;
}

}  // namespace leat
