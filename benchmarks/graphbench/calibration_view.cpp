#include "calibration_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "screen.h"

namespace leat::bench {
namespace {

bool is_measured(const CalibratedOperator& row) {
    return row.skipped_because.empty();
}

std::string links_text(const CalibratedDevice& device) {
    if (!device.has_links) {
        return device.link_problem.empty()
                   ? std::string()
                   : fmt::format("  links: not measured: {}\n", device.link_problem);
    }
    std::string text;
    for (const bool is_to_device : {true, false}) {
        const CalibratedLink& link = is_to_device ? device.to_device : device.from_device;
        text += fmt::format("  link {} it: {:.3g} us + {:.3g} GB/s\n", is_to_device ? "to" : "from",
                            link.latency_ns * 1e-3, link.bytes_per_s * 1e-9);
    }
    return text + fmt::format("  both directions at once take {:.2f} times the longer one ({})\n",
                              device.contention, device.is_link_new ? "measured now" : "kept");
}

std::string device_text(const CalibratedDevice& device, int64_t top) {
    std::vector<const CalibratedOperator*> rows;
    int64_t skipped = 0;
    for (const CalibratedOperator& row : device.operators) {
        rows.push_back(&row);
        skipped += is_measured(row) ? 0 : 1;
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const CalibratedOperator* a, const CalibratedOperator* b) {
                         return a->measured_ns * a->node_count > b->measured_ns * b->node_count;
                     });
    Table table(
        {"nodes", "roofline us", "measured us", "ratio", "spread", "runs", "from", "operator"});
    std::string reasons;
    for (size_t i = 0; i < rows.size(); ++i) {
        const CalibratedOperator& row = *rows[i];
        if (!is_measured(row)) {
            reasons += fmt::format("  not measured: {}: {}\n", row.signature, row.skipped_because);
        } else if (top <= 0 || i < size_t(top)) {
            table.add({std::to_string(row.node_count), microseconds(row.roofline_ns),
                       microseconds(row.measured_ns),
                       row.roofline_ns > 0
                           ? fmt::format("{:.2f}", row.measured_ns / row.roofline_ns)
                           : "n/a",
                       fmt::format("{:.1f} %", 100 * row.spread), std::to_string(row.runs),
                       row.is_new ? "now" : "kept", row.signature});
        }
    }
    const CalibratedSum sum = sum_of(device);
    std::string text = fmt::format("{}: {}\n", device.device, device.key);
    text += fmt::format("  {}\n", device.file.empty() ? "kept nowhere" : "kept in " + device.file);
    text += table.to_string() + reasons;
    text += fmt::format(
        "  {} nodes, {} operators, {} of them not measured; in sum: roofline {} us, measured {} "
        "us\n",
        sum.node_count, rows.size(), skipped, microseconds(sum.roofline_ns),
        microseconds(sum.measured_ns));
    if (device.launch_ns > 0) {
        text += fmt::format("  a submission takes {} us beyond its operators\n",
                            microseconds(device.launch_ns));
    }
    return text + links_text(device);
}

Json link_json(const CalibratedLink& link) {
    Json json = Json::object();
    json.set("latency_ns", link.latency_ns).set("bytes_per_s", link.bytes_per_s);
    return json;
}

Json operator_json(const CalibratedOperator& row) {
    Json entry = Json::object();
    entry.set("op", row.op_type).set("signature", row.signature).set("nodes", row.node_count);
    entry.set("flops", row.flops).set("bytes", row.bytes).set("roofline_ns", row.roofline_ns);
    if (!is_measured(row)) {
        entry.set("skipped_because", row.skipped_because);
        return entry;
    }
    entry.set("measured_ns", row.measured_ns).set("spread", row.spread);
    entry.set("runs", row.runs).set("is_new", row.is_new);
    return entry;
}

Json device_json(const CalibratedDevice& device) {
    Json json = Json::object();
    json.set("device", device.device).set("key", device.key).set("file", device.file);
    json.set("operators", json_list(device.operators, operator_json));
    const CalibratedSum sum = sum_of(device);
    json.set("measured_nodes", sum.node_count).set("roofline_ns", sum.roofline_ns);
    json.set("measured_ns", sum.measured_ns).set("launch_ns", device.launch_ns);
    if (device.has_links) {
        Json links = Json::object();
        links.set("to_device", link_json(device.to_device));
        links.set("from_device", link_json(device.from_device));
        links.set("contention", device.contention).set("is_new", device.is_link_new);
        json.set("links", std::move(links));
    } else if (!device.link_problem.empty()) {
        json.set("link_problem", device.link_problem);
    }
    return json;
}

}  // namespace

CalibratedSum sum_of(const CalibratedDevice& device) {
    CalibratedSum sum;
    for (const CalibratedOperator& row : device.operators) {
        if (is_measured(row)) {
            sum.node_count += row.node_count;
            sum.roofline_ns += row.roofline_ns * row.node_count;
            sum.measured_ns += row.measured_ns * row.node_count;
        }
    }
    return sum;
}

std::string calibration_as_text(const CalibrationReport& report, int64_t top) {
    std::string text = fmt::format(
        "calibration: {} measured now, {} kept from before, {} not measured, in {:.1f} ms\n",
        report.measured_count, report.kept_count, report.skipped_count,
        double(report.time_ns) * 1e-6);
    for (const CalibratedDevice& device : report.devices) {
        text += device_text(device, top);
    }
    return text;
}

Json calibration_as_json(const CalibrationReport& report) {
    Json json = Json::object();
    json.set("measured", report.measured_count).set("kept", report.kept_count);
    json.set("skipped", report.skipped_count).set("time_ns", report.time_ns);
    json.set("devices", json_list(report.devices, device_json));
    return json;
}

}  // namespace leat::bench
