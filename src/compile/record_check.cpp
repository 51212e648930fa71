#include "compile/record_check.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "compile/compile_input.h"
#include "partition/partition.h"

namespace leat {
namespace {

bool is_value(const GraphData& graph, ValueId id) {
    return id.valid() && id.index < graph.value_count();
}

Status check_epilogue(const NodeData& node) {
    const auto inputs = int32_t(node.inputs.size());
    if (node.own_input_count < -1 || node.own_input_count > inputs) {
        return parse_error("{} has {} inputs of its own", node.label(), node.own_input_count);
    }
    for (const EpilogueStep& step : node.epilogue) {
        if (step.operand_input < -1 || step.operand_input >= inputs) {
            return parse_error("a step behind {} reads input {}", node.label(), step.operand_input);
        }
    }
    return {};
}

// Operands are values that are there before, results say whose they are.
Status check_node(const GraphData& graph, int32_t index) {
    const NodeData& node = graph.nodes[size_t(index)];
    for (const ValueId id : node.inputs) {
        if (id.index != -1 && (!is_value(graph, id) || graph.value(id).producer.index >= index)) {
            return parse_error("{} reads value {}, which is not there", node.label(), id.index);
        }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId id = node.outputs[i];
        const bool is_own = is_value(graph, id) && graph.value(id).producer.index == index &&
                            graph.value(id).output_index == int32_t(i);
        if (id.index != -1 && !is_own) {
            return parse_error("result {} of {} is value {}", i, node.label(), id.index);
        }
    }
    if (node.dead || node.outputs.empty()) {
        return parse_error("{} has no results", node.label());
    }
    return check_epilogue(node);
}

// And of its bodies, which are read before anything else looks at them.
Status check_graph(const GraphData& graph) {
    for (int32_t node = 0; node < graph.node_count(); ++node) {
        LEAT_RETURN_IF_ERROR(check_node(graph, node));
        for (const auto& [key, body] : graph.nodes[size_t(node)].bodies()) {
            LEAT_RETURN_IF_ERROR(check_graph(*body));
        }
    }
    for (const ValueData& value : graph.values) {
        const int32_t producer = value.producer.index;
        const bool has_no_tensor = value.constant && !value.constant->defined();
        const int needed_rank = value.layout == Layout::kChannelsLast ? 3
                                : value.layout == Layout::kTransposed ? 2
                                                                      : 0;
        const bool is_flat = value.type.rank() >= 0 && value.type.rank() < needed_rank;
        if (producer < -1 || producer >= graph.node_count() || has_no_tensor || is_flat) {
            return parse_error("value '{}' is invalid as a result of node {}", value.name,
                               producer);
        }
    }
    return {};
}

bool is_duration(double ns) {
    constexpr double kMostNs = 1e18;  // 30 years
    return ns >= 0 && ns <= kMostNs;
}

// Constants of the graph, and nodes of parts.
Status check_streams(const CompiledRecord& record) {
    const std::vector<int>& part_of_node = record.placement.part_of_node;
    const ConstantStreams& streams = record.placement.streams;
    const auto is_in_part = [&](int32_t node) {
        return node >= 0 && size_t(node) < part_of_node.size() && part_of_node[size_t(node)] >= 0 &&
               size_t(part_of_node[size_t(node)]) < record.executables.size();
    };
    const bool has_operands =
        std::all_of(streams.operands.begin(), streams.operands.end(),
                    [&](const ConstantStreams::Operand& operand) {
                        return is_in_part(operand.node) &&
                               (operand.after_node == -1 || is_in_part(operand.after_node)) &&
                               is_value(record.graph, ValueId{operand.value}) &&
                               record.graph.value(ValueId{operand.value}).constant.has_value();
                    });
    // Parts of any order of the nodes are those of one that runs.
    const bool has_orders = std::all_of(
        streams.node_orders.begin(), streams.node_orders.end(),
        [&](const auto& order) { return is_in_part(order.first) && is_in_part(order.second); });
    return has_operands && has_orders
               ? Status()
               : parse_error("its streams name what is no constant of the graph");
}

template <class T>
Status check_rows(const std::vector<T>& list, int nodes, std::string_view name) {
    return list.size() == size_t(nodes)
               ? Status()
               : parse_error("its placement has {} rows of {} for {} nodes", list.size(), name,
                             nodes);
}

// Numbers from `least` on.
Status check_numbers(const std::vector<int>& list, int least, size_t count, std::string_view name) {
    const auto wrong = std::find_if(list.begin(), list.end(), [&](int number) {
        return number < least || number >= int(count);
    });
    return wrong == list.end()
               ? Status()
               : parse_error("its placement names number {} of {} {}", *wrong, count, name);
}

// By node, each with what is there only by cost.
Status check_lists(const Placement& placement, int nodes) {
    LEAT_RETURN_IF_ERROR(check_rows(placement.device_of_node, nodes, "devices"));
    LEAT_RETURN_IF_ERROR(check_rows(placement.part_of_node, nodes, "parts"));
    LEAT_RETURN_IF_ERROR(check_rows(placement.is_pinned, nodes, "pins"));
    LEAT_RETURN_IF_ERROR(check_rows(placement.refusals, nodes, "refusals"));
    const bool is_by_cost = placement.forecast.is_by_cost;
    if (is_by_cost || !placement.other_devices.empty()) {
        LEAT_RETURN_IF_ERROR(check_rows(placement.other_devices, nodes, "other devices"));
    }
    if (is_by_cost || !placement.listed_device_of_node.empty()) {
        LEAT_RETURN_IF_ERROR(check_rows(placement.listed_device_of_node, nodes, "listed devices"));
    }
    return {};
}

Status check_devices(const Placement& placement, size_t devices) {
    LEAT_RETURN_IF_ERROR(
        check_numbers(placement.device_of_node, kKnownAtPlanning, devices, "devices"));
    LEAT_RETURN_IF_ERROR(check_numbers(placement.listed_device_of_node, kKnownAtPlanning, devices,
                                       "listed devices"));
    for (const std::vector<int>& others : placement.other_devices) {
        LEAT_RETURN_IF_ERROR(check_numbers(others, 0, devices, "other devices"));
    }
    // Every placed node must also have a listed device.
    for (size_t n = 0; n < placement.listed_device_of_node.size(); ++n) {
        if (placement.device_of_node[n] >= 0 && placement.listed_device_of_node[n] < 0) {
            return parse_error("its placement lists no device for node {}", n);
        }
    }
    return {};
}

Status check_forecast(const Placement& placement) {
    const std::vector<double>& host_ns = placement.order.host_ns_of_node;
    const std::vector<ForecastStep>& schedule = placement.forecast.schedule;
    const bool has_times = std::all_of(host_ns.begin(), host_ns.end(), is_duration) &&
                           std::all_of(schedule.begin(), schedule.end(), [](const auto& step) {
                               return is_duration(step.begin_ns) && is_duration(step.end_ns);
                           });
    return has_times ? Status() : parse_error("the saved forecast contains an invalid duration");
}

}  // namespace

Status check_placement(const CompiledRecord& record) {
    const Placement& placement = record.placement;
    LEAT_RETURN_IF_ERROR(check_lists(placement, record.graph.node_count()));
    // Without parts no node is in one; else restore_parts() looks.
    const std::vector<int>& parts = placement.part_of_node;
    const bool has_no_part =
        record.executables.empty() &&
        std::all_of(parts.begin(), parts.end(), [](int part) { return part == -1; });
    if (!record.is_cut && !has_no_part) {
        return parse_error("its placement has parts, but no graph that they were cut out of");
    }
    if (record.devices.empty()) {
        return parse_error("its placement has no devices");
    }
    LEAT_RETURN_IF_ERROR(check_devices(placement, record.devices.size()));
    LEAT_RETURN_IF_ERROR(check_streams(record));
    LEAT_RETURN_IF_ERROR(check_forecast(placement));
    return check_numbers(placement.deciding_inputs, 0, record.graph.inputs.size(), "inputs");
}

Result<CompiledRecord> read_checked_record(CompiledFile& file) {
    LEAT_ASSIGN_OR_RETURN(CompiledRecord record, read_record(file.record, file.blobs));
    LEAT_RETURN_IF_ERROR(check_graph(record.graph));
    LEAT_RETURN_IF_ERROR(check_graph(record.given));
    const auto has_name = [](const DefaultInput& a, const DefaultInput& b) {
        return a.name == b.name;
    };
    const std::vector<DefaultInput>& own = record.graph.default_inputs;
    const std::vector<DefaultInput>& given = record.given.default_inputs;
    if (!std::equal(own.begin(), own.end(), given.begin(), given.end(), has_name)) {
        return parse_error("its default inputs are not those of the graph that was compiled");
    }
    if (const Status defaults = check_default_inputs(record.given); !defaults.ok()) {
        return parse_error("the graph that was compiled has invalid defaults: {}", defaults.text());
    }
    return record;
}

Result<Graph> saved_graph_of(const std::filesystem::path& path) {
    return catch_bad_alloc("read the compiled graph", [&]() -> Result<Graph> {
        const auto read = [&]() -> Result<Graph> {
            LEAT_ASSIGN_OR_RETURN(CompiledFile file,
                                  open_compiled_file(path, false, FileAccess::kMap));
            LEAT_ASSIGN_OR_RETURN(CompiledRecord record, read_checked_record(file));
            return Graph(std::make_unique<GraphData>(std::move(record.graph)));
        };
        Result<Graph> graph = read();
        if (!graph.ok()) {
            return std::move(graph).error().with_file(path.string());
        }
        return graph;
    });
}

}  // namespace leat
