#include "compile/segments/compile_in_segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/elapsed.h"
#include "base/error.h"
#include "compile/compile_input.h"
#include "compile/segments/cut_segments.h"
#include "graph/constant_files.h"
#include "passes/pipeline.h"
#include "place/gone_nodes.h"

namespace leat {
namespace {

// Far below a page of an arena, which is 2 MiB: less than it costs to look for a smaller one while
// a run waits.
constexpr int64_t kSpareArenaBytes = 256 << 10;

// What holds for the whole graph is done before it is cut, or cannot be kept.
Status check_options_of_segments(const CompileOptions& options) {
    if (options.memory_limit_bytes > 0) {
        return unsupported("a memory limit needs a graph of which one plan has everything")
            .with_needed("shapes that follow from the inputs' shapes and values")
            .with_hint("CompileOptions::pool_limit_bytes limits what only a run knows");
    }
    return {};
}

// Of nodes as they are after the passes; those of several devices or stages are told in `notes`.
std::map<std::string, std::string, std::less<>> pins_of_segments(const NodeHistory& history,
                                                                 std::vector<std::string>& notes) {
    std::map<std::string, std::string, std::less<>> pins;
    for (const auto& [node, pin] : history.pins()) {
        if (!pin.shards.devices.empty() || pin.stage != kNoStage) {
            notes.push_back(fmt::format(
                "node '{}': neither shards nor stages are obeyed in a graph of several segments",
                node));
        }
        if (!pin.device.empty() && pin.shards.devices.empty()) {
            pins.emplace(node, pin.device);
        }
    }
    return pins;
}

// Of the options for the graph. Shapes are known only when the segment is planned.
CompileOptions options_of(const Graph& segment, const CompileOptions& whole) {
    CompileOptions options = whole;
    options.shapes.clear();
    options.dims.clear();
    options.dim_bounds.clear();
    options.device_configuration = "";
    std::set<std::string_view> names;
    for (const NodeData& node : segment.data().nodes) {
        names.insert(node.name);
    }
    for (auto pin = options.pins.begin(); pin != options.pins.end();) {
        pin = names.count(pin->first) == 0 ? options.pins.erase(pin) : std::next(pin);
    }
    return options;
}

// The host takes the steps that have no plan, whichever of its backends they are pinned to.
Status check_pins_of_steps(const Segments& segments,
                           std::span<const ListedDevice> devices,
                           const CompileOptions& options) {
    for (const SegmentStep& step : segments.steps) {
        const auto pin = options.pins.find(step.node.name);
        if (step.segment != nullptr || pin == options.pins.end()) {
            continue;
        }
        const auto device = std::find_if(
            devices.begin(), devices.end(),
            [&pin](const ListedDevice& listed) { return listed.label == pin->second; });
        if (device != devices.end() && device->host == nullptr) {
            return make_error(StatusCode::kPlacement,
                              "{} is pinned to '{}', and no plan has the node", step.node.label(),
                              pin->second)
                .with_needed(
                    "no pin, or one to 'cpu' or 'reference': the host alone has sequences, "
                    "optionals, and bodies of which data decide shapes");
        }
    }
    return {};
}

void add_to_report(const CompileReport& segment, CompileReport& report) {
    report.node_count += segment.node_count;
    report.part_compile_time_ns += segment.part_compile_time_ns;
    for (const auto& [device, nodes] : segment.nodes_per_backend) {
        report.nodes_per_backend[device] += nodes;
    }
    report.fallbacks.insert(report.fallbacks.end(), segment.fallbacks.begin(),
                            segment.fallbacks.end());
}

}  // namespace

Result<std::shared_ptr<CompiledGraph::Impl>> compile_in_segments(
    const std::shared_ptr<Runtime::Impl>& runtime,
    const Graph& graph,
    std::span<const ListedDevice> devices,
    AnnotatedPins annotated,
    const CompileOptions& options) {
    const auto start = std::chrono::steady_clock::now();
    LEAT_RETURN_IF_ERROR(check_options_of_segments(options));
    Graph optimized = graph;
    GraphData& data = optimized.data();
    LEAT_RETURN_IF_ERROR(define_operators(data, runtime->operators.source()));
    CompileReport report;
    // Layouts and epilogues are those of each segment.
    const PassOptions passes{
        .optimize = options.optimize, .channels_last = false, .fuse_epilogues = false};
    NodeHistory history(std::move(annotated.pins));
    LEAT_RETURN_IF_ERROR(run_passes(data, passes, report.passes, &history));
    report.device_configuration = std::move(annotated.configuration);
    report.annotation_notes = std::move(annotated.notes);
    CompileOptions of_graph = options;
    std::vector<std::string> notes;
    of_graph.pins = pins_of_segments(history, notes);
    for (std::string& note : notes) {
        runtime->log(LogLevel::kWarning, note);
        report.annotation_notes.push_back(std::move(note));
    }
    CompileOptions of_bodies = options;
    of_bodies.pins.clear();
    report.weight_bytes = data.parameter_bytes();
    const auto budget = std::make_shared<PlanBudget>(options.plan_cache_bytes);
    const CompileSegment compile = [&](const CutSegment& segment) {
        Result<std::shared_ptr<CompiledGraph::Impl>> compiled =
            compile_graph(runtime, segment.graph,
                          options_of(segment.graph, segment.is_of_body ? of_bodies : of_graph),
                          /*may_cut=*/false);
        if (compiled.ok()) {
            add_to_report((*compiled)->base_report, report);
            (*compiled)->plans.share(budget);
            (*compiled)->spare_arena_bytes = segment.is_planned_in_run ? kSpareArenaBytes : 0;
        }
        return compiled;
    };
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Segments> segments,
                          cut_segments(data, {}, compile, options.is_traced));
    LEAT_RETURN_IF_ERROR(check_pins_of_steps(*segments, devices, of_graph));
    auto compiled = std::make_shared<CompiledGraph::Impl>(runtime, std::move(optimized), options);
    if (!graph.data().default_inputs.empty()) {
        compiled->given = std::make_shared<const Graph>(graph);
    }
    for (const SegmentStep& step : segments->steps) {
        report.segments.push_back(
            step.segment == nullptr
                ? SegmentReport{1, step.node.label() + " has no plan", false}
                : SegmentReport{step.segment->graph.node_count(), step.reason, false});
    }
    if (const std::optional<size_t> known = segments->known_step()) {
        report.segments[*known].is_prepared = true;
    }
    compiled->segments = std::move(segments);
    compiled->placed.placement.gone = gone_nodes(graph.data(), compiled->graph, history);
    report.compile_time_ns = nanoseconds_since(start);
    compiled->base_report = std::move(report);
    return compiled;
}

}  // namespace leat
