#include "place/division/operator_division.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "partition/split/split_shares.h"

namespace leat {
namespace {

// Less is not worth a second placement of the whole graph.
constexpr double kLeastGain = 0.02;  // of the makespan
constexpr size_t kMostWorthy = 32;
constexpr double kNothingFollows = -1;
// A second placement from scratch of a larger graph, or a third one, would take too long.
constexpr size_t kMostDividedNodes = 500;

// How a value was divided by the split of its producer.
struct DividedValue {
    int axis = 0;
    std::vector<int64_t> extents;
    std::vector<int> devices;
};

// Where the shards' results go, and what follows them.
struct ShardResults {
    std::set<int> domains;
    double after_ns = 0;  // adding them up, and moving the sum
};

// A way to divide a node, and when it would end.
struct NodePlan {
    SplitAxis axis;
    std::vector<int64_t> extents;
    std::vector<int> devices;
    double end_ns = std::numeric_limits<double>::infinity();
};

class DivisionPlanner {
  public:
    explicit DivisionPlanner(const DivisionQuestion& question)
        : question_(question),
          uses_(question.graph.uses()),
          costs_(node_costs(question.work, question.assumed.devices)) {}

    // Node and gain of what is worth it, the largest gains first.
    std::vector<std::pair<double, size_t>> worthy_nodes() const {
        std::vector<std::pair<double, size_t>> worthy;
        const double least_ns = kLeastGain * question_.makespan_ns;
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const int device = question_.device_of_node[n];
            if (device < 0 || is_pinned(n) || costs_.at(n, size_t(device)) < least_ns) {
                continue;
            }
            if (const double gain_ns = gain_of(n); gain_ns >= least_ns && gain_ns > 0) {
                worthy.emplace_back(gain_ns, n);
            }
        }
        std::stable_sort(worthy.begin(), worthy.end(),
                         [](const auto& a, const auto& b) { return a.first > b.first; });
        worthy.resize(std::min(worthy.size(), kMostWorthy));
        return worthy;
    }

    OperatorDivision divide(const std::set<size_t>& worthy) {
        OperatorDivision division;
        divided_.clear();
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            std::optional<NodePlan> plan;
            if (worthy.count(n) != 0) {
                plan = best_plan(n);
            } else if (question_.device_of_node[n] >= 0 && !is_pinned(n)) {
                plan = following_plan(n);
            }
            if (!plan) {
                continue;
            }
            if (!plan->axis.is_summed()) {
                divided_[graph().nodes[n].outputs[0].index] = {plan->axis.result_axis,
                                                               plan->extents, plan->devices};
            }
            division.splits.push_back(
                {{int32_t(n)}, std::move(plan->axis), std::move(plan->extents)});
            division.device_of_shard.push_back(std::move(plan->devices));
        }
        return division;
    }

  private:
    const GraphData& graph() const { return question_.graph; }
    const AssumedDevice& device(int index) const {
        return question_.assumed.devices[size_t(index)];
    }
    bool is_pinned(size_t n) const {
        return !question_.pins.empty() && question_.pins[n] != kNotPinned;
    }
    bool can_run(size_t n, int device) const {
        return question_.answers[size_t(device)].nodes[n].refusal.empty();
    }
    double bytes(ValueId id) const {
        return double(bytes_of(question_.work.values[size_t(id.index)]));
    }

    // One for each lane: the devices, and of the hosts, which share one, the fastest.
    std::vector<int> lanes_for(size_t n) const {
        std::vector<int> lanes;
        int host = -1;
        for (int d = 0; d < int(question_.assumed.devices.size()); ++d) {
            if (!can_run(n, d)) {
                continue;
            }
            if (!device(d).is_host) {
                lanes.push_back(d);
            } else if (host < 0 || costs_.at(n, size_t(d)) < costs_.at(n, size_t(host))) {
                host = d;
            }
        }
        if (host >= 0) {
            lanes.push_back(host);
        }
        return lanes;
    }

    // kHostMemory where the value is not made in the run.
    int domain_of(NodeId node) const {
        const int own = node.valid() ? question_.device_of_node[size_t(node.index)] : -1;
        return own < 0 ? kHostMemory : device(own).domain;
    }
    bool is_moved(size_t n, size_t input, int to_device) const {
        const ValueId id = graph().nodes[n].inputs[input];
        const NodeAnswer& answer = question_.answers[size_t(to_device)].nodes[n];
        return id.valid() && !graph().value(id).constant &&
               !is_host_input(answer.host_inputs, input);
    }
    std::set<int> reading_domains(ValueId id) const {
        std::set<int> domains;
        for (const NodeId reader : uses_.readers[size_t(id.index)]) {
            domains.insert(domain_of(reader));
        }
        if (uses_.output_uses[size_t(id.index)] > 0) {
            domains.insert(kHostMemory);
        }
        return domains;
    }

