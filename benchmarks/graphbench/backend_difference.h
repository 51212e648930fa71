// A graph on two backends with the same inputs: whether their results differ, and at which node
// that begins.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "conformance/data_sets.h"
#include "leat/graph.h"
#include "leat/runtime.h"
#include "leat/status.h"

namespace leat::bench {

// What is compared. Everything outlives the calls.
struct BackendPair {
    const Runtime& runtime;
    CompileOptions ours;
    CompileOptions theirs;
    // Of results computed twice: by default 1e-3 of each and 1e-5 of the largest.
    std::optional<double> relative_tolerance;
    std::optional<double> absolute_tolerance;
};

struct BackendDifference {
    std::string output;  // of the graph
    std::string reason;  // of its first element that differs
    // "node 'name' (Op)": with the nodes before it alone the backends agree. Empty: not found,
    // because they agree where less of the graph is computed.
    std::string node;
};

// Nothing: all outputs agree. The node is found by bisection: the graph is cut behind half of the
// nodes that are in question, and compiled and run anew, log2(nodes) times.
Result<std::optional<BackendDifference>> backend_difference(const BackendPair& pair,
                                                            const Graph& graph,
                                                            std::span<const NamedValue> inputs);

}  // namespace leat::bench
