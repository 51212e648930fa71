// What CompiledGraph tells about compilation and placement.
#include <span>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "compile/segments/segments_placement.h"
#include "place/annotations/placement_annotations.h"
#include "plan/placement/placement_report.h"
#include "plan/plan_report.h"
#include "run/compiled_graph_impl.h"

namespace leat {
namespace {

void add_reports(const CompiledGraph::Impl& compiled,
                 std::span<const std::shared_ptr<const Plan>> plans,
                 std::vector<PlanReport>& reports) {
    for (const std::shared_ptr<const Plan>& plan : plans) {
        reports.push_back(plan->report);
        reports.back().buffers = report_buffers(compiled.planned_graph(), *plan);
    }
}

// Calls on_segment(const CompiledGraph::Impl&), in bodies too.
template <class OnSegment>
void for_each_segment(const Segments& segments, const OnSegment& on_segment) {
    for (const SegmentStep& step : segments.steps) {
        if (step.segment != nullptr) {
            on_segment(*step.segment);
        }
        for (const auto& [key, body] : step.bodies) {
            for_each_segment(*body, on_segment);
        }
    }
}

void add_graph(const CompiledGraph::Impl& compiled, CompileReport& report) {
    const PlanningReport planning = compiled.plans.planning();
    report.planning.made += planning.made;
    report.planning.dropped += planning.dropped;
    report.planning.time_ns += planning.time_ns;
    add_reports(compiled, compiled.plans.plans(), report.plans);
    if (compiled.segments != nullptr) {
        for_each_segment(*compiled.segments,
                         [&](const CompiledGraph::Impl& segment) { add_graph(segment, report); });
    }
}

}  // namespace

CompileReport CompiledGraph::report() const {
    CompileReport report = impl_->base_report;
    report.packed_weight_bytes = impl_->runtime->weights.packed_bytes();
    for (const std::shared_ptr<const DevicePart>& part : impl_->placed.parts) {
        report.device_pack_count += part->pack_count();
    }
    report.mapped_weight_bytes = impl_->mapped == nullptr ? 0 : impl_->mapped->packed_bytes();
    const std::vector<std::shared_ptr<const Plan>> plans = impl_->plans.plans();
    add_graph(*impl_, report);
    for (const auto& [names, opened] : impl_->opened_graphs()) {
        add_graph(*opened, report);
    }
    if (!plans.empty()) {
        report.reference_kernels = reference_kernels(*plans.front());
    }
    if (impl_->segments != nullptr) {
        report.placement = report_segments_placement(*impl_);
    } else {
        const SharedFacts no_facts;
        report.placement =
            report_placement(impl_->placed, impl_->graph,
                             plans.empty() ? no_facts : plans.front()->facts.values.list());
    }
    for (const auto& [device, nodes] : report.nodes_per_backend) {
        report.summary_ += fmt::format("{}{} {}/{} nodes", report.summary_.empty() ? "" : ", ",
                                       device, nodes, report.node_count);
    }
    return report;
}

Result<Graph> CompiledGraph::annotate(const Graph& graph, std::string_view configuration) const {
    return catch_bad_alloc("annotate the graph", [&]() -> Result<Graph> {
        LEAT_RETURN_IF_ERROR(impl_->check_is_whole("annotate"));
        const GraphData& own = impl_->graph;
        const auto input_names = [](const GraphData& of) {
            std::vector<std::string_view> names;
            for (const ValueId id : of.inputs) {
                names.push_back(of.value(id).name);
            }
            return names;
        };
        if (input_names(own) != input_names(graph.data()) ||
            own.output_names != graph.data().output_names) {
            return invalid_argument("a graph cannot be annotated with the placement of another one")
                .with_found(fmt::format("'{}'", graph.data().name))
                .with_needed(fmt::format("graph '{}', as it was compiled", own.name));
        }
        if (configuration.empty()) {
            return invalid_argument("a device configuration needs a name");
        }
        Graph annotated = graph;
        annotate_placement(std::string(configuration), impl_->placed.placement, own,
                           annotated.data());
        return annotated;
    });
}

}  // namespace leat
