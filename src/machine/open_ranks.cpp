#include "machine/open_ranks.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "graph/inference.h"

namespace leat {
namespace {

bool has_open_rank(const ValueData& value) {
    return value.type.is_tensor() && !value.type.dims;
}

}  // namespace

bool has_open_ranks(const GraphData& body) {
    return std::any_of(body.inputs.begin(), body.inputs.end(),
                       [&body](ValueId id) { return has_open_rank(body.value(id)); });
}

Result<GraphData> with_ranks(const GraphData& body, std::span<const TensorArg> inputs) {
    GraphData ranked = body;
    for (size_t i = 0; i < ranked.inputs.size(); ++i) {
        if (ValueData& value = ranked.value(ranked.inputs[i]); has_open_rank(value)) {
            value.type.dims.emplace(size_t(inputs[i].shape.rank()), DimSpec::unknown());
        }
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<ValueFact> facts, infer_graph(ranked, {}, {}));
    for (size_t v = 0; v < ranked.values.size(); ++v) {
        if (ValueData& value = ranked.values[v]; !value.constant && facts[v].type.is_tensor()) {
            value.type = std::move(facts[v].type);
        }
    }
    return ranked;
}

}  // namespace leat
