#include "runtime/divided_placement.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "runtime/operator_division.h"

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

// An error where some device or memory does not take the divided graph.
Result<DividedPlacement> place_divided(const DivisionQuestion& question,
                                       const OperatorDivision& division,
                                       PlacedList list,
                                       const PlacementTerms& terms) {
    LEAT_ASSIGN_OR_RETURN(SplitGraph split, split_operators(question.graph, division.splits));
    DividedPlacement divided{
        std::make_unique<GraphData>(std::move(split.graph)), std::move(list), {}, {}, {}};
    LEAT_ASSIGN_OR_RETURN(divided.asked, ask_about(*divided.graph, divided.list.devices, terms));
    AskedGraph& asked = divided.asked;
    std::vector<AssumedDevice>& assumed = asked.assumed.devices;
    std::vector<std::vector<double>> derived =
        derived_times(question, division, split, assumed.size());
    for (size_t d = 0; d < assumed.size(); ++d) {
        assumed[d].derived_ns = std::move(derived[d]);
    }
    for (size_t n = 0; n < split.pieces.size(); ++n) {
        const SplitPiece& piece = split.pieces[n];
        if (piece.role == SplitPiece::Role::kShard) {
            asked.places[n] = division.device_of_shard[size_t(piece.split)][size_t(piece.shard)];
        }
    }
    asked.pieces = std::move(split.pieces);
    LEAT_ASSIGN_OR_RETURN(
        divided.chosen,
        choose_placement(terms.options, divided.list.fallback_device, asked, divided.placed));
    PlacementForecast& forecast = divided.chosen.forecast;
    forecast.divided = divided_operators(question.graph, division, divided.list.devices);
    forecast.undivided_ns = question.makespan_ns;
    return divided;
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

std::optional<DividedPlacement> divide_operators(const AskedGraph& asked,
                                                 const ChosenPlacement& chosen,
                                                 const PlacedList& list,
                                                 const Backend& host,
                                                 const PlacementTerms& terms) {
    constexpr double kLongest = 0.98;
    const DivisionQuestion question{
        *asked.graph,
        asked.answers,
        asked.pins,
        asked.assumed,
        chosen.work,
        chosen.placement.device_of_node,
        chosen.forecast.makespan_ns,
        terms.options.divide_operators == DivideOperators::kChangingBits};
    for (const OperatorDivision& division : propose_divisions(question)) {
        Result<DividedPlacement> divided =
            place_divided(question, division, with_host(list, host), terms);
        if (divided.ok() &&
            divided->chosen.forecast.period_ns < kLongest * chosen.forecast.period_ns) {
            return *std::move(divided);
        }
    }
    return std::nullopt;
}

}  // namespace leat
