// compile(): from a graph to a compiled graph. The recipe is the body of compile_graph.
#include <algorithm>
#include <chrono>
#include <optional>
#include <set>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "calibrate/calibration.h"
#include "compile/compile_input.h"
#include "compile/segments/compile_in_segments.h"
#include "compile/segments/find_segments.h"
#include "compile/weight_targets.h"
#include "graph/constant_files.h"
#include "graph/default_input.h"
#include "graph/inference.h"
#include "partition/partition.h"
#include "passes/pipeline.h"
#include "place/annotations/device_annotations.h"
#include "place/body_placement.h"
#include "place/device_placement.h"
#include "place/gone_nodes.h"
#include "place/pins.h"
#include "plan/dim_bounds.h"
#include "run/compiled_graph_impl.h"

namespace leat {
namespace {

using Clock = std::chrono::steady_clock;

// A single built-in backend runs the graph as it is: the first of the list, if nothing is pinned to
// another device and costs do not decide.
bool is_host_alone(std::span<const ListedDevice> devices,
                   const NodeHistory& history,
                   PlacementPolicy policy) {
    const auto is_elsewhere = [&devices](const auto& pin) {
        const Pin& own = pin.second;
        return !own.shards.devices.empty() ||
               (!own.device.empty() && own.device != devices[0].label);
    };
    return devices[0].host != nullptr &&
           (devices.size() == 1 || policy == PlacementPolicy::kListOrder) &&
           std::none_of(history.pins().begin(), history.pins().end(), is_elsewhere);
}

Result<DevicePlacement> place(Runtime::Impl& runtime,
                              const GraphData& graph,
                              std::vector<ListedDevice> devices,
                              const NodeHistory& history,
                              const CompileOptions& options) {
    const int threads = runtime.host.threads;
    if (is_host_alone(devices, history, options.placement_policy)) {
        return place_on_host(graph, devices[0], history, threads);
    }
    LEAT_ASSIGN_OR_RETURN(DevicePlacement placed,
                          place_on_devices(graph, std::move(devices), history, options, threads));
    for (const std::string& note : placed.annotation_notes) {
        runtime.log(LogLevel::kWarning, note);
    }
    for (const std::string& fallback : placed.fallbacks) {
        if (options.fallback == Fallback::kWarn) {
            runtime.log(LogLevel::kWarning, fallback);
        }
    }
    return placed;
}

Status check_shape_options(const CompiledGraph::Impl& compiled) {
    for (const auto& [name, shape] : compiled.options.shapes) {
        const DefaultInput* const closed = find_default_input(compiled.graph, name);
        LEAT_RETURN_IF_ERROR(closed == nullptr
                                 ? compiled.signature.find_input(name).error()
                                 : compiled.signature.check_declared(name, closed->type, shape));
    }
    return {};
}

bool has_shape_options(const CompileOptions& options) {
    return !options.shapes.empty() || !options.dims.empty() || !options.dim_bounds.empty();
}

// The plan for the shapes that declaration and options fix; none where some extent stays open, nor
// where a default input does not fit them: requests that bind it are of another plan.
Status make_first_plan(CompiledGraph::Impl& compiled) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < compiled.graph.inputs.size(); ++i) {
        const std::optional<Shape> shape = compiled.signature.assumed_input_shape(int(i));
        if (!shape) {
            return {};
        }
        shapes.push_back(*shape);
    }
    LEAT_RETURN_IF_ERROR(compiled.signature.check_shapes(shapes));
    if (!compiled.deciding_inputs().empty()) {
        return {};
    }
    Status status = compiled.prepare(shapes);
    const bool may_be_a_default = status.code() == StatusCode::kInvalidArgument &&
                                  !compiled.graph.default_inputs.empty() &&
                                  has_shape_options(compiled.options);
    return may_be_a_default ? Status() : status;
}

// The graph after the passes, and where its nodes run.
struct OptimizedGraph {
    Graph graph;
    NodeHistory history;
    std::vector<PassReport> passes;
    CalibrationReport calibration;
    DevicePlacement placed;
    bool is_cut = false;  // one plan cannot have it: nothing is placed
};

