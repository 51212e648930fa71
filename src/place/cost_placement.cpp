#include "place/cost_placement.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "partition/queue/queue_partition.h"
#include "partition/streaming/streaming_search.h"
#include "place/graph_problem.h"

namespace leat {
namespace {

// Where results come sooner than from what fits without it, or nothing else fits.
void take_streaming(StreamingChoice choice, bool has_other, QueuePartition& chosen) {
    if (choice.has_partition() && (!has_other || comes_sooner(choice.schedule, chosen.schedule))) {
        chosen.partition = std::move(choice.partition);
        chosen.schedule = std::move(choice.schedule);
        chosen.found_by = std::move(choice.found_by) + ", constants streamed";
    }
}

// Partitions and their schedules in terms of the graph, and back.
class ProblemReader {
  public:
    explicit ProblemReader(const GraphProblem& own) : own_(own) {}

    Status shortage_error(const MemoryShortage& shortage) const {
        std::string largest = "nothing";
        if (shortage.constant >= 0) {
            largest = fmt::format("constant '{}' of {} bytes",
                                  graph().value(own_.constants[size_t(shortage.constant)]).name,
                                  own_.problem.constant_bytes[size_t(shortage.constant)]);
        }
        for (const auto& [id, value] : own_.values) {
            if (value == shortage.value) {
                largest = fmt::format("value '{}' of {} bytes", graph().value(ValueId{id}).name,
                                      own_.problem.values[size_t(value)].bytes);
            }
        }
        const std::string requests = own_.problem.request_count > 1
                                         ? fmt::format("{} requests", own_.problem.request_count)
                                         : "one request";
        return out_of_memory(
                   "the graph does not fit the memory '{}': {} bytes are missing, and no other "
                   "device of the list takes enough of its nodes",
                   own_.assumed.domains[size_t(shortage.domain)].name, shortage.short_bytes())
            .with_file(graph().file)
            .with_found(fmt::format("at least {} bytes for {}; the largest is {}",
                                    shortage.needed_bytes, requests, largest))
            .with_needed(fmt::format("{} bytes", shortage.capacity_bytes))
            .with_hint(own_.problem.request_count > 1
                           ? "lower requests_in_flight and max_requests, or use smaller shapes"
                           : "name another device, or use smaller shapes");
    }

    // By node: the device, -1: the host; and the part there, kNoPart: none that is known.
    Partition partition_of(std::span<const int> device_of_node,
                           std::span<const int> part_of_node) const {
        Partition partition;
        partition.unit_of_task.assign(size_t(own_.problem.task_count), GraphProblem::kHostUnit);
        partition.part_of_task.assign(size_t(own_.problem.task_count), kNoPart);
        for (size_t n = 0; n < device_of_node.size(); ++n) {
            if (own_.task_of_node[n] >= 0 && device_of_node[n] >= 0) {
                const auto task = size_t(own_.task_of_node[n]);
                partition.unit_of_task[task] = own_.unit_of_device[size_t(device_of_node[n])];
                partition.part_of_task[task] = part_of_node[n];
                partition.part_count = std::max(partition.part_count, part_of_node[n] + 1);
            }
        }
        return partition;
    }

    KnownPartitions partitions_of(const KnownPlacement& known) const {
        KnownPartitions partitions{"undivided placement",
                                   {},
                                   std::vector<bool>(size_t(own_.problem.task_count)),
                                   known.is_enough};
        for (const std::vector<int>& devices : known.device_of_node) {
            partitions.partitions.push_back(partition_of(devices, known.part_of_node));
        }
        for (size_t n = 0; n < known.may_move.size(); ++n) {
            if (own_.task_of_node[n] >= 0) {
                partitions.may_move[size_t(own_.task_of_node[n])] = known.may_move[n];
            }
        }
        return partitions;
    }

