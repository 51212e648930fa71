// Attributes and operands of windows with any number of spatial axes, as one integer an axis.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/op_def.h"

namespace leat {

// An error unless there are `count` integers in [minimum, 2^31): products of two such numbers are
// below 2^63. `what` names them.
inline Status check_window_ints(const std::vector<int64_t>& values,
                                size_t count,
                                int64_t minimum,
                                std::string_view what) {
    const auto is_bad = [&](int64_t value) { return value < minimum || value > INT32_MAX; };
    if (values.size() == count && std::none_of(values.begin(), values.end(), is_bad)) {
        return {};
    }
    return invalid_argument("{} does not fit the spatial axes", what)
        .with_found(fmt::format("[{}]", fmt::join(values, ", ")))
        .with_needed(fmt::format("{} integers in [{}, 2^31)", count, minimum));
}

// The node's attribute, or `fallback` for each of the `count` where it is absent or empty.
inline Result<std::vector<int64_t>> window_ints(
    const NodeData& node, const char* name, size_t count, int64_t minimum, int64_t fallback) {
    const std::vector<int64_t>* const given = node.ints(name);
    if (given == nullptr || given->empty()) {
        return std::vector<int64_t>(count, fallback);
    }
    LEAT_RETURN_IF_ERROR(
        check_window_ints(*given, count, minimum, "attribute '" + std::string(name) + "'"));
    return *given;
}

}  // namespace leat