    // Of operands that are divided alike already every device has its range.
    const DividedValue* divided_along(size_t n, size_t input, const SplitAxis& axis) const {
        const ValueId id = graph().nodes[n].inputs[input];
        const auto found = id.valid() ? divided_.find(id.index) : divided_.end();
        return found != divided_.end() && axis.input_axes[input] == found->second.axis
                   ? &found->second
                   : nullptr;
    }

    void add_move(double moved_bytes, int from, int to, bool is_divided, LaneTime& time) const {
        if (from == to) {
            return;
        }
        const LinkRates& rates = question_.assumed.link(from, to).rates;
        time.fixed_ns += rates.latency_ns;
        (is_divided ? time.whole_ns : time.fixed_ns) += 1e9 * moved_bytes / rates.bytes_per_s;
    }

    // Of one addition of two results of the node.
    double addition_ns(size_t n, int lane) const {
        const TensorArg& result = question_.work.values[size_t(graph().nodes[n].outputs[0].index)];
        const AssumedDevice& adder = device(lane);
        return DeviceEstimates(adder.rates, adder.measured.get())
            .of(nullptr, "Add", {double(result.shape.element_count()), 3 * bytes_of(result)})
            .ns;
    }

    // Ranges of a result go where it is read; summands to any one of the lanes, from where the sum
    // goes there.
    std::vector<ShardResults> ways_of_results(size_t n,
                                              const SplitAxis& axis,
                                              std::span<const int> lanes) const {
        const ValueId result = graph().nodes[n].outputs[0];
        const std::set<int> readers = reading_domains(result);
        if (!axis.is_summed()) {
            return {{readers, 0}};
        }
        std::vector<ShardResults> ways;
        for (const int lane : lanes) {
            LaneTime moving;
            for (const int target : readers) {
                add_move(bytes(result), device(lane).domain, target, false, moving);
            }
            const double adding_ns = double(lanes.size() - 1) * addition_ns(n, lane);
            ways.push_back(
                {{device(lane).domain}, device(lane).submit_ns + adding_ns + moving.fixed_ns});
        }
        return ways;
    }