    Placement placement_of(const QueuePartition& found) const {
        Placement placement = own_.question.listed;
        placement.part_of_node.assign(graph().nodes.size(), kNoPart);
        placement.order.domain_of_part.resize(size_t(found.partition.part_count));
        placement.order.rank_of_node.resize(graph().nodes.size(), -1);
        placement.order.host_ns_of_node.resize(graph().nodes.size());
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const int32_t task = own_.task_of_node[n];
            if (task < 0) {
                continue;
            }
            const int32_t unit = found.partition.unit_of_task[size_t(task)];
            const int device = own_.device_on(n, unit);
            placement.device_of_node[n] = device;
            const int32_t group = found.schedule.group_of_task[size_t(task)];
            placement.order.rank_of_node[n] = found.schedule.rank_of_group[size_t(group)];
            const int32_t part = found.partition.part_of_task[size_t(task)];
            if (unit == GraphProblem::kHostUnit) {
                placement.order.host_ns_of_node[n] = own_.costs.at(n, size_t(device));
            }
            placement.part_of_node[n] = part;
            if (part != kNoPart) {
                placement.order.domain_of_part[size_t(part)] =
                    own_.problem.units[size_t(unit)].domain;
            }
        }
        for (const auto& [id, value] : own_.values) {
            for (const QueueMove& move : found.schedule.moves) {
                if (move.value == value) {
                    placement.order.rank_of_move[{id, move.domain, move.is_to_device}] = move.rank;
                }
            }
        }
        add_streams(found, placement);
        placement.forecast = forecast_of(found);
        add_schedule(found, placement.forecast);
        return placement;
    }

  private:
    const GraphData& graph() const { return own_.graph(); }

    void add_streams(const QueuePartition& found, Placement& placement) const {
        std::vector<int32_t> nodes(size_t(own_.problem.task_count), -1);
        for (size_t n = 0; n < own_.task_of_node.size(); ++n) {
            if (own_.task_of_node[n] >= 0) {
                nodes[size_t(own_.task_of_node[n])] = int32_t(n);
            }
        }
        const auto node_of = [&](int32_t task) {
            return task == kNoTask ? -1 : nodes[size_t(task)];
        };
        const Partition& partition = found.partition;
        for (const StreamedConstant& stream : partition.streamed) {
            for (const ConstantUse& use : own_.problem.constant_uses) {
                const int32_t unit = partition.unit_of_task[size_t(use.task)];
                if (use.constant == stream.constant &&
                    own_.problem.units[size_t(unit)].domain == stream.domain) {
                    placement.streams.operands.push_back(
                        {node_of(use.task), own_.constants[size_t(stream.constant)].index,
                         node_of(stream.after_task)});
                }
            }
        }
        for (const auto& [before, after] : partition.part_orders) {
            placement.streams.node_orders.emplace_back(node_of(before), node_of(after));
        }
        for (const QueueMove& move : found.schedule.moves) {
            if (const ValueId id = streamed_by(partition, move); id.valid()) {
                placement.order.rank_of_move[{id.index, move.domain, true}] = move.rank;
            }
        }
    }

    // The constant that the move copies; not valid: it moves a value of the run.
    ValueId streamed_by(const Partition& partition, const QueueMove& move) const {
        const size_t values = own_.problem.values.size();
        const auto value = size_t(move.value);
        return value < values ? ValueId()
                              : own_.constants[size_t(partition.streamed[value - values].constant)];
    }

    PlacementForecast forecast_of(const QueuePartition& found) const {
        PlacementForecast forecast;
        forecast.is_by_cost = true;
        forecast.makespan_ns = found.schedule.makespan_ns;
        forecast.requests_in_flight = own_.question.requests_in_flight;
        forecast.period_ns = found.schedule.period_ns;
        forecast.found_by = found.found_by;
        forecast.simple = found.simple;
        const double all_ns = found.schedule.period_ns;
        for (size_t unit = 0; unit < own_.problem.units.size(); ++unit) {
            forecast.busy.push_back({own_.problem.units[unit].name,
                                     all_ns == 0 ? 0 : found.schedule.busy_ns[unit] / all_ns});
        }
        return forecast;
    }