// In place of the one that was placed, if operators were divided.
void take_divided_graph(OptimizedGraph& optimized) {
    if (optimized.placed.divided == nullptr) {
        return;
    }
    GraphData& data = optimized.graph.data();
    std::set<std::string_view> divided;
    for (const DividedOperator& entry : optimized.placed.graph.placement.forecast.divided) {
        divided.insert(entry.name);
    }
    for (const NodeData& node : data.nodes) {
        if (divided.count(node.name) != 0) {
            optimized.history.remove(node, NodeFate::kDivided);
        }
    }
    data = std::move(*optimized.placed.divided);
}

Result<OptimizedGraph> optimize_and_place(const std::shared_ptr<Runtime::Impl>& runtime,
                                          Graph graph,
                                          std::vector<ListedDevice> devices,
                                          const NodeHistory::Pins& pins,
                                          const CompileOptions& options,
                                          bool may_cut) {
    OptimizedGraph optimized{std::move(graph), NodeHistory(pins), {}, {}, {}};
    // Plugins know neither other layouts nor epilogues.
    const bool may_rewrite =
        options.optimize && is_host_alone(devices, optimized.history, options.placement_policy);
    const PassOptions pass_options{
        .optimize = options.optimize,
        .channels_last = may_rewrite && devices[0].host->prefers_channels_last(),
        .fuse_epilogues = may_rewrite && devices[0].host->fuses_epilogues()};
    GraphData& data = optimized.graph.data();
    LEAT_RETURN_IF_ERROR(run_passes(data, pass_options, optimized.passes, &optimized.history));
    if (may_cut && may_have_segments(data)) {
        LEAT_ASSIGN_OR_RETURN(const GraphSegments segments, find_segments(data));
        optimized.is_cut = !segments.is_whole();
        if (optimized.is_cut) {
            return optimized;
        }
    }
    optimized.calibration = calibrate(runtime, data, devices, options);
    LEAT_ASSIGN_OR_RETURN(optimized.placed,
                          place(*runtime, data, std::move(devices), optimized.history, options));
    take_divided_graph(optimized);
    return optimized;
}

// The device of the list that has all nodes, if it is the host's; null: there is none.
const ListedDevice* host_of_all(const OptimizedGraph& optimized,
                                std::span<const ListedDevice> devices) {
    int only = kKnownAtPlanning;
    for (const int device : optimized.placed.graph.placement.device_of_node) {
        if (device >= 0 && only >= 0 && device != only) {
            return nullptr;
        }
        only = device >= 0 ? device : only;
    }
    const bool is_listed = only >= 0 && only < int(devices.size());
    return is_listed && devices[size_t(only)].host != nullptr ? &devices[size_t(only)] : nullptr;
}

// Where costs leave everything to one host, its plan may have layouts and epilogues that no other
// device would understand.
Result<OptimizedGraph> rewrite_for_host(const std::shared_ptr<Runtime::Impl>& runtime,
                                        const Graph& graph,
                                        OptimizedGraph optimized,
                                        const std::vector<ListedDevice>& devices,
                                        const NodeHistory::Pins& pins,
                                        const CompileOptions& options) {
    const ListedDevice* host = host_of_all(optimized, devices);
    if (host == nullptr || devices.size() == 1 || !options.optimize ||
        !is_host_alone({host, 1}, optimized.history, options.placement_policy)) {
        return optimized;
    }
    LEAT_ASSIGN_OR_RETURN(OptimizedGraph rewritten,
                          optimize_and_place(runtime, graph, {*host}, pins, options, false));
    Placement& placement = rewritten.placed.graph.placement;
    placement.forecast = std::move(optimized.placed.graph.placement.forecast);
    placement.listed_device_of_node = placement.device_of_node;
    placement.other_devices.resize(placement.device_of_node.size());
    rewritten.placed.fallbacks = std::move(optimized.placed.fallbacks);
    rewritten.calibration = std::move(optimized.calibration);
    return rewritten;
}

}  // namespace