    LaneTime lane_time(size_t n,
                       const SplitAxis& axis,
                       int lane,
                       bool inherits,
                       const std::set<int>& result_domains) const {
        const NodeData& node = graph().nodes[n];
        const int domain = device(lane).domain;
        LaneTime time{device(lane).submit_ns, costs_.at(n, size_t(lane))};
        std::set<int32_t> seen;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            if (!is_moved(n, i, lane) || !seen.insert(id.index).second ||
                (inherits && divided_along(n, i, axis) != nullptr)) {
                continue;
            }
            add_move(bytes(id), domain_of(graph().value(id).producer), domain,
                     axis.input_axes[i] >= 0, time);
        }
        for (const int target : result_domains) {
            add_move(bytes(node.outputs[0]), domain, target, !axis.is_summed(), time);
        }
        return time;
    }

    std::vector<LaneTime> lane_times(size_t n,
                                     const SplitAxis& axis,
                                     std::span<const int> lanes,
                                     bool inherits,
                                     const ShardResults& results) const {
        std::vector<LaneTime> times;
        times.reserve(lanes.size());
        for (const int lane : lanes) {
            times.push_back(lane_time(n, axis, lane, inherits, results.domains));
        }
        return times;
    }

    // The ranges that let all lanes end together.
    NodePlan balanced_plan(size_t n, const SplitAxis& axis) const {
        const std::vector<int> lanes = lanes_for(n);
        NodePlan best{axis, {}, {}};
        for (const ShardResults& results : ways_of_results(n, axis, lanes)) {
            const std::vector<LaneTime> times = lane_times(n, axis, lanes, false, results);
            const std::vector<int64_t> extents =
                split_extents(balance_shares(times).shares, axis.extent);
            NodePlan plan{axis, {}, {}, end_of_extents(times, extents) + results.after_ns};
            for (size_t i = 0; i < lanes.size(); ++i) {
                if (extents[i] > 0) {
                    plan.devices.push_back(lanes[i]);
                    plan.extents.push_back(extents[i]);
                }
            }
            if (plan.end_ns < best.end_ns) {
                best = std::move(plan);
            }
        }
        return best;
    }

    // The ranges that some operand has.
    NodePlan inherited_plan(size_t n, const SplitAxis& axis) const {
        NodePlan plan{axis, {}, {}};
        for (size_t i = 0; i < axis.input_axes.size(); ++i) {
            const DividedValue* operand = divided_along(n, i, axis);
            if (operand == nullptr ||
                !std::all_of(operand->devices.begin(), operand->devices.end(),
                             [&](int device) { return can_run(n, device); })) {
                continue;
            }
            plan.extents = operand->extents;
            plan.devices = operand->devices;
            for (const ShardResults& results : ways_of_results(n, axis, plan.devices)) {
                const std::vector<LaneTime> times =
                    lane_times(n, axis, plan.devices, true, results);
                plan.end_ns =
                    std::min(plan.end_ns, end_of_extents(times, plan.extents) + results.after_ns);
            }
            break;
        }
        return plan;
    }

    // As far as the program allows.
    std::vector<SplitAxis> axes_of(size_t n) const {
        std::vector<SplitAxis> axes = split_axes(graph(), graph().nodes[n]);
        std::erase_if(axes, [this](const SplitAxis& axis) {
            return axis.changes_bits && !question_.may_change_bits;
        });
        return axes;
    }

    // Nullopt: it stays whole.
    std::optional<NodePlan> best_plan(size_t n) const {
        std::optional<NodePlan> best;
        for (const SplitAxis& axis : axes_of(n)) {
            for (NodePlan plan : {inherited_plan(n, axis), balanced_plan(n, axis)}) {
                if (plan.devices.size() > 1 && (!best || plan.end_ns < best->end_ns)) {
                    best = std::move(plan);
                }
            }
        }
        return best;
    }

    double gain_of(size_t n) const {
        const std::optional<NodePlan> plan = best_plan(n);
        if (!plan) {
            return 0;
        }
        const std::set<int> readers = reading_domains(graph().nodes[n].outputs[0]);
        double whole_ns = std::numeric_limits<double>::infinity();
        for (const int lane : lanes_for(n)) {
            const LaneTime time = lane_time(n, plan->axis, lane, false, readers);
            whole_ns = std::min(whole_ns, time.fixed_ns + time.whole_ns);
        }
        return whole_ns - plan->end_ns;
    }

    // Where all operands are there in the same ranges, or are constants, and the result is not
    // larger than they are.
    std::optional<NodePlan> following_plan(size_t n) const {
        const NodeData& node = graph().nodes[n];
        const bool is_behind =
            std::any_of(node.inputs.begin(), node.inputs.end(),
                        [this](ValueId id) { return id.valid() && divided_.count(id.index) != 0; });
        if (!is_behind) {
            return std::nullopt;
        }
        for (const SplitAxis& axis : split_axes(graph(), node)) {
            NodePlan plan = axis.is_summed() ? NodePlan() : inherited_plan(n, axis);
            if (plan.devices.size() > 1 && follows(n, plan)) {
                return plan;
            }
        }
        return std::nullopt;
    }
    bool follows(size_t n, const NodePlan& plan) const {
        const NodeData& node = graph().nodes[n];
        double divided_bytes = 0;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            const DividedValue* operand = divided_along(n, i, plan.axis);
            const bool is_there = operand != nullptr && operand->extents == plan.extents &&
                                  operand->devices == plan.devices;
            if (id.valid() && !graph().value(id).constant && !is_there) {
                return false;
            }
            divided_bytes += is_there ? bytes(id) : 0;
        }
        return bytes(node.outputs[0]) <= divided_bytes;
    }

    const DivisionQuestion& question_;
    const GraphData::Uses uses_;
    const NodeCosts costs_;
    std::map<int32_t, DividedValue> divided_;  // by value
};

// Pairs of nodes, one of which reads what the other one makes.
std::vector<std::pair<size_t, size_t>> neighbours_in(const GraphData& graph) {
    std::vector<std::pair<size_t, size_t>> neighbours;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        for (const ValueId input : graph.nodes[n].inputs) {
            const NodeId maker = input.valid() ? graph.value(input).producer : NodeId();
            if (maker.valid()) {
                neighbours.emplace_back(size_t(maker.index), n);
            }
        }
    }
    return neighbours;
}

// By node: one of the pieces, or so few values away from one.
std::vector<bool> near_pieces(const SplitGraph& split) {
    constexpr int kNear = 2;
    const std::vector<std::pair<size_t, size_t>> neighbours = neighbours_in(split.graph);
    std::vector<bool> are_near;
    for (const SplitPiece& piece : split.pieces) {
        are_near.push_back(piece.role != SplitPiece::Role::kNone);
    }
    for (int step = 0; step < kNear; ++step) {
        std::vector<bool> next = are_near;
        for (const auto& [maker, reader] : neighbours) {
            if (are_near[maker] || are_near[reader]) {
                next[maker] = next[reader] = true;
            }
        }
        are_near = std::move(next);
    }
    return are_near;
}

