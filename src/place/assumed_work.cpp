#include "place/assumed_work.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "graph/inference.h"
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

GraphWork assumed_work(const GraphData& graph, const CompileOptions& options) {
    bool has_assumed_extents = false;
    std::vector<ValueFact> inputs;
    for (const ValueId id : graph.inputs) {
        const ValueData& value = graph.value(id);
        ValueFact& fact = inputs.emplace_back();
        fact.type = value.type;
        const auto given = options.shapes.find(value.name);
        if (value.type.is_tensor()) {
            fact.type = given != options.shapes.end()
                            ? TypeInfo::tensor(value.type.dtype, given->second)
                            : TypeInfo::tensor(value.type.dtype, fixed_dims(value.type, options,
                                                                            has_assumed_extents));
        }
    }
    std::vector<std::shared_ptr<const ValueFact>> facts;  // empty: inputs do not fit together
    if (Result<std::vector<ValueFact>> inferred = infer_graph(graph, inputs, {}); inferred.ok()) {
        facts.reserve(inferred->size());
        for (ValueFact& fact : *inferred) {
            facts.push_back(std::make_shared<const ValueFact>(std::move(fact)));
        }
    }
    GraphWork work = work_of_graph(graph, facts);
    work.has_open_extents = work.has_open_extents || has_assumed_extents;
    return work;
}

}  // namespace leat