    void add_schedule(const QueuePartition& found, PlacementForecast& forecast) const {
        std::vector<bool> is_added(found.schedule.time_of_group.size(), false);
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const int32_t task = own_.task_of_node[n];
            if (task < 0) {
                continue;
            }
            const auto group = size_t(found.schedule.group_of_task[size_t(task)]);
            if (is_added[group]) {
                continue;
            }
            is_added[group] = true;
            const int32_t unit = found.partition.unit_of_task[size_t(task)];
            const int32_t part = found.partition.part_of_task[size_t(task)];
            const QueueTime& time = found.schedule.time_of_group[group];
            forecast.schedule.push_back(
                {part == kNoPart ? graph().nodes[n].name : fmt::format("part {}", part),
                 own_.problem.units[size_t(unit)].name, false, time.begin_ns, time.end_ns});
        }
        std::map<int32_t, int32_t> ids;  // of the graph, by value of the problem
        for (const auto& [id, value] : own_.values) {
            ids[value] = id;
        }
        for (const QueueMove& move : found.schedule.moves) {
            const auto unit = std::find_if(
                own_.problem.units.begin(), own_.problem.units.end(),
                [&move](const PartitionUnit& own) { return own.domain == move.domain; });
            const ValueId streamed = streamed_by(found.partition, move);
            const ValueId id = streamed.valid() ? streamed : ValueId{ids.at(move.value)};
            forecast.schedule.push_back(
                {graph().value(id).name, unit->name, true, move.time.begin_ns, move.time.end_ns});
        }
        std::stable_sort(
            forecast.schedule.begin(), forecast.schedule.end(),
            [](const ForecastStep& a, const ForecastStep& b) { return a.begin_ns < b.begin_ns; });
    }

    const GraphProblem& own_;
};

}  // namespace

Result<Placement> place_by_cost(const PlacedByCost& question, const GraphWork& work) {
    const GraphProblem own = make_problem(question, work);
    const ProblemReader reader(own);
    const std::vector<int> listed =
        find_clusters(question.graph, question.listed.device_of_node, question.answers);
    const std::vector<ProposedPartition> proposals = {
        {"list order", reader.partition_of(question.listed.device_of_node, listed)}};
    LEAT_ASSIGN_OR_RETURN(StreamingChoice streaming,
                          stream_by_cost(own.problem, proposals, question.requests_in_flight));
    std::optional<KnownPartitions> known;
    if (question.known != nullptr && !question.known->device_of_node.empty()) {
        known = reader.partitions_of(*question.known);
    }
    LEAT_ASSIGN_OR_RETURN(QueuePartition found,
                          partition_by_queues(own.problem, proposals, question.requests_in_flight,
                                              known ? &*known : nullptr));
    const std::optional<MemoryShortage> shortage = found.shortage;
    if (shortage && !streaming.has_partition()) {
        const bool is_less =
            streaming.shortage && streaming.shortage->short_bytes() < shortage->short_bytes();
        return reader.shortage_error(is_less ? *streaming.shortage : *shortage);
    }
    const bool has_other = !shortage && !needs_streaming(own.problem, found.partition);
    take_streaming(std::move(streaming), has_other, found);
    return reader.placement_of(found);
}

Result<std::optional<Placement>> stream_as_listed(const PlacedByCost& question,
                                                  const GraphWork& work) {
    const GraphProblem own = make_problem(question, work);
    const ProblemReader reader(own);
    const Partition listed =
        reader.partition_of(question.listed.device_of_node, question.listed.part_of_node);
    LEAT_ASSIGN_OR_RETURN(
        StreamingChoice streaming,
        choose_streaming(own.problem, {{"list order", listed}}, question.requests_in_flight));
    if (!streaming.has_partition()) {
        return std::optional<Placement>();
    }
    QueuePartition found;
    take_streaming(std::move(streaming), false, found);
    return std::optional<Placement>(reader.placement_of(found));
}

}  // namespace leat
