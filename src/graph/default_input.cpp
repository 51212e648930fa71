#include "graph/default_input.h"

#include <algorithm>

#include "base/error.h"
#include "graph/op_def.h"

namespace leat {

const DefaultInput* find_default_input(const GraphData& graph, std::string_view name) {
    const auto found =
        std::find_if(graph.default_inputs.begin(), graph.default_inputs.end(),
                     [name](const DefaultInput& input) { return input.name == name; });
    return found == graph.default_inputs.end() ? nullptr : &*found;
}

size_t index_of_default(const GraphData& graph, const DefaultInput& input) {
    const auto found = std::find_if(
        graph.values.begin(), graph.values.end(),
        [&](const ValueData& value) { return value.constant && value.name == input.name; });
    return size_t(found - graph.values.begin());
}

Status check_default(const DefaultInput& input, const Tensor& value) {
    const TypeInfo& type = input.type;
    const TypeInfo own = TypeInfo::tensor(value.dtype(), value.shape());
    const auto is_extent_of = [](const DimSpec& extent, const DimSpec& wanted) {
        return !wanted.is_fixed() || same_dim(extent, wanted);
    };
    const bool fits =
        type.is_tensor() && type.dtype == own.dtype &&
        (!type.dims || std::equal(own.dims->begin(), own.dims->end(), type.dims->begin(),
                                  type.dims->end(), is_extent_of));
    if (fits) {
        return {};
    }
    return invalid_argument("the initializer '{}' is no value of the input", input.name)
        .with_found(own.to_string())
        .with_needed(type.to_string());
}

}  // namespace leat
