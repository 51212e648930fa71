// The fields of a record, one list for both directions (base/byte_archive.h).
//
// A struct whose members change stops compiling here until they are listed; the version of the
// format (compiled_file.h) grows with every such change.
#include "saved/compiled_record.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/byte_archive.h"
#include "base/error.h"
#include "graph/dim_symbol.h"

namespace leat {

template <class Archive>
void fields(Archive& archive, MachineRecord& record) {
    auto& [cpu_name, simd, group_workers, group_homes, divides_batches] = record;
    archive(cpu_name, simd, group_workers, group_homes, divides_batches);
}
template <class Archive>
void fields(Archive& archive, DeviceRecord& record) {
    auto& [label, key, costs, reported_ns, derived_ns] = record;
    archive(label, key, costs, reported_ns, derived_ns);
}

// ---- shapes, types and elements ----

template <class Archive>
void fields(Archive& archive, Tensor& tensor) {
    TensorRecord record;
    if constexpr (!Archive::kReads) {
        record = record_of(tensor, archive.context);
    }
    archive(record.dtype, record.extents, record.blob, record.strings);
    if constexpr (Archive::kReads) {
        std::optional<Tensor> made =
            archive.ok() ? tensor_of(record, archive.context) : std::nullopt;
        if (!made) {
            archive.fail();
        }
        tensor = made ? *std::move(made) : Tensor();
    }
}

template <class Archive>
void fields(Archive& archive, Shape& shape) {
    std::vector<int64_t> extents(shape.begin(), shape.end());
    archive(extents);
    if constexpr (Archive::kReads) {
        const std::optional<Shape> made = Shape::make(extents);
        if (!made) {
            archive.fail();
        }
        shape = made.value_or(Shape());
    }
}
template <class Archive>
void fields(Archive& archive, DimSpec& dim) {
    int64_t extent = dim.extent();
    std::string name = dim.name();
    std::string key = dim_key(dim);
    archive(extent, name, key);
    if constexpr (Archive::kReads) {
        dim = name.empty() ? DimSpec(std::max<int64_t>(extent, -1))
                           : stored_dim(std::move(name), std::move(key));
    }
}
// Types of elements are nested; nobody nests them deeper.
constexpr int kMostNestedTypes = 8;

template <class Archive>
void fields(Archive& archive, TypeInfo& type, int depth) {
    auto& [kind, dtype, dims, element] = type;
    archive.enumerator(kind, TypeInfo::Kind::kMap);
    archive.enumerator(dtype, DType(kDTypeCount - 1));
    bool has_dims = dims.has_value();
    bool has_element = element != nullptr;
    archive(has_dims, has_element);
    if (has_dims) {
        std::vector<DimSpec> list = dims.value_or(std::vector<DimSpec>());
        size_t count = list.size();
        archive(count);
        if (count > size_t(kMaxRank)) {
            archive.fail();
            count = 0;
        }
        list.resize(count, DimSpec::unknown());
        for (DimSpec& dim : list) {
            archive(dim);
        }
        dims = std::move(list);
    }
    if (has_element && depth >= kMostNestedTypes) {
        archive.fail();
    } else if (has_element) {
        TypeInfo inner = element == nullptr ? TypeInfo() : *element;
        fields(archive, inner, depth + 1);
        element = std::make_shared<const TypeInfo>(std::move(inner));
    }
}
template <class Archive>
void fields(Archive& archive, TypeInfo& type) {
    fields(archive, type, 0);
}
template <class Archive>
void fields(Archive& archive, std::optional<Tensor>& constant) {
    bool has_value = constant.has_value();
    archive(has_value);
    if (has_value) {
        Tensor tensor = constant.value_or(Tensor());
        archive(tensor);
        constant = std::move(tensor);
    }
}

// ---- the graph; which operator a name means is found by whoever reads it ----

template <class Archive>
void fields(Archive& archive, ValueId& id) {
    archive(id.index);
}
template <class Archive>
void fields(Archive& archive, NodeId& id) {
    archive(id.index);
}
template <class Archive>
void fields(Archive& archive, ValueData& value) {
    auto& [name, type, producer, output_index, constant, layout] = value;
    archive(name, type, producer, output_index);
    fields(archive, constant);
    archive.enumerator(layout, Layout::kTransposed);
}

template <size_t kIndex, class Archive>
void alternative(Archive& archive, AttributeValue& value) {
    if constexpr (Archive::kReads) {
        value.emplace<kIndex>();
    }
    archive(std::get<kIndex>(value));
}
template <class Archive>
void fields(Archive& archive, AttributeValue& value) {
    static_assert(std::variant_size_v<AttributeValue> == 8);
    uint32_t index = uint32_t(value.index());
    archive(index);
    switch (index) {
        case 0:
            return alternative<0>(archive, value);
        case 1:
            return alternative<1>(archive, value);
        case 2:
            return alternative<2>(archive, value);
        case 3:
            return alternative<3>(archive, value);
        case 4:
            return alternative<4>(archive, value);
        case 5:
            return alternative<5>(archive, value);
        case 6:
            return alternative<6>(archive, value);
        case 7:
            return alternative<7>(archive, value);
        default:
            archive.fail();
    }
}
template <class Archive>
void fields(Archive& archive, EpilogueStep& step) {
    auto& [op, attributes, operand_input, result_is_rhs] = step;
    std::string domain = op == nullptr ? std::string() : std::string(op->domain);
    std::string name = op == nullptr ? std::string() : std::string(op->name);
    archive(domain, name, attributes, operand_input, result_is_rhs);
    if constexpr (Archive::kReads) {
        op = find_op(domain, name);
        if (op == nullptr) {
            archive.fail();
        }
    }
}
// Annotations have become a placement.
template <class Archive>
void fields(Archive& archive, NodeData& node) {
    auto& [name, domain, op_type, def, inputs, outputs, attributes, epilogue, own_input_count, dead,
           opset, device_configurations] = node;
    archive(name, domain, op_type, inputs, outputs, attributes, epilogue, own_input_count, dead,
            opset);
    if constexpr (Archive::kReads) {
        def = find_op(domain, op_type);
    }
}
template <class Archive>
void fields(Archive& archive, DefaultInput& input) {
    auto& [name, type] = input;
    archive(name);
    fields(archive, type);
}
template <class Archive>
void fields(Archive& archive, GraphData& graph) {
    archive(graph.name, graph.file, graph.nodes, graph.values, graph.inputs, graph.default_inputs,
            graph.outputs, graph.output_names, graph.opset_imports, graph.warnings);
}
template <class Archive>
void fields(Archive& archive, Graph& body) {
    if (archive.nesting >= kMaxBodyNesting) {
        return archive.fail();
    }
    ++archive.nesting;
    fields(archive, body.data());
    --archive.nesting;
}

// ---- options and reports ----

template <class Archive>
void fields(Archive& archive, DimBounds& bounds) {
    auto& [min, max] = bounds;
    archive(min, max);
}
template <class Archive>
void fields(Archive& archive, CompileOptions& options) {
    auto& [devices, fallback, placement_policy, divide_operators, pins, device_configuration,
           calibrate, shapes, dims, dim_bounds, memory_limit_bytes, pool_limit_bytes, max_requests,
           requests_in_flight, plan_cache_bytes, runs_serially, optimize, is_traced] = options;
    (void)pool_limit_bytes;  // graphs that have a pool are in no file
    archive(devices, pins, device_configuration, shapes, dims, dim_bounds, memory_limit_bytes,
            max_requests, requests_in_flight, plan_cache_bytes, runs_serially, optimize, is_traced);
    archive.enumerator(fallback, Fallback::kAllow);
    archive.enumerator(placement_policy, PlacementPolicy::kCost);
    archive.enumerator(divide_operators, DivideOperators::kChangingBits);
    archive.enumerator(calibrate, Calibrate::kMissing);
}
template <class Archive>
void fields(Archive& archive, PassReport& report) {
    auto& [name, changed, time_ns, detail] = report;
    archive(name, changed, time_ns, detail);
}
template <class Archive>
void fields(Archive& archive, CalibratedOperator& row) {
    auto& [op_type, signature, node_count, flops, bytes, roofline_ns, measured_ns, spread, runs,
           is_new, skipped_because] = row;
    archive(op_type, signature, node_count, flops, bytes, roofline_ns, measured_ns, spread, runs,
            is_new, skipped_because);
}
template <class Archive>
void fields(Archive& archive, CalibratedLink& link) {
    auto& [latency_ns, bytes_per_s] = link;
    archive(latency_ns, bytes_per_s);
}
template <class Archive>
void fields(Archive& archive, CalibratedDevice& row) {
    auto& [device, key, file, operators, launch_ns, has_links, is_link_new, to_device, from_device,
           contention, link_problem] = row;
    archive(device, key, file, operators, launch_ns, has_links, is_link_new, to_device, from_device,
            contention, link_problem);
}
template <class Archive>
void fields(Archive& archive, CalibrationReport& report) {
    auto& [devices, measured_count, kept_count, skipped_count, time_ns] = report;
    archive(devices, measured_count, kept_count, skipped_count, time_ns);
}
// Without what CompiledGraph::report() fills.
template <class Archive>
void fields(Archive& archive, CompileReport& report) {
    archive(report.passes, report.compile_time_ns, report.weight_bytes, report.node_count,
            report.nodes_per_backend, report.fallbacks, report.device_configuration,
            report.annotation_notes, report.shape_deciding_inputs, report.calibration);
}

// ---- placement ----

template <class Archive>
void fields(Archive& archive, DeviceRefusal& refusal) {
    auto& [device, reason] = refusal;
    archive(device, reason);
}
template <class Archive>
void fields(Archive& archive, PlacementAlternative& alternative) {
    auto& [device, estimated_ns, moving_ns] = alternative;
    archive(device, estimated_ns, moving_ns);
}
template <class Archive>
void fields(Archive& archive, PlacedNode& node) {
    auto& [name, op_type, reason, device, part, joined_into, refusals, alternatives, listed_device,
           moving_ns, is_estimated, flops, bytes, estimated_ns, source] = node;
    archive(name, op_type, device, part, joined_into, refusals, alternatives, listed_device,
            moving_ns, is_estimated, flops, bytes, estimated_ns);
    archive.enumerator(reason, PlacementReason::kDivided);
    archive.enumerator(source, CostSource::kReported);
}
template <class Archive>
void fields(Archive& archive, NamedMakespan& row) {
    auto& [placement, makespan_ns, period_ns] = row;
    archive(placement, makespan_ns, period_ns);
}
template <class Archive>
void fields(Archive& archive, BusyShare& row) {
    auto& [device, share] = row;
    archive(device, share);
}
template <class Archive>
void fields(Archive& archive, ForecastStep& step) {
    auto& [name, device, is_move, begin_ns, end_ns] = step;
    archive(name, device, is_move, begin_ns, end_ns);
}
template <class Archive>
void fields(Archive& archive, OperatorShard& shard) {
    auto& [device, begin, end] = shard;
    archive(device, begin, end);
}
template <class Archive>
void fields(Archive& archive, DividedOperator& row) {
    auto& [name, op_type, axis, result_axis, input_axes, changes_bits, shards] = row;
    archive(name, op_type, axis, result_axis, input_axes, changes_bits, shards);
}
template <class Archive>
void fields(Archive& archive, PlacementForecast& forecast) {
    auto& [is_by_cost, makespan_ns, requests_in_flight, period_ns, found_by, simple, busy, schedule,
           has_assumed_extents, divided, undivided_ns] = forecast;
    archive(is_by_cost, makespan_ns, requests_in_flight, period_ns, found_by, simple, busy,
            schedule, has_assumed_extents, divided, undivided_ns);
}
template <class Archive>
void fields(Archive& archive, std::tuple<int32_t, int32_t, bool>& move) {
    auto& [value, domain, is_to_device] = move;
    archive(value, domain, is_to_device);
}
template <class Archive>
void fields(Archive& archive, ForecastOrder& order) {
    auto& [rank_of_node, host_ns_of_node, domain_of_part, rank_of_move] = order;
    archive(rank_of_node, host_ns_of_node, domain_of_part, rank_of_move);
}
template <class Archive>
void fields(Archive& archive, ConstantStreams::Operand& operand) {
    auto& [node, value, after_node] = operand;
    archive(node, value, after_node);
}
template <class Archive>
void fields(Archive& archive, ConstantStreams& streams) {
    auto& [operands, node_orders] = streams;
    archive(operands, node_orders);
}
// But for what the machine says of the devices again.
template <class Archive>
void fields(Archive& archive, Placement& placement) {
    auto& [assumed, device_of_node, part_of_node, is_pinned, refusals, other_devices, listed,
           forecast, order, streams, gone, deciding_inputs, has_host_steps] = placement;
    archive(device_of_node, part_of_node, is_pinned, refusals, other_devices, listed, forecast,
            order, streams, gone, deciding_inputs, has_host_steps);
}

// ---- plans ----

template <class Archive>
void fields(Archive& archive, PlanKey& key) {
    auto& [group, shapes, values] = key;
    archive(group, shapes, values);
}
template <class Archive>
void fields(Archive& archive, SolvedLayout& solved) {
    auto& [order, least_bytes, offsets, lower_bound_bytes, proved_bytes, algorithm] = solved;
    archive(order, least_bytes, offsets, lower_bound_bytes, proved_bytes, algorithm);
}
template <class Archive>
void fields(Archive& archive, SolvedChoice& choice) {
    auto& [run_ahead, largest_result_bytes, copies_ahead, layout] = choice;
    archive(run_ahead, largest_result_bytes, copies_ahead, layout);
}
template <class Archive>
void fields(Archive& archive, PlanRecord& record) {
    auto& [key, choice] = record;
    archive(key, choice);
}
template <class Archive>
void fields(Archive& archive, PackedRecord& record) {
    auto& [source_blob, packed_blob, layout_key] = record;
    archive(source_blob, packed_blob, layout_key);
}
template <class Archive>
void fields(Archive& archive, PartConstantRecord& record) {
    auto& [content_hash, layout_key, blob] = record;
    archive(content_hash, layout_key, blob);
}
template <class Archive>
void fields(Archive& archive, CompiledRecord& record) {
    auto& [machine, devices, host, is_cut, options, cost_factors, report, graph, given, placement,
           executables, part_constants, plans, packed] = record;
    archive(machine, devices, host, is_cut, options, cost_factors, report, graph, given, placement,
            executables, part_constants, plans, packed);
}

std::string write_record(CompiledRecord& record, BlobWriter& blobs) {
    ByteWriter<BlobWriter> writer(blobs);
    writer(record);
    return writer.bytes();
}

void add_constants(CompiledRecord& record, BlobWriter& blobs) {
    ByteWriter<BlobWriter> writer(blobs);
    writer(record.graph, record.given);
}

Result<CompiledRecord> read_record(std::span<const std::byte> bytes, BlobReader& blobs) {
    CompiledRecord record;
    ByteReader<BlobReader> reader(bytes, blobs);
    reader(record);
    if (!reader.ok() || !reader.is_at_end()) {
        return parse_error(
            "its record is not that of a compiled graph: it is truncated or corrupt");
    }
    return record;
}

}  // namespace leat