Result<std::shared_ptr<CompiledGraph::Impl>> compile_graph(
    const std::shared_ptr<Runtime::Impl>& runtime,
    const Graph& graph,
    const CompileOptions& options,
    bool may_cut) {
    const auto start = Clock::now();
    LEAT_ASSIGN_OR_RETURN(const std::vector<ListedDevice> devices,
                          parse_devices(options.devices, *runtime->backends));
    LEAT_RETURN_IF_ERROR(check_options(options));
    LEAT_RETURN_IF_ERROR(runtime->operators_status);
    LEAT_RETURN_IF_ERROR(ConstantFiles(graph.data()).check());
    Graph defined = graph;
    LEAT_RETURN_IF_ERROR(define_operators(defined.data(), runtime->operators.source()));
    LEAT_RETURN_IF_ERROR(defined.verify());
    LEAT_RETURN_IF_ERROR(check_default_inputs(defined.data()));
    LEAT_RETURN_IF_ERROR(check_pins(defined.data(), options.pins, devices));
    LEAT_RETURN_IF_ERROR(check_dim_bounds(defined.data(), options));

    LEAT_ASSIGN_OR_RETURN(AnnotatedPins annotated,
                          annotated_pins(defined.data(), options, devices));
    for (const std::string& note : annotated.notes) {
        runtime->log(LogLevel::kWarning, note);
    }

    std::optional<Graph> kept;  // as it was before the passes
    if (options.placement_policy == PlacementPolicy::kCost) {
        kept = defined;
    }
    Result<OptimizedGraph> first =
        optimize_and_place(runtime, std::move(defined), devices, annotated.pins, options, may_cut);
    if (!first.ok() && !annotated.configuration.empty()) {
        return std::move(first).error().with_hint(
            fmt::format("device configuration '{}' of the model is obeyed; "
                        "CompileOptions::device_configuration \"\" ignores it",
                        annotated.configuration));
    }
    LEAT_ASSIGN_OR_RETURN(OptimizedGraph optimized, std::move(first));
    if (optimized.is_cut) {
        return compile_in_segments(runtime, graph, devices, std::move(annotated), options);
    }
    if (kept) {
        LEAT_ASSIGN_OR_RETURN(optimized, rewrite_for_host(runtime, *kept, std::move(optimized),
                                                          devices, annotated.pins, options));
    }
    DevicePlacement& placed = optimized.placed;
    CompileReport report;
    report.passes = std::move(optimized.passes);
    report.weight_bytes = optimized.graph.data().parameter_bytes();
    report.node_count = optimized.graph.data().node_count();
    report.calibration = std::move(optimized.calibration);
    report.device_configuration = std::move(annotated.configuration);
    report.annotation_notes = std::move(annotated.notes);
    report.annotation_notes.insert(report.annotation_notes.end(), placed.annotation_notes.begin(),
                                   placed.annotation_notes.end());

    auto compiled =
        std::make_shared<CompiledGraph::Impl>(runtime, std::move(optimized.graph), options);
    compiled->placed = std::move(placed.graph);
    LEAT_RETURN_IF_ERROR(
        place_bodies(compiled->graph, devices, options, runtime->host.threads, compiled->placed));
    compiled->placed.placement.gone = gone_nodes(graph.data(), compiled->graph, optimized.history);
    if (!graph.data().default_inputs.empty()) {
        compiled->given = std::make_shared<const Graph>(graph);
    }
    for (int input : compiled->deciding_inputs()) {
        report.shape_deciding_inputs.push_back(
            compiled->graph.value(compiled->graph.inputs[size_t(input)]).name);
    }
    report.part_compile_time_ns = compiled->placed.part_compile_time_ns;
    report.nodes_per_backend = std::move(placed.nodes_per_device);
    report.fallbacks = std::move(placed.fallbacks);
    compiled->base_report = std::move(report);
    compiled->weight_targets = choose_weight_targets(*runtime, compiled->graph);
    LEAT_RETURN_IF_ERROR(check_shape_options(*compiled));
    LEAT_RETURN_IF_ERROR(make_first_plan(*compiled));
    compiled->base_report.compile_time_ns = nanoseconds_since(start);
    return compiled;
}

Result<CompiledGraph> Runtime::compile(const Graph& graph, const CompileOptions& options) const {
    return catch_bad_alloc("compile the graph", [&]() -> Result<CompiledGraph> {
        LEAT_ASSIGN_OR_RETURN(std::shared_ptr<CompiledGraph::Impl> compiled,
                              compile_graph(impl_, graph, options));
        return CompiledGraph(std::move(compiled));
    });
}

}  // namespace leat
