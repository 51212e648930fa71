// Runtime::load: a compiled graph from a file (docs/aot.md). The recipe is the body of load().
// Nothing is searched for: neither passes, placement, order nor places. Nothing in the file is
// trusted: ids and numbers are checked here, shapes are inferred again, and plans are proved again.
#include <algorithm>
#include <chrono>

#include "base/elapsed.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "calibrate/calibration.h"
#include "compile/compile_input.h"
#include "compile/machine_record.h"
#include "compile/mapped_copies.h"
#include "compile/weight_targets.h"
#include "partition/partition.h"
#include "place/cut_parts.h"
#include "run/compiled_graph_impl.h"
#include "saved/compiled_file.h"
#include "saved/compiled_record.h"

namespace leat {
namespace {

using Clock = std::chrono::steady_clock;

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

Status check_graph(const GraphData& graph) {
    for (int32_t node = 0; node < graph.node_count(); ++node) {
        LEAT_RETURN_IF_ERROR(check_node(graph, node));
    }
    for (const ValueData& value : graph.values) {
        const int32_t producer = value.producer.index;
        const bool has_no_tensor = value.constant && !value.constant->defined();
        const bool is_flat = value.layout == Layout::kChannelsLast && value.type.rank() >= 0 &&
                             value.type.rank() < 3;
        if (producer < -1 || producer >= graph.node_count() || has_no_tensor || is_flat) {
            return parse_error("value '{}' is none of node {}", value.name, producer);
        }
    }
    return {};
}

Result<std::vector<ListedDevice>> find_devices(const Runtime::Impl& runtime,
                                               std::span<const DeviceRecord> records) {
    std::vector<ListedDevice> devices;
    for (const DeviceRecord& record : records) {
        LEAT_ASSIGN_OR_RETURN(std::vector<ListedDevice> found,
                              parse_devices(record.label, *runtime.backends));
        const std::string key = calibration_key(runtime, found.front());
        if (found.size() != 1 || key != record.key) {
            return make_error(StatusCode::kVersionMismatch,
                              "it was compiled for another device '{}'", record.label)
                .with_found(record.key)
                .with_needed(key)
                .with_hint("compile the graph again on this machine");
        }
        if (!record.costs.empty()) {
            LEAT_ASSIGN_OR_RETURN(MeasuredCosts costs, MeasuredCosts::parse(record.costs));
            found.front().measured = std::make_shared<const MeasuredCosts>(std::move(costs));
        }
        devices.push_back(std::move(found.front()));
    }
    return devices;
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
               : parse_error("its streams are none of the graph's constants");
}

Status check_placement(const CompiledRecord& record) {
    const Placement& parts = record.placement;
    const auto nodes = size_t(record.graph.node_count());
    const bool has_all = parts.device_of_node.size() == nodes &&
                         parts.part_of_node.size() == nodes && parts.is_pinned.size() == nodes &&
                         parts.refusals.size() == nodes;
    const bool has_others = parts.other_devices.empty() || parts.other_devices.size() == nodes;
    const bool has_listed =
        parts.listed_device_of_node.empty() || parts.listed_device_of_node.size() == nodes;
    const bool has_choice =
        !parts.forecast.is_by_cost ||
        (parts.other_devices.size() == nodes && parts.listed_device_of_node.size() == nodes);
    // Without parts no node is in one; else whoever cuts them looks.
    const bool has_parts =
        record.is_cut ||
        (record.executables.empty() &&
         std::count(parts.part_of_node.begin(), parts.part_of_node.end(), -1) == int64_t(nodes));
    if (!has_all || !has_others || !has_listed || !has_choice || !has_parts ||
        record.devices.empty()) {
        return parse_error("its placement is not that of {} nodes", nodes);
    }
    const auto is_device = [&](int device) {
        return device >= kKnownAtPlanning && device < int(record.devices.size());
    };
    const auto are_devices = [&](const std::vector<int>& list) {
        return std::all_of(list.begin(), list.end(), is_device);
    };
    const bool has_devices =
        are_devices(parts.device_of_node) && are_devices(parts.listed_device_of_node) &&
        std::all_of(parts.other_devices.begin(), parts.other_devices.end(),
                    [&](const std::vector<int>& list) {
                        return are_devices(list) &&
                               std::count(list.begin(), list.end(), kKnownAtPlanning) == 0;
                    });
    // Who runs somewhere was listed somewhere.
    for (size_t n = 0; n < parts.listed_device_of_node.size(); ++n) {
        if (parts.device_of_node[n] >= 0 && parts.listed_device_of_node[n] < 0) {
            return parse_error("its placement lists no device for node {}", n);
        }
    }
    LEAT_RETURN_IF_ERROR(check_streams(record));
    const std::vector<double>& host_ns = parts.order.host_ns_of_node;
    const std::vector<ForecastStep>& schedule = parts.forecast.schedule;
    if (!std::all_of(host_ns.begin(), host_ns.end(), is_duration) ||
        !std::all_of(schedule.begin(), schedule.end(), [](const ForecastStep& step) {
            return is_duration(step.begin_ns) && is_duration(step.end_ns);
        })) {
        return parse_error("its forecast has times that are none");
    }
    const int inputs = int(record.graph.inputs.size());
    const bool has_inputs =
        std::all_of(parts.deciding_inputs.begin(), parts.deciding_inputs.end(),
                    [inputs](int input) { return input >= 0 && input < inputs; });
    if (!has_devices || !has_inputs) {
        return parse_error("its placement names a device or an input that there is not");
    }
    return {};
}

// By part. Borrowed of the file.
Result<std::vector<std::vector<SavedConstant>>> constants_of_parts(const BlobReader& blobs,
                                                                   const CompiledRecord& record) {
    std::vector<std::vector<SavedConstant>> parts;
    for (const std::vector<PartConstantRecord>& rows : record.part_constants) {
        std::vector<SavedConstant>& constants = parts.emplace_back();
        for (const PartConstantRecord& row : rows) {
            const std::byte* bytes = blobs.find(row.blob);
            if (bytes == nullptr) {
                return parse_error("a packed constant of part {} is no blob", parts.size() - 1);
            }
            constants.push_back({row.content_hash,
                                 row.layout_key,
                                 {bytes, size_t(blobs.places()[size_t(row.blob)].size_bytes)}});
        }
    }
    return parts;
}

Result<CompiledRecord> read_record(CompiledFile& file) {
    CompiledRecord record;
    ByteReader<BlobReader> reader(file.record, file.blobs);
    reader(record);
    if (!reader.ok() || !reader.is_at_end()) {
        return parse_error("its record is none of a compiled graph");
    }
    LEAT_RETURN_IF_ERROR(check_graph(record.graph));
    LEAT_RETURN_IF_ERROR(check_graph(record.given));
    const auto has_name = [](const DefaultInput& a, const DefaultInput& b) {
        return a.name == b.name;
    };
    const std::vector<DefaultInput>& own = record.graph.default_inputs;
    const std::vector<DefaultInput>& given = record.given.default_inputs;
    if (!std::equal(own.begin(), own.end(), given.begin(), given.end(), has_name)) {
        return parse_error("its default inputs are none of the graph that was compiled");
    }
    if (const Status defaults = check_default_inputs(record.given); !defaults.ok()) {
        return parse_error("the graph that was compiled has no defaults: {}", defaults.text());
    }
    return record;
}

// As far as plans in the file are of groups with memory of their own.
Result<HeldWeights> copy_weights(const CompiledGraph::Impl& compiled,
                                 const BlobReader& blobs,
                                 const CompiledRecord& record) {
    std::vector<int> groups;
    for (const PlanRecord& plan : record.plans) {
        const bool is_group =
            plan.key.group >= 0 && size_t(plan.key.group) < compiled.runtime->groups.size();
        if (is_group && std::count(groups.begin(), groups.end(), plan.key.group) == 0) {
            groups.push_back(plan.key.group);
        }
    }
    return copy_mapped_weights(compiled, groups, mapped_forms(blobs, record.packed));
}

Result<CompiledGraph> load(const std::shared_ptr<Runtime::Impl>& runtime,
                           const std::filesystem::path& path,
                           const LoadOptions& options) {
    const auto start = Clock::now();
    const FileAccess access = options.copies ? FileAccess::kCopy : FileAccess::kMap;
    LEAT_ASSIGN_OR_RETURN(CompiledFile file,
                          open_compiled_file(path, options.verifies_weights, access));
    LEAT_ASSIGN_OR_RETURN(CompiledRecord record, read_record(file));
    LEAT_RETURN_IF_ERROR(check_machine(record.machine, *runtime));
    LEAT_RETURN_IF_ERROR(check_placement(record));
    if (const Status options_status = check_options(record.options); !options_status.ok()) {
        return parse_error("its options are none: {}", options_status.text());
    }
    LEAT_RETURN_IF_ERROR(runtime->operators_status);
    LEAT_RETURN_IF_ERROR(define_operators(record.graph, runtime->operators.source()));
    Graph graph(std::make_unique<GraphData>(std::move(record.graph)));
    LEAT_RETURN_IF_ERROR(graph.verify());
    LEAT_ASSIGN_OR_RETURN(const std::vector<ListedDevice> devices,
                          find_devices(*runtime, record.devices));

    auto compiled =
        std::make_shared<CompiledGraph::Impl>(runtime, std::move(graph), std::move(record.options));
    LEAT_ASSIGN_OR_RETURN(compiled->mapped, map_weights(file.blobs, record.packed));
    compiled->files.add(file.blobs.file());
    record.placement.assumed = assume_devices(devices, runtime->host.threads);
    std::vector<AssumedDevice>& assumed = record.placement.assumed.devices;
    for (size_t d = 0; d < assumed.size(); ++d) {
        assumed[d].reported_ns = std::move(record.devices[d].reported_ns);
        assumed[d].derived_ns = std::move(record.devices[d].derived_ns);
    }
    if (record.is_cut) {
        LEAT_ASSIGN_OR_RETURN(std::vector<std::vector<SavedConstant>> constants,
                              constants_of_parts(file.blobs, record));
        LEAT_ASSIGN_OR_RETURN(
            compiled->placed,
            restore_parts(compiled->graph, devices, std::move(record.placement),
                          {record.executables, std::move(constants)}, compiled->mapped->hashes()));
    } else {
        compiled->placed.placement = std::move(record.placement);
    }
    LEAT_ASSIGN_OR_RETURN(compiled->placed.host, find_backend(record.host));
    if (!record.given.default_inputs.empty()) {
        compiled->given =
            std::make_shared<const Graph>(std::make_unique<GraphData>(std::move(record.given)));
    }
    if (!record.cost_factors.empty()) {
        record.cost_factors.resize(size_t(compiled->planned_graph().node_count()), 1);
    }
    compiled->cost_factors = std::move(record.cost_factors);
    compiled->base_report = std::move(record.report);
    compiled->weight_targets = choose_weight_targets(*runtime, compiled->graph);
    LEAT_ASSIGN_OR_RETURN(const HeldWeights held, copy_weights(*compiled, file.blobs, record));
    for (PlanRecord& plan : record.plans) {
        LEAT_RETURN_IF_ERROR(compiled->restore_plan(plan.key, std::move(plan.choice)));
    }
    compiled->base_report.load_time_ns = nanoseconds_since(start);
    return CompiledGraph(std::move(compiled));
}

}  // namespace

Result<Graph> saved_graph_of(const std::filesystem::path& path) {
    return catch_bad_alloc("read the compiled graph", [&]() -> Result<Graph> {
        const auto read = [&]() -> Result<Graph> {
            LEAT_ASSIGN_OR_RETURN(CompiledFile file,
                                  open_compiled_file(path, false, FileAccess::kMap));
            LEAT_ASSIGN_OR_RETURN(CompiledRecord record, read_record(file));
            return Graph(std::make_unique<GraphData>(std::move(record.graph)));
        };
        Result<Graph> graph = read();
        if (!graph.ok()) {
            return std::move(graph).error().with_file(path.string());
        }
        return graph;
    });
}

Result<CompiledGraph> Runtime::load(const std::string& file, const LoadOptions& options) const {
    return catch_bad_alloc("load the compiled graph", [&]() -> Result<CompiledGraph> {
        Result<CompiledGraph> loaded = leat::load(impl_, file, options);
        if (!loaded.ok()) {
            return std::move(loaded).error().with_file(file);
        }
        return loaded;
    });
}

}  // namespace leat