// Slices where their operand is made, and joins and sums where the first that reads them is.
std::vector<int> with_pieces_near(const SplitGraph& split, std::vector<int> devices) {
    const GraphData::Uses uses = split.graph.uses();
    for (size_t n = 0; n < split.pieces.size(); ++n) {
        const SplitPiece::Role role = split.pieces[n].role;
        const NodeData& node = split.graph.nodes[n];
        if (role == SplitPiece::Role::kSlice) {
            const NodeId maker = split.graph.value(node.inputs[0]).producer;
            devices[n] = maker.valid() ? devices[size_t(maker.index)] : -1;
        } else if (role == SplitPiece::Role::kConcat || role == SplitPiece::Role::kSum) {
            const InlineVector<NodeId, 2>& readers = uses.readers[size_t(node.outputs[0].index)];
            devices[n] = readers.empty() ? -1 : devices[size_t(readers[0].index)];
        }
    }
    return devices;
}

}  // namespace

std::vector<OperatorDivision> propose_divisions(const DivisionQuestion& question) {
    DivisionPlanner planner(question);
    const std::vector<std::pair<double, size_t>> worthy = planner.worthy_nodes();
    std::vector<OperatorDivision> divisions;
    if (worthy.empty()) {
        return divisions;
    }
    std::set<size_t> nodes;
    for (const auto& [gain_ns, node] : worthy) {
        nodes.insert(node);
    }
    divisions.push_back(planner.divide(nodes));
    if (nodes.size() > 1 && question.graph.nodes.size() <= kMostDividedNodes) {
        divisions.push_back(planner.divide({worthy.front().second}));
    }
    return divisions;
}

KnownPlacement placement_before(const DivisionQuestion& question,
                                const OperatorDivision& division,
                                const SplitGraph& split) {
    KnownPlacement known;
    if (question.device_of_node.empty()) {
        return known;
    }
    std::map<std::string_view, size_t> node_of;
    for (size_t n = 0; n < question.graph.nodes.size(); ++n) {
        node_of.emplace(question.graph.nodes[n].name, n);
    }
    std::vector<int> devices;
    for (size_t n = 0; n < split.pieces.size(); ++n) {
        const SplitPiece& piece = split.pieces[n];
        const auto whole = node_of.find(split.graph.nodes[n].name);
        const bool is_kept = piece.role == SplitPiece::Role::kNone && whole != node_of.end();
        known.part_of_node.push_back(is_kept ? question.part_of_node[whole->second] : kNoPart);
        devices.push_back(is_kept ? question.device_of_node[whole->second]
                          : piece.role == SplitPiece::Role::kShard
                              ? division.device_of_shard[size_t(piece.split)][size_t(piece.shard)]
                              : -1);
    }
    known.device_of_node.push_back(devices);
    known.device_of_node.push_back(with_pieces_near(split, std::move(devices)));
    known.may_move = near_pieces(split);
    known.is_enough = question.graph.nodes.size() > kMostDividedNodes;
    return known;
}

std::vector<std::vector<double>> derived_times(const DivisionQuestion& question,
                                               const OperatorDivision& division,
                                               const SplitGraph& split,
                                               size_t devices) {
    const std::vector<AssumedDevice>& asked = question.assumed.devices;
    const std::vector<NodeEstimate> whole = node_estimates(question.work, asked);
    std::vector<std::vector<double>> derived(
        devices, std::vector<double>(split.pieces.size(), kNothingFollows));
    for (size_t n = 0; n < split.pieces.size(); ++n) {
        const SplitPiece& piece = split.pieces[n];
        for (size_t d = 0; d < devices; ++d) {
            if (piece.is_contiguous && (d >= asked.size() || asked[d].is_host)) {
                derived[d][n] = 0;
            }
        }
        if (piece.role != SplitPiece::Role::kShard) {
            continue;
        }
        const NodeSplit& own = division.splits[size_t(piece.split)];
        const double share = double(own.extents[size_t(piece.shard)]) / double(own.axis.extent);
        for (size_t d = 0; d < asked.size(); ++d) {
            const NodeEstimate& estimate = whole[size_t(own.node.index) * asked.size() + d];
            if (estimate.source == CostSource::kMeasured) {
                derived[d][n] = estimate.ns * share;
            }
        }
    }
    return derived;
}

}  // namespace leat
