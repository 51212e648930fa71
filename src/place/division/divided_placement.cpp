#include "place/division/divided_placement.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "place/annotations/device_annotations.h"
#include "place/assumed_work.h"
#include "place/division/annotated_division.h"
#include "place/division/operator_division.h"

namespace leat {
namespace {

std::vector<DividedOperator> divided_operators(const GraphData& graph,
                                               const OperatorDivision& division,
                                               std::span<const ListedDevice> devices) {
    std::vector<DividedOperator> divided;
    for (size_t i = 0; i < division.splits.size(); ++i) {
        const NodeSplit& split = division.splits[i];
        const NodeData& node = graph.node(split.node);
        DividedOperator& entry = divided.emplace_back();
        entry.name = node.name;
        entry.op_type = node.op_type;
        entry.axis = split.axis.name;
        entry.result_axis = split.axis.result_axis;
        entry.input_axes = split.axis.input_axes;
        entry.changes_bits = split.axis.changes_bits;
        int64_t begin = 0;
        for (size_t shard = 0; shard < split.extents.size(); ++shard) {
            const int64_t end = begin + split.extents[shard];
            entry.shards.push_back(
                {devices[size_t(division.device_of_shard[i][shard])].label, begin, end});
            begin = end;
        }
    }
    return divided;
}

bool may_change_bits(const CompileOptions& options) {
    return options.divide_operators == DivideOperators::kChangingBits;
}

// A piece has the stage of the node that it was split from.
std::vector<int> stages_of(const GraphData& whole,
                           const OperatorDivision& division,
                           const SplitGraph& split,
                           const NodeHistory& history) {
    std::vector<int> own;
    own.reserve(split.pieces.size());
    for (size_t n = 0; n < split.pieces.size(); ++n) {
        const SplitPiece& piece = split.pieces[n];
        const NodeData& node = piece.role == SplitPiece::Role::kNone
                                   ? split.graph.nodes[n]
                                   : whole.node(division.splits[size_t(piece.split)].node);
        own.push_back(history.pin_of(node.name).stage);
    }
    return pipeline_stages(split.graph, own);
}

void place_pieces(const OperatorDivision& division, AskedGraph& asked) {
    for (size_t n = 0; n < asked.pieces.size(); ++n) {
        const SplitPiece& piece = asked.pieces[n];
        const auto split = size_t(piece.split);
        if (piece.role == SplitPiece::Role::kShard) {
            asked.places[n] = division.device_of_shard[split][size_t(piece.shard)];
        } else if (piece.role == SplitPiece::Role::kSum && !division.device_of_sum.empty()) {
            asked.places[n] = division.device_of_sum[split];
        }
    }
}

Result<AskedGraph> divide_graph(const DivisionQuestion& question,
                                const OperatorDivision& division,
                                PlacedList list,
                                const PlacementTerms& terms) {
    LEAT_ASSIGN_OR_RETURN(SplitGraph split, split_operators(question.graph, division.splits));
    std::vector<int> stages = stages_of(question.graph, division, split, terms.history);
    KnownPlacement known = placement_before(question, division, split);
    auto graph = std::make_unique<GraphData>(std::move(split.graph));
    LEAT_ASSIGN_OR_RETURN(AskedGraph asked, ask_about(*graph, std::move(list), terms));
    asked.divided = std::move(graph);
    std::vector<AssumedDevice>& assumed = asked.assumed.devices;
    std::vector<std::vector<double>> derived =
        derived_times(question, division, split, assumed.size());
    for (size_t d = 0; d < assumed.size(); ++d) {
        assumed[d].derived_ns = std::move(derived[d]);
    }
    asked.stages = std::move(stages);
    asked.known = std::move(known);
    asked.pieces = std::move(split.pieces);
    place_pieces(division, asked);
    asked.operators = divided_operators(question.graph, division, asked.list.devices);
    return asked;
}

// An error where some device or memory does not take the divided graph.
Result<DividedPlacement> place_divided(const DivisionQuestion& question,
                                       const OperatorDivision& division,
                                       PlacedList list,
                                       const PlacementTerms& terms) {
    LEAT_ASSIGN_OR_RETURN(AskedGraph asked,
                          divide_graph(question, division, std::move(list), terms));
    LEAT_ASSIGN_OR_RETURN(Placement placement, choose_placement(terms.options, asked));
    placement.forecast.undivided_ns = question.makespan_ns;
    return DividedPlacement{std::move(asked), std::move(placement)};
}

}  // namespace

PlacedList with_host(PlacedList list, const Backend& host) {
    const bool has_host =
        std::any_of(list.devices.begin(), list.devices.end(),
                    [](const ListedDevice& device) { return device.host != nullptr; });
    if (!has_host) {
        list.fallback_device = int(list.devices.size());
        list.devices.push_back({std::string(host.name()), &host, {}, nullptr});
    }
    return list;
}

Result<std::optional<AskedGraph>> divide_as_annotated(const AskedGraph& asked,
                                                      const Backend& host,
                                                      const PlacementTerms& terms,
                                                      std::vector<std::string>& notes) {
    const GraphData& graph = *asked.graph;
    const bool changes_bits = may_change_bits(terms.options);
    LEAT_ASSIGN_OR_RETURN(
        AnnotatedDivision annotated,
        annotated_division(graph, terms.history, asked.list.devices, changes_bits));
    notes = std::move(annotated.notes);
    if (annotated.division.splits.empty()) {
        return std::optional<AskedGraph>();
    }
    const GraphWork work = assumed_work(graph, terms.options);
    const DivisionQuestion question{graph, asked.answers, asked.pins, asked.assumed, work, {}, {},
                                    0,     changes_bits};
    LEAT_ASSIGN_OR_RETURN(AskedGraph divided, divide_graph(question, annotated.division,
                                                           with_host(asked.list, host), terms));
    divided.pins = divided.places;
    return std::optional<AskedGraph>(std::move(divided));
}

std::optional<DividedPlacement> divide_operators(const AskedGraph& asked,
                                                 const Placement& placement,
                                                 const Backend& host,
                                                 const PlacementTerms& terms) {
    constexpr double kLongest = 0.98;
    const PlacementForecast& forecast = placement.forecast;
    const DivisionQuestion question{
        *asked.graph,           asked.answers,        asked.pins,
        asked.assumed,          asked.work,           placement.device_of_node,
        placement.part_of_node, forecast.makespan_ns, may_change_bits(terms.options)};
    for (const OperatorDivision& division : propose_divisions(question)) {
        Result<DividedPlacement> divided =
            place_divided(question, division, with_host(asked.list, host), terms);
        if (!divided.ok()) {
            continue;
        }
        PlacementForecast& own = divided->placement.forecast;
        if (own.period_ns < kLongest * forecast.period_ns) {
            if (divided->asked.known.is_enough) {  // then they were not tried
                own.simple = forecast.simple;
            }
            return *std::move(divided);
        }
    }
    return std::nullopt;
}

}  // namespace leat
