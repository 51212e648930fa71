#include "runtime/cost_placement.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"
#include "graph/inference.h"
#include "partition/queue_partition.h"
#include "partition/streaming_search.h"
#include "runtime/dim_bounds.h"
#include "runtime/value_views.h"

namespace leat {
namespace {

constexpr int32_t kHostUnit = 0;
constexpr int32_t kStart = 0;  // the task that has the graph's inputs; the last one takes outputs

// Where results come sooner than from what fits without it, or nothing else fits.
Status take_streaming(const PartitionProblem& problem,
                      StreamingChoice choice,
                      int32_t requests_in_flight,
                      bool has_other,
                      QueuePartition& chosen) {
    if (!choice.has_partition()) {
        return {};
    }
    if (requests_in_flight > 1) {
        LEAT_ASSIGN_OR_RETURN(
            choice.schedule,
            schedule_queues(problem, choice.partition, QueueSearch::kPolish, requests_in_flight));
    }
    if (!has_other || comes_sooner(choice.schedule, chosen.schedule)) {
        chosen.partition = std::move(choice.partition);
        chosen.schedule = std::move(choice.schedule);
        chosen.found_by = std::move(choice.found_by) + ", constants streamed";
    }
    return {};
}

class ProblemBuilder {
  public:
    ProblemBuilder(const PlacedByCost& question,
                   const AssumedDevices& assumed,
                   const GraphWork& work)
        : question_(question),
          assumed_(assumed),
          work_(work),
          costs_(node_costs(work, assumed.devices)) {}

    void build() {
        add_units();
        add_tasks();
        add_links();
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            if (task_of_node_[n] >= 0) {
                add_inputs(n);
            }
        }
        add_memory();
        const int32_t end = problem_.task_count - 1;
        for (const ValueId output : graph().outputs) {
            if (const int32_t value = value_of(output); value >= 0) {
                problem_.uses.push_back({value, end});
            }
        }
        add_host_bytes();
        add_outside_arena();
    }

    const PartitionProblem& problem() const { return problem_; }

    Status shortage_error(const MemoryShortage& shortage) const {
        std::string largest = "nothing";
        if (shortage.constant >= 0) {
            largest = fmt::format("constant '{}' of {} bytes",
                                  graph().value(constants_[size_t(shortage.constant)]).name,
                                  problem_.constant_bytes[size_t(shortage.constant)]);
        }
        for (const auto& [id, value] : values_) {
            if (value == shortage.value) {
                largest = fmt::format("value '{}' of {} bytes", graph().value(ValueId{id}).name,
                                      problem_.values[size_t(value)].bytes);
            }
        }
        return out_of_memory(
                   "the graph does not fit the memory '{}': {} bytes are missing, and no other "
                   "device of the list takes enough of its nodes",
                   assumed_.domains[size_t(shortage.domain)].name, shortage.short_bytes())
            .with_file(graph().file)
            .with_found(
                fmt::format("at least {} bytes; the largest is {}", shortage.needed_bytes, largest))
            .with_needed(fmt::format("{} bytes", shortage.capacity_bytes));
    }

    Partition partition_of(std::span<const int> device_of_node,
                           std::span<const Cluster> clusters) const {
        Partition partition;
        partition.unit_of_task.assign(size_t(problem_.task_count), kHostUnit);
        partition.part_of_task.assign(size_t(problem_.task_count), kNoPart);
        partition.part_count = int32_t(clusters.size());
        for (size_t n = 0; n < device_of_node.size(); ++n) {
            if (device_of_node[n] >= 0) {
                partition.unit_of_task[size_t(task_of_node_[n])] =
                    unit_of_device_[size_t(device_of_node[n])];
            }
        }
        for (size_t i = 0; i < clusters.size(); ++i) {
            for (const NodeId id : clusters[i].nodes) {
                partition.part_of_task[size_t(task_of_node_[size_t(id.index)])] = int32_t(i);
            }
        }
        return partition;
    }

