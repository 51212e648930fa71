#include "place/graph_problem.h"

#include <algorithm>
#include <utility>

#include "plan/value_views.h"

namespace leat {
namespace {

constexpr int32_t kStart = 0;  // the task that has the graph's inputs; the last one takes outputs

class ProblemBuilder {
  public:
    ProblemBuilder(const PlacedByCost& question, const GraphWork& work)
        : made_{question, question.listed.assumed,
                work,     node_costs(work, question.listed.assumed.devices),
                {},       {},
                {},       {},
                {}} {}

    GraphProblem build() {
        add_units();
        add_tasks();
        add_links();
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            if (made_.task_of_node[n] >= 0) {
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
        return std::move(made_);
    }

  private:
    const GraphData& graph() const { return made_.graph(); }

    void add_units() {
        problem_.domain_count = int32_t(made_.assumed.domains.size());
        problem_.units.push_back({"the host", kHostMemory, 1, false, 0});
        for (const AssumedDevice& device : made_.assumed.devices) {
            made_.unit_of_device.push_back(device.is_host ? GraphProblem::kHostUnit
                                                          : int32_t(problem_.units.size()));
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
            const bool runs = made_.question.listed.device_of_node[n] >= 0;
            made_.task_of_node.push_back(runs ? problem_.task_count++ : -1);
            for (int32_t unit = 0; runs && unit < int32_t(problem_.units.size()); ++unit) {
                const int device = made_.device_on(n, unit);
                problem_.cost_ns.push_back(device < 0 ? PartitionProblem::kCannotRun
                                                      : made_.costs.at(n, size_t(device)));
            }
        }
        add_end();
    }

    static bool are_equal(const LinkRates& a, const LinkRates& b) {
        return a.latency_ns == b.latency_ns && a.bytes_per_s == b.bytes_per_s;
    }

    void add_links() {
        const auto count = int32_t(made_.assumed.domains.size());
        for (int from = 0; from < count; ++from) {
            for (int to = 0; to < count; ++to) {
                const LinkRates& rates = made_.assumed.link(from, to).rates;
                problem_.link_between.push_back(from == to ? scheduler::PlacementProblem::kNoLink
                                                           : int32_t(problem_.links.size()));
                if (from == to) {
                    continue;
                }
                const auto back = size_t(to) * size_t(count) + size_t(from);
                if (to == kHostMemory && are_equal(rates, made_.assumed.link(to, from).rates)) {
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
            (maker.valid() && made_.task_of_node[size_t(maker.index)] < 0)) {
            return -1;
        }
        const auto [at, is_new] =
            made_.values.try_emplace(id.index, int32_t(problem_.values.size()));
        if (is_new) {
            const NodeId producer = graph().value(id).producer;
            const int32_t task = producer.valid() ? made_.task_of_node[size_t(producer.index)] : -1;
            problem_.values.push_back(
                {std::max(task, kStart), bytes_of(made_.work.values[size_t(id.index)])});
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
                problem_.uses.push_back({value, made_.task_of_node[n]});
            }
        }
    }

    bool is_read_before_run(size_t n, size_t input) const {
        bool is_read = true;
        for (size_t d = 0; d < made_.question.answers.size(); ++d) {
            is_read =
                is_read && (!made_.can_run(n, d) || made_.question.answers[d].is_host ||
                            is_host_input(made_.question.answers[d].nodes[n].host_inputs, input));
        }
        const NodeId producer = graph().value(graph().nodes[n].inputs[input]).producer;
        return is_read && (!producer.valid() || made_.task_of_node[size_t(producer.index)] < 0);
    }

    // What the host's planner makes views of, and what the caller may give memory for, counts for
    // nothing there.
    void add_host_bytes() {
        problem_.host_bytes.resize(problem_.values.size());
        for (const auto& [id, value] : made_.values) {
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
        if (std::none_of(made_.assumed.devices.begin(), made_.assumed.devices.end(), is_in_arena)) {
            return;
        }
        for (const ValueId id : graph().inputs) {
            if (const auto value = made_.values.find(id.index); value != made_.values.end()) {
                problem_.callers_values.push_back(value->second);
            }
        }
        for (const NodeData& node : graph().nodes) {
            if (lies_over_operands(graph(), node, made_.work.values)) {
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
            const auto value = made_.values.find(output.index);
            for (const ValueId input : node.inputs) {
                const auto below = made_.values.find(input.index);
                if (value != made_.values.end() &&
                    (is_graph_input(input) || below != made_.values.end())) {
                    problem_.overlays.push_back(
                        {value->second, below == made_.values.end() ? -1 : below->second});
                }
            }
        }
    }

    void add_memory() {
        for (const AssumedDomain& domain : made_.assumed.domains) {
            problem_.capacity_bytes.push_back(domain.capacity_bytes);
        }
        problem_.capacity_bytes[kHostMemory] = made_.question.host_capacity_bytes;
        std::map<int32_t, int32_t> constants;
        std::vector<bool> may_stream;
        for (size_t n = 0; n < graph().nodes.size(); ++n) {
            const NodeData& node = graph().nodes[n];
            for (size_t i = 0; made_.task_of_node[n] >= 0 && i < node.inputs.size(); ++i) {
                const ValueId id = node.inputs[i];
                if (!id.valid() || !graph().value(id).constant || is_read_before_run(n, i)) {
                    continue;
                }
                const auto [at, is_new] =
                    constants.try_emplace(id.index, int32_t(made_.constants.size()));
                if (is_new) {
                    made_.constants.push_back(id);
                    problem_.constant_bytes.push_back(
                        bytes_of(made_.work.values[size_t(id.index)]));
                }
                problem_.constant_uses.push_back({at->second, made_.task_of_node[n]});
                may_stream.resize(made_.constants.size() * made_.assumed.domains.size(), true);
                refuse_streams(n, i, size_t(at->second), may_stream);
            }
        }
        problem_.may_stream = std::move(may_stream);
        problem_.request_count = made_.question.request_count;
    }

    // Where some device in the domain that may run the node does not take input i as a value.
    void refuse_streams(size_t n, size_t i, size_t constant, std::vector<bool>& may_stream) const {
        for (size_t d = 0; d < made_.assumed.devices.size(); ++d) {
            const bool takes_it =
                i < 32 && (made_.question.answers[d].nodes[n].streamable_inputs >> i & 1U) != 0;
            if (made_.can_run(n, d) && !takes_it) {
                const auto domain = size_t(made_.assumed.devices[d].domain);
                may_stream[constant * made_.assumed.domains.size() + domain] = false;
            }
        }
    }

    GraphProblem made_;
    PartitionProblem& problem_ = made_.problem;
};

}  // namespace

bool GraphProblem::can_run(size_t node, size_t device) const {
    const int pin = question.pins.empty() ? kNotPinned : question.pins[node];
    return (pin == kNotPinned || pin == int(device)) &&
           question.answers[device].nodes[node].refusal.empty();
}

int GraphProblem::device_on(size_t node, int32_t unit) const {
    int fastest = -1;
    for (size_t d = 0; d < unit_of_device.size(); ++d) {
        if (unit_of_device[d] == unit && can_run(node, d) &&
            (fastest < 0 || costs.at(node, d) < costs.at(node, size_t(fastest)))) {
            fastest = int(d);
        }
    }
    return fastest;
}

GraphProblem make_problem(const PlacedByCost& question, const GraphWork& work) {
    return ProblemBuilder(question, work).build();
}

}  // namespace leat
