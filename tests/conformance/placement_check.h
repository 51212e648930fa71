// One network on one placement: the same bits as its serial run, results within tolerance, and the
// bits of a single device with the same kernels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "conformance/data_sets.h"
#include "conformance/values.h"
#include "leat/runtime.h"
#include "placement_draw.h"

namespace leat::placements {

struct DataSet {
    std::string name;
    std::vector<NamedValue> inputs;
    std::vector<NamedValue> outputs;  // expected
};

// A folder in the ONNX test layout.
struct Network {
    std::string name;
    Graph graph;  // all nodes have names
    std::vector<DataSet> data_sets;
    Tolerance tolerance;
};
Result<Network> load_network(const std::string& name, const std::filesystem::path& folder);

// A request that has run; what it computed stays until it goes.
struct Computed {
    CompiledGraph compiled;
    Request request;
};
Result<Computed> compute(const Runtime& runtime,
                         const Graph& graph,
                         const CompileOptions& options,
                         const DataSet& data);
// Empty, or what differs first. Outputs in the graph's order.
std::string difference_from_expected(const Computed& computed,
                                     const DataSet& data,
                                     Tolerance tolerance);

using SimSettings = std::map<std::string, std::string, std::less<>>;

// What is varied beside the placement.
struct RunSettings {
    int threads = 1;
    int requests = 1;  // in flight at a time
    int turns = 1;     // runs of each request
    SimSettings sim;

    std::string to_string() const;
};
// `always`: settings that are not drawn.
RunSettings draw_settings(SplitMix& random, const SimSettings& always);
RuntimeOptions runtime_options(const RunSettings& settings);

struct PlacementOutcome {
    std::string failure;    // empty: all is as it has to be
    int64_t parts = 0;      // subgraphs on devices of plugins
    int64_t transfers = 0;  // of a run; 0 of a graph in segments
    bool is_in_segments = false;
};

struct PlacementCheck {
    const Runtime& serial_runtime;
    const Network& network;
    const DataSet& data;
    std::string devices;
    Pins pins;
    RunSettings settings;
    const Computed* single = nullptr;        // on the CPU alone: the tolerance holds
    const Computed* same_kernels = nullptr;  // on one device with the same kernels: the same bits
};
PlacementOutcome check_placement(const PlacementCheck& check);

}  // namespace leat::placements
