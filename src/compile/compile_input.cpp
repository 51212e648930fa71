#include "compile/compile_input.h"

#include <utility>

#include "base/error.h"
#include "custom/custom_op_def.h"

namespace leat {

Status define_operators(GraphData& graph, const OperatorSource& operators) {
    for (NodeData& node : graph.nodes) {
        for (const auto& [key, body] : node.bodies()) {
            LEAT_RETURN_IF_ERROR(define_operators(*body, operators));
        }
        if (node.dead || node.domain.empty()) {
            continue;
        }
        if (node.def == nullptr) {
            Result<const OpDef*> found = operators.find(node.domain, node.op_type, node.opset);
            if (!found.ok()) {
                return std::move(found).error().with_node(node.label()).with_file(graph.file);
            }
            node.def = *found;
        }
        if (custom::find_custom(node.def) != nullptr) {
            custom::add_defaults(node);
        }
    }
    graph.settle_outputs();
    return {};
}

Status check_options(const CompileOptions& options) {
    const std::pair<const char*, bool> choices[] = {
        {"fallback", options.fallback <= Fallback::kAllow},
        {"placement_policy", options.placement_policy <= PlacementPolicy::kCost},
        {"divide_operators", options.divide_operators <= DivideOperators::kChangingBits},
        {"calibrate", options.calibrate <= Calibrate::kMissing}};
    for (const auto& [name, is_known] : choices) {
        if (!is_known) {
            return invalid_argument("{} is none of its enumerators", name);
        }
    }
    const std::pair<const char*, int64_t> limits[] = {
        {"memory_limit_bytes", options.memory_limit_bytes},
        {"pool_limit_bytes", options.pool_limit_bytes}};
    for (const auto& [name, bytes] : limits) {
        if (bytes < 0) {
            return invalid_argument("{} is {}", name, bytes)
                .with_needed("a number of bytes, or 0 for no limit");
        }
    }
    if (options.plan_cache_bytes < 0) {
        return invalid_argument("plan_cache_bytes is {}", options.plan_cache_bytes)
            .with_needed("0 or more");
    }
    if (options.max_requests < 1) {
        return invalid_argument("max_requests is {}", options.max_requests)
            .with_needed("1 or more");
    }
    if (options.requests_in_flight < 1 ||
        options.requests_in_flight > CompileOptions::kMostInFlight) {
        return invalid_argument("requests_in_flight is {}", options.requests_in_flight)
            .with_needed(fmt::format("1 to {}", CompileOptions::kMostInFlight));
    }
    if (options.memory_limit_bytes > 0 && options.max_requests < options.requests_in_flight) {
        return invalid_argument("max_requests is {}, with a memory limit and {} in flight",
                                options.max_requests, options.requests_in_flight)
            .with_needed(fmt::format("{} or more", options.requests_in_flight));
    }
    return {};
}

}  // namespace leat
