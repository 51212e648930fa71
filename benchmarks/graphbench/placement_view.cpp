#include "placement_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "base/check.h"
#include "screen.h"

namespace leat::bench {
namespace {

struct ReasonName {
    std::string_view in_json;
    std::string_view as_text;
};

ReasonName name_of(PlacementReason reason) {
    switch (reason) {
        case PlacementReason::kFirstOfList:
            return {"first_of_list", "the first of the list that takes it"};
        case PlacementReason::kByCost:
            return {"by_cost", "by cost"};
        case PlacementReason::kPinned:
            return {"pinned", "pinned"};
        case PlacementReason::kKnownAtPlanning:
            return {"known_at_planning", "shape arithmetic: computed on the host by each plan"};
        case PlacementReason::kComputed:
            return {"computed", "computed at compile time"};
        case PlacementReason::kIdentity:
            return {"identity", "gives its input back"};
        case PlacementReason::kJoined:
            return {"joined", "done by"};
        case PlacementReason::kUnused:
            return {"unused", "no result needs it"};
        case PlacementReason::kDivided:
            return {"divided", "divided over devices"};
    }
    LEAT_CHECK(false, "placement reason {}", int(reason));
    return {};
}

bool is_calibrated(const GraphPlacement& placement) {
    return std::any_of(
        placement.devices.begin(), placement.devices.end(),
        [](const DeviceShare& device) { return device.measured_count + device.scaled_count > 0; });
}

std::string_view origin_text(const GraphPlacement& placement) {
    return is_calibrated(placement)
               ? "Times are those of calibrated operators, and where there are none of the "
                 "definitions:"
               : "Times are estimates from the definitions of operators, not calibrated:";
}

std::string_view name_of(CostSource source) {
    switch (source) {
        case CostSource::kDefinition:
            return "definition";
        case CostSource::kScaled:
            return "scaled";
        case CostSource::kMeasured:
            return "measured";
        case CostSource::kReported:
            return "reported";
    }
    LEAT_CHECK(false, "cost source {}", int(source));
    return {};
}

std::string devices_text(const GraphPlacement& placement) {
    Table table({"device", "nodes", "parts", "estimated us", "share", "bytes in", "bytes out",
                 "moving us"});
    for (const DeviceShare& device : placement.devices) {
        table.add({device.device, std::to_string(device.node_count),
                   std::to_string(device.part_count), microseconds(device.estimated_ns),
                   fmt::format("{:.1f} %", 100 * device.share), std::to_string(device.bytes_in),
                   std::to_string(device.bytes_out), microseconds(device.moving_ns)});
    }
    std::string text = table.to_string();
    text += fmt::format("moving values: {:.1f} % of the estimated time. {}\n",
                        100 * placement.moving_share, origin_text(placement));
    for (const DeviceShare& device : placement.devices) {
        text +=
            fmt::format("  {}: {:g} GFLOP/s, {:g} GB/s ({})", device.device,
                        device.flops_per_s * 1e-9, device.bytes_per_s * 1e-9, device.rates_source);
        if (!device.link_source.empty()) {
            text += fmt::format("; link {:g} us, {:g} GB/s ({})", device.link_latency_ns * 1e-3,
                                device.link_bytes_per_s * 1e-9, device.link_source);
        }
        if (device.streamed_bytes > 0) {
            text += fmt::format("; {} bytes of constants stay, {} are copied in each run",
                                device.constant_bytes, device.streamed_bytes);
        }
        if (device.measured_count + device.scaled_count > 0) {
            text += fmt::format("; {} of {} nodes measured, {} by others of their type",
                                device.measured_count, device.node_count, device.scaled_count);
        }
        text += "\n";
    }
    if (placement.has_open_extents) {
        text += "  extents that nothing fixes count as 1: give --shape or --dim\n";
    }
    return text;
}

std::string divided_text(const PlacementForecast& forecast) {
    std::string text;
    for (const DividedOperator& divided : forecast.divided) {
        text +=
            fmt::format("  divided: {} ({}) by {}:", divided.name, divided.op_type, divided.axis);
        for (const OperatorShard& shard : divided.shards) {
            text += fmt::format(" {} [{}, {})", shard.device, shard.begin, shard.end);
        }
        text += divided.changes_bits ? "; changes bits\n" : "\n";
    }
    if (forecast.undivided_ns > 0) {
        text += fmt::format("  undivided: {} us\n", microseconds(forecast.undivided_ns));
    }
    return text;
}

std::string forecast_text(const PlacementForecast& forecast) {
    if (!forecast.is_by_cost) {
        return divided_text(forecast);
    }
    std::string text = fmt::format("forecast of a run: {} us, from '{}'",
                                   microseconds(forecast.makespan_ns), forecast.found_by);
    const bool is_stream = forecast.requests_in_flight > 1;
    if (is_stream) {
        text += fmt::format("; {} requests in flight: one every {} us", forecast.requests_in_flight,
                            microseconds(forecast.period_ns));
    }
    for (const BusyShare& busy : forecast.busy) {
        text += fmt::format("; {} busy {:.1f} %", busy.device, 100 * busy.share);
    }
    text += "\n";
    for (const NamedMakespan& other : forecast.simple) {
        text += fmt::format("  {}: {} us", other.placement, microseconds(other.makespan_ns));
        text += is_stream ? fmt::format(", every {} us\n", microseconds(other.period_ns)) : "\n";
    }
    text += divided_text(forecast);
    if (forecast.has_assumed_extents) {
        text += "  placed as if extents that nothing fixed were 1: give --shape or --dim\n";
    }
    return text;
}

std::string moved_text(const GraphPlacement& placement) {
    if (placement.moved.empty()) {
        return {};
    }
    Table table({"value that moves", "bytes", "from", "to", "part", "estimated us"});
    for (const MovedValue& value : placement.moved) {
        table.add({value.value, std::to_string(value.bytes),
                   value.is_constant    ? "host, each run"
                   : value.is_to_device ? "host"
                                        : value.device,
                   value.is_to_device ? value.device : "host", std::to_string(value.part),
                   microseconds(value.estimated_ns)});
    }
    return table.to_string();
}

Json devices_json(const GraphPlacement& placement) {
    return json_list(placement.devices, [](const DeviceShare& device) {
        Json entry = Json::object();
        entry.set("device", device.device).set("nodes", device.node_count);
        entry.set("parts", device.part_count).set("estimated_ns", device.estimated_ns);
        entry.set("share", device.share).set("bytes_in", device.bytes_in);
        entry.set("bytes_out", device.bytes_out).set("moving_ns", device.moving_ns);
        entry.set("constant_bytes", device.constant_bytes);
        entry.set("streamed_bytes", device.streamed_bytes);
        entry.set("flops_per_s", device.flops_per_s).set("bytes_per_s", device.bytes_per_s);
        entry.set("rates_source", device.rates_source);
        entry.set("measured_nodes", device.measured_count);
        entry.set("scaled_nodes", device.scaled_count);
        if (!device.link_source.empty()) {
            entry.set("link_latency_ns", device.link_latency_ns);
            entry.set("link_bytes_per_s", device.link_bytes_per_s);
            entry.set("link_source", device.link_source);
        }
        return entry;
    });
}

Json divided_json(const PlacementForecast& forecast) {
    return json_list(forecast.divided, [](const DividedOperator& divided) {
        Json entry = Json::object();
        entry.set("name", divided.name).set("op", divided.op_type).set("axis", divided.axis);
        entry.set("changes_bits", divided.changes_bits);
        Json shards = json_list(divided.shards, [](const OperatorShard& shard) {
            Json range = Json::object();
            return range.set("device", shard.device)
                .set("begin", shard.begin)
                .set("end", shard.end);
        });
        return entry.set("shards", std::move(shards));
    });
}

Json forecast_json(const PlacementForecast& forecast) {
    Json json = Json::object();
    json.set("makespan_ns", forecast.makespan_ns).set("found_by", forecast.found_by);
    json.set("requests_in_flight", forecast.requests_in_flight);
    json.set("period_ns", forecast.period_ns);
    json.set("has_assumed_extents", forecast.has_assumed_extents);
    Json simple = json_list(forecast.simple, [](const NamedMakespan& other) {
        Json entry = Json::object();
        entry.set("placement", other.placement).set("makespan_ns", other.makespan_ns);
        return entry.set("period_ns", other.period_ns);
    });
    json.set("simple", std::move(simple));
    Json busy = json_list(forecast.busy, [](const BusyShare& device) {
        return Json::object().set("device", device.device).set("share", device.share);
    });
    json.set("busy", std::move(busy));
    if (forecast.undivided_ns > 0) {
        json.set("undivided_ns", forecast.undivided_ns);
    }
    return json;
}

Json alternative_json(const PlacementAlternative& other) {
    Json entry = Json::object();
    entry.set("device", other.device).set("estimated_ns", other.estimated_ns);
    return entry.set("moving_ns", other.moving_ns);
}

Json node_json(const PlacedNode& node) {
    Json entry = Json::object();
    entry.set("name", node.name).set("op", node.op_type);
    entry.set("reason", name_of(node.reason).in_json);
    entry.set("device", node.device.empty() ? Json() : Json(node.device));
    entry.set("part", node.part < 0 ? Json() : Json(node.part));
    if (node.reason == PlacementReason::kJoined) {
        entry.set("joined_into", node.joined_into);
    }
    Json refusals = json_list(node.refusals, [](const DeviceRefusal& refusal) {
        return Json::object().set("device", refusal.device).set("reason", refusal.reason);
    });
    entry.set("refusals", std::move(refusals));
    if (!node.listed_device.empty()) {
        entry.set("alternatives", json_list(node.alternatives, alternative_json));
        entry.set("moving_ns", node.moving_ns).set("listed_device", node.listed_device);
    }
    if (node.is_estimated) {
        entry.set("flops", node.flops).set("bytes", node.bytes);
        entry.set("estimated_ns", node.estimated_ns).set("source", name_of(node.source));
    }
    return entry;
}

}  // namespace

std::string reason_text(const PlacedNode& node) {
    std::string text(name_of(node.reason).as_text);
    if (node.reason == PlacementReason::kJoined) {
        text += fmt::format(" '{}'", node.joined_into);
    }
    if (node.reason == PlacementReason::kByCost) {
        text += fmt::format(": {} us and {} us of moving", microseconds(node.estimated_ns),
                            microseconds(node.moving_ns));
    }
    for (const PlacementAlternative& other : node.alternatives) {
        text += fmt::format("; {}: {} us and {} us of moving", other.device,
                            microseconds(other.estimated_ns), microseconds(other.moving_ns));
    }
    for (const DeviceRefusal& refusal : node.refusals) {
        text += fmt::format("; {}: {}", refusal.device, refusal.reason);
    }
    if (!node.listed_device.empty() && node.listed_device != node.device) {
        text += fmt::format("; by the list's order: {}", node.listed_device);
    }
    return text;
}

std::string placement_as_text(const GraphPlacement& placement) {
    std::vector<std::string> headers = {"node", "operator", "device", "part", "estimated us"};
    const bool has_sources = is_calibrated(placement);
    if (has_sources) {
        headers.emplace_back("by");
    }
    headers.emplace_back("why");
    Table nodes(std::move(headers));
    for (const PlacedNode& node : placement.nodes) {
        std::vector<std::string> row = {node.name, node.op_type,
                                        node.device.empty() ? "none" : node.device,
                                        node.part < 0 ? "-" : std::to_string(node.part),
                                        node.is_estimated ? microseconds(node.estimated_ns) : "-"};
        if (has_sources) {
            row.emplace_back(node.is_estimated ? name_of(node.source) : "-");
        }
        row.push_back(reason_text(node));
        nodes.add(std::move(row));
    }
    return forecast_text(placement.forecast) + devices_text(placement) + moved_text(placement) +
           nodes.to_string();
}

Json placement_as_json(const GraphPlacement& placement) {
    Json json = Json::object();
    json.set("is_calibrated", is_calibrated(placement))
        .set("has_open_extents", placement.has_open_extents);
    if (placement.forecast.is_by_cost) {
        json.set("forecast", forecast_json(placement.forecast));
    }
    if (!placement.forecast.divided.empty()) {
        json.set("divided", divided_json(placement.forecast));
    }
    json.set("devices", devices_json(placement)).set("moving_share", placement.moving_share);
    Json moved = json_list(placement.moved, [](const MovedValue& value) {
        Json entry = Json::object();
        entry.set("value", value.value).set("bytes", value.bytes);
        entry.set("is_constant", value.is_constant);
        entry.set("from", value.is_to_device ? "host" : value.device);
        entry.set("to", value.is_to_device ? value.device : "host");
        return entry.set("part", value.part).set("estimated_ns", value.estimated_ns);
    });
    json.set("moved", std::move(moved));
    json.set("nodes", json_list(placement.nodes, node_json));
    return json;
}

}  // namespace leat::bench