    CostPlacement placement_of(const QueuePartition& found) const {
        CostPlacement placement;
        placement.device_of_node = question_.listed.device_of_node;
        placement.clusters.resize(size_t(found.partition.part_count));
        placement.order.domain_of_part.resize(placement.clusters.size());
        placement.order.rank_of_node.resize(graph().nodes.size(), -1);
        placement.order.host_ns_of_node.resize(graph().nodes.size());
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const int32_t task = task_of_node_[n];
            if (task < 0) {
                continue;
            }
            const int32_t unit = found.partition.unit_of_task[size_t(task)];
            const int device = device_on(n, unit);
            placement.device_of_node[n] = device;
            const int32_t group = found.schedule.group_of_task[size_t(task)];
            placement.order.rank_of_node[n] = found.schedule.rank_of_group[size_t(group)];
            const int32_t part = found.partition.part_of_task[size_t(task)];
            if (unit == kHostUnit) {
                placement.order.host_ns_of_node[n] = costs_.at(n, size_t(device));
            }
            if (part != kNoPart) {
                placement.order.domain_of_part[size_t(part)] = problem_.units[size_t(unit)].domain;
                placement.clusters[size_t(part)].device = device;
                placement.clusters[size_t(part)].nodes.push_back({int32_t(n)});
            }
        }
        for (const auto& [id, value] : values_) {
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
    const GraphData& graph() const { return question_.graph; }

    bool can_run(size_t node, size_t device) const {
        const int pin = question_.pins.empty() ? kNotPinned : question_.pins[node];
        return (pin == kNotPinned || pin == int(device)) &&
               question_.answers[device].nodes[node].refusal.empty();
    }

    void add_streams(const QueuePartition& found, CostPlacement& placement) const {
        std::vector<int32_t> nodes(size_t(problem_.task_count), -1);
        for (size_t n = 0; n < task_of_node_.size(); ++n) {
            if (task_of_node_[n] >= 0) {
                nodes[size_t(task_of_node_[n])] = int32_t(n);
            }
        }
        const auto node_of = [&](int32_t task) {
            return task == kNoTask ? -1 : nodes[size_t(task)];
        };
        const Partition& partition = found.partition;
        for (const StreamedConstant& stream : partition.streamed) {
            for (const ConstantUse& use : problem_.constant_uses) {
                const int32_t unit = partition.unit_of_task[size_t(use.task)];
                if (use.constant == stream.constant &&
                    problem_.units[size_t(unit)].domain == stream.domain) {
                    placement.streams.operands.push_back({node_of(use.task),
                                                          constants_[size_t(stream.constant)].index,
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
        const size_t values = problem_.values.size();
        const auto value = size_t(move.value);
        return value < values ? ValueId()
                              : constants_[size_t(partition.streamed[value - values].constant)];
    }

    // The fastest of the unit's devices that takes the node, the first of equals; -1: none does.
    int device_on(size_t node, int32_t unit) const {
        int fastest = -1;
        for (size_t d = 0; d < unit_of_device_.size(); ++d) {
            if (unit_of_device_[d] == unit && can_run(node, d) &&
                (fastest < 0 || costs_.at(node, d) < costs_.at(node, size_t(fastest)))) {
                fastest = int(d);
            }
        }
        return fastest;
    }

    void add_units() {
        problem_.domain_count = int32_t(assumed_.domains.size());
        problem_.units.push_back({"the host", kHostMemory, 1, false, 0});
        for (const AssumedDevice& device : assumed_.devices) {
            unit_of_device_.push_back(device.is_host ? kHostUnit : int32_t(problem_.units.size()));
            if (!device.is_host) {
                problem_.units.push_back({device.label, device.domain, 1, true, device.submit_ns});
            }
        }
    }

    // A task that can only be on the host and takes no time.
    void add_end() {
        ++problem_.task_count;
        problem_.cost_ns.push_back(0);
        problem_.cost_ns.insert(problem_.cost_ns.end(), problem_.units.size() - 1,
                                PartitionProblem::kCannotRun);
    }

    void add_tasks() {
        add_end();
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const bool runs = question_.listed.device_of_node[n] >= 0;
            task_of_node_.push_back(runs ? problem_.task_count++ : -1);
            for (int32_t unit = 0; runs && unit < int32_t(problem_.units.size()); ++unit) {
                const int device = device_on(n, unit);
                problem_.cost_ns.push_back(device < 0 ? PartitionProblem::kCannotRun
                                                      : costs_.at(n, size_t(device)));
            }
        }
        add_end();
    }

    static bool are_equal(const LinkRates& a, const LinkRates& b) {
        return a.latency_ns == b.latency_ns && a.bytes_per_s == b.bytes_per_s;
    }

    void add_links() {
        const auto count = int32_t(assumed_.domains.size());
        for (int from = 0; from < count; ++from) {
            for (int to = 0; to < count; ++to) {
                const LinkRates& rates = assumed_.link(from, to).rates;
                problem_.link_between.push_back(from == to ? scheduler::PlacementProblem::kNoLink
                                                           : int32_t(problem_.links.size()));
                if (from == to) {
                    continue;
                }
                const auto back = size_t(to) * size_t(count) + size_t(from);
                if (to == kHostMemory && are_equal(rates, assumed_.link(to, from).rates)) {
                    // A device's queue for copies serves both directions.
                    problem_.link_between.back() = problem_.link_between[back];
                } else {
                    problem_.links.push_back({rates.latency_ns, rates.bytes_per_s, true});
                }
            }
        }
    }

    // Made when it is first used; -1: a constant, or known at planning, which each domain has
    // before the run.
    int32_t value_of(ValueId id) {
        const NodeId maker = graph().value(id).producer;
        if (graph().value(id).constant ||
            (maker.valid() && task_of_node_[size_t(maker.index)] < 0)) {
            return -1;
        }
        const auto [at, is_new] = values_.try_emplace(id.index, int32_t(problem_.values.size()));
        if (is_new) {
            const NodeId producer = graph().value(id).producer;
            const int32_t task = producer.valid() ? task_of_node_[size_t(producer.index)] : -1;
            problem_.values.push_back(
                {std::max(task, kStart), bytes_of(work_.values[size_t(id.index)])});
        }
        return at->second;
    }

    // But for operands that every device which may run the node reads on the host.
    void add_inputs(size_t n) {
        const NodeData& node = graph().nodes[n];
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            if (!node.inputs[i].valid() || is_read_before_run(n, i)) {
                continue;
            }
            if (const int32_t value = value_of(node.inputs[i]); value >= 0) {
                problem_.uses.push_back({value, task_of_node_[n]});
            }
        }
    }

    bool is_read_before_run(size_t n, size_t input) const {
        bool is_read = true;
        for (size_t d = 0; d < question_.answers.size(); ++d) {
            is_read = is_read && (!can_run(n, d) || question_.answers[d].is_host ||
                                  is_host_input(question_.answers[d].nodes[n].host_inputs, input));
        }
        const NodeId producer = graph().value(graph().nodes[n].inputs[input]).producer;
        return is_read && (!producer.valid() || task_of_node_[size_t(producer.index)] < 0);
    }

    // What the host's planner makes views of, and what the caller may give memory for, counts for
    // nothing there.
    void add_host_bytes() {
        problem_.host_bytes.resize(problem_.values.size());
        for (const auto& [id, value] : values_) {
            const NodeId producer = graph().value(ValueId{id}).producer;
            const OpDef* def = producer.valid() ? graph().node(producer).def : nullptr;
            const bool is_output = std::find(graph().outputs.begin(), graph().outputs.end(),
                                             ValueId{id}) != graph().outputs.end();
            const bool counts = def != nullptr && !def->is_view && !is_output;
            problem_.host_bytes[size_t(value)] = counts ? problem_.values[size_t(value)].bytes : 0;
        }
    }

    // Inputs of the graph, and what the host may have for views of them.
    void add_outside_arena() {
        problem_.arena_copy_bytes_per_s = kHostCopy.bytes_per_s;
        const auto is_in_arena = [](const AssumedDevice& device) { return device.is_in_arena(); };
        if (std::none_of(assumed_.devices.begin(), assumed_.devices.end(), is_in_arena)) {
            return;
        }
        for (const ValueId id : graph().inputs) {
            if (const auto value = values_.find(id.index); value != values_.end()) {
                problem_.callers_values.push_back(value->second);
            }
        }
        for (const NodeData& node : graph().nodes) {
            if (lies_over_operands(graph(), node, work_.values)) {
                add_overlays(node);
            }
        }
        std::sort(problem_.overlays.begin(), problem_.overlays.end(),
                  [](const ValueOverlay& a, const ValueOverlay& b) { return a.value < b.value; });
    }

    bool is_graph_input(ValueId id) const {
        const std::vector<ValueId>& inputs = graph().inputs;
        return std::find(inputs.begin(), inputs.end(), id) != inputs.end();
    }

    void add_overlays(const NodeData& node) {
        for (const ValueId output : node.outputs) {
            const auto value = values_.find(output.index);
            for (const ValueId input : node.inputs) {
                const auto below = values_.find(input.index);
                if (value != values_.end() && (is_graph_input(input) || below != values_.end())) {
                    problem_.overlays.push_back(
                        {value->second, below == values_.end() ? -1 : below->second});
                }
            }
        }
    }

    void add_memory() {
        for (const AssumedDomain& domain : assumed_.domains) {
            problem_.capacity_bytes.push_back(domain.capacity_bytes);
        }
        problem_.capacity_bytes[kHostMemory] = question_.host_capacity_bytes;
        std::map<int32_t, int32_t> constants;
        std::vector<bool> may_stream;
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const NodeData& node = graph().nodes[n];
            for (size_t i = 0; task_of_node_[n] >= 0 && i < node.inputs.size(); ++i) {
                const ValueId id = node.inputs[i];
                if (!id.valid() || !graph().value(id).constant || is_read_before_run(n, i)) {
                    continue;
                }
                const auto [at, is_new] =
                    constants.try_emplace(id.index, int32_t(constants_.size()));
                if (is_new) {
                    constants_.push_back(id);
                    problem_.constant_bytes.push_back(bytes_of(work_.values[size_t(id.index)]));
                }
                problem_.constant_uses.push_back({at->second, task_of_node_[n]});
                may_stream.resize(constants_.size() * assumed_.domains.size(), true);
                refuse_streams(n, i, size_t(at->second), may_stream);
            }
        }
        problem_.may_stream = std::move(may_stream);
        problem_.request_count = question_.request_count;
    }

    // Where some device in the domain that may run the node does not take input i as a value.
    void refuse_streams(size_t n, size_t i, size_t constant, std::vector<bool>& may_stream) const {
        for (size_t d = 0; d < assumed_.devices.size(); ++d) {
            const bool takes_it =
                i < 32 && (question_.answers[d].nodes[n].streamable_inputs >> i & 1U) != 0;
            if (can_run(n, d) && !takes_it) {
                const auto domain = size_t(assumed_.devices[d].domain);
                may_stream[constant * assumed_.domains.size() + domain] = false;
            }
        }
    }

    PlacementForecast forecast_of(const QueuePartition& found) const {
        PlacementForecast forecast;
        forecast.is_by_cost = true;
        forecast.makespan_ns = found.schedule.makespan_ns;
        forecast.requests_in_flight = question_.requests_in_flight;
        forecast.period_ns = found.schedule.period_ns;
        forecast.found_by = found.found_by;
        forecast.simple = found.simple;
        const double all_ns = found.schedule.period_ns;
        for (size_t unit = 0; unit < problem_.units.size(); ++unit) {
            forecast.busy.push_back({problem_.units[unit].name,
                                     all_ns == 0 ? 0 : found.schedule.busy_ns[unit] / all_ns});
        }
        return forecast;
    }

    void add_schedule(const QueuePartition& found, PlacementForecast& forecast) const {
        std::vector<bool> is_added(found.schedule.time_of_group.size(), false);
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const int32_t task = task_of_node_[n];
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
                 problem_.units[size_t(unit)].name, false, time.begin_ns, time.end_ns});
        }
        std::map<int32_t, int32_t> ids;  // of the graph, by value of the problem
        for (const auto& [id, value] : values_) {
            ids[value] = id;
        }
        for (const QueueMove& move : found.schedule.moves) {
            const auto unit = std::find_if(
                problem_.units.begin(), problem_.units.end(),
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

    const PlacedByCost& question_;
    const AssumedDevices& assumed_;
    const GraphWork& work_;
    const NodeCosts costs_;
    PartitionProblem problem_;
    std::vector<int32_t> unit_of_device_;
    std::vector<int32_t> task_of_node_;  // -1: it is no task
    std::map<int32_t, int32_t> values_;  // of the problem, by value of the graph
    std::vector<ValueId> constants_;     // of the graph, by constant of the problem
};

std::optional<std::vector<DimSpec>> fixed_dims(const TypeInfo& type,
                                               const CompileOptions& options,
                                               bool& has_assumed) {
    if (!type.dims) {
        return std::nullopt;
    }
    std::vector<DimSpec> dims = *type.dims;
    for (DimSpec& dim : dims) {
        if (!dim.is_fixed()) {
            const std::optional<int64_t> extent = assumed_extent(options, dim.name());
            has_assumed = has_assumed || !extent;
            dim = DimSpec(extent.value_or(1));
        }
    }
    return dims;
}

}  // namespace

Result<CostPlacement> place_by_cost(const PlacedByCost& question,
                                    const AssumedDevices& assumed,
                                    const GraphWork& work) {
    ProblemBuilder builder(question, assumed, work);
    builder.build();
    const std::vector<Cluster> listed =
        find_clusters(question.graph, question.listed.device_of_node, question.answers);
    const std::vector<ProposedPartition> proposals = {
        {"list order", builder.partition_of(question.listed.device_of_node, listed)}};
    LEAT_ASSIGN_OR_RETURN(StreamingChoice streaming, stream_by_cost(builder.problem(), proposals));
    LEAT_ASSIGN_OR_RETURN(QueuePartition found, partition_by_queues(builder.problem(), proposals,
                                                                    question.requests_in_flight));
    const std::optional<MemoryShortage> shortage = found.shortage;
    if (shortage && !streaming.has_partition()) {
        const bool is_less =
            streaming.shortage && streaming.shortage->short_bytes() < shortage->short_bytes();
        return builder.shortage_error(is_less ? *streaming.shortage : *shortage);
    }
    const bool has_other = !shortage && !needs_streaming(builder.problem(), found.partition);
    LEAT_RETURN_IF_ERROR(take_streaming(builder.problem(), std::move(streaming),
                                        question.requests_in_flight, has_other, found));
    return builder.placement_of(found);
}

Result<std::optional<CostPlacement>> stream_as_listed(const PlacedByCost& question,
                                                      const AssumedDevices& assumed,
                                                      const GraphWork& work,
                                                      std::span<const Cluster> clusters) {
    ProblemBuilder builder(question, assumed, work);
    builder.build();
    const Partition listed = builder.partition_of(question.listed.device_of_node, clusters);
    LEAT_ASSIGN_OR_RETURN(StreamingChoice streaming,
                          choose_streaming(builder.problem(), {{"list order", listed}}));
    if (!streaming.has_partition()) {
        return std::optional<CostPlacement>();
    }
    QueuePartition found;
    LEAT_RETURN_IF_ERROR(take_streaming(builder.problem(), std::move(streaming),
                                        question.requests_in_flight, false, found));
    return std::optional<CostPlacement>(builder.placement_of(found));
}

AssumedShapes assume_shapes(const GraphData& graph, const CompileOptions& options) {
    AssumedShapes shapes;
    std::vector<ValueFact> inputs;
    for (const ValueId id : graph.inputs) {
        const ValueData& value = graph.value(id);
        ValueFact& fact = inputs.emplace_back();
        fact.type = value.type;
        const auto given = options.shapes.find(value.name);
        if (value.type.is_tensor()) {
            fact.type =
                given != options.shapes.end()
                    ? TypeInfo::tensor(value.type.dtype, given->second)
                    : TypeInfo::tensor(value.type.dtype,
                                       fixed_dims(value.type, options, shapes.has_assumed_extents));
        }
    }
    Result<std::vector<ValueFact>> facts = infer_graph(graph, inputs, {});
    if (facts.ok()) {
        shapes.facts.reserve(facts->size());
        for (ValueFact& fact : *facts) {
            shapes.facts.push_back(std::make_shared<const ValueFact>(std::move(fact)));
        }
    }
    return shapes;
}

}  // namespace leat
