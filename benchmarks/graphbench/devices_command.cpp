// graphbench devices: the machine, its memory nodes, the backends and Vulkan's devices.
#include <fmt/core.h>

#include <utility>

#include "built_backends.h"
#include "commands.h"
#include "exit_codes.h"
#include "leat/runtime.h"
#include "machine.h"
#include "numa_matrix.h"
#include "output.h"
#include "screen.h"
#include "target.h"
#include "vulkan_devices.h"

namespace leat::bench {
namespace {

std::string number_or_unknown(double value) {
    return value > 0 ? fmt::format("{:g}", value) : "unknown";
}

Json nodes_json(const HostInfo& host) {
    return json_list(host.memory_nodes, [](const MemoryNodeInfo& info) {
        Json node = Json::object();
        node.set("numa_node", info.numa_node).set("has_cpus", info.has_cpus);
        node.set("capacity_bytes", info.capacity_bytes).set("budget_bytes", info.budget_bytes);
        node.set("budget_reason", info.budget_reason).set("policy", info.policy);
        node.set("bandwidth_mib_per_s", info.bandwidth_mib_per_s);
        return node.set("latency_ns", info.latency_ns);
    });
}

std::string nodes_text(const HostInfo& host) {
    Table table({"memory node", "CPUs", "memory", "budget", "policy", "MiB/s", "ns"});
    std::string reasons;
    for (const MemoryNodeInfo& info : host.memory_nodes) {
        table.add(
            {fmt::format("{}", info.numa_node), info.has_cpus ? "yes" : "no",
             format_bytes(double(info.capacity_bytes)), format_bytes(double(info.budget_bytes)),
             info.policy.empty() ? "the only node" : info.policy,
             number_or_unknown(info.bandwidth_mib_per_s), number_or_unknown(info.latency_ns)});
        reasons += fmt::format("budget of node {}: {}\n", info.numa_node, info.budget_reason);
    }
    return host.memory_nodes.empty() ? "" : fmt::format("\n{}{}", table.to_string(), reasons);
}

Json matrix_json(const NumaMatrix& matrix) {
    Json pairs = json_list(matrix.pairs, [](const NumaPair& pair) {
        Json entry = Json::object();
        entry.set("reader_node", pair.reader_node).set("memory_node", pair.memory_node);
        entry.set("policy", pair.policy).set("there_share", pair.there_share);
        entry.set("thread_gb_per_s", pair.thread_gb_per_s);
        return entry.set("node_gb_per_s", pair.node_gb_per_s).set("latency_ns", pair.latency_ns);
    });
    Json weights = json_list(matrix.weights, [](const NumaWeights& some) {
        Json entry = Json::object();
        entry.set("placement", some.placement).set("all_gb_per_s", some.all_gb_per_s);
        return entry.set("resident_bytes", some.resident_bytes);
    });
    Json json = Json::object();
    json.set("buffer_bytes", matrix.buffer_bytes).set("pairs", std::move(pairs));
    json.set("weights", std::move(weights));
    return json;
}

std::string matrix_text(const NumaMatrix& matrix) {
    Table pairs({"readers on", "memory on", "placed by", "pages there", "1 thread GB/s",
                 "all threads GB/s", "latency ns"});
    for (const NumaPair& pair : matrix.pairs) {
        pairs.add({fmt::format("{}", pair.reader_node), fmt::format("{}", pair.memory_node),
                   pair.policy == "none" ? "the only node" : pair.policy,
                   fmt::format("{:.1f} %", pair.there_share * 100),
                   fmt::format("{:.2f}", pair.thread_gb_per_s),
                   fmt::format("{:.2f}", pair.node_gb_per_s),
                   fmt::format("{:.1f}", pair.latency_ns)});
    }
    Table weights({"weights", "all nodes GB/s", "memory"});
    for (const NumaWeights& some : matrix.weights) {
        weights.add({some.placement, fmt::format("{:.2f}", some.all_gb_per_s),
                     format_bytes(double(some.resident_bytes))});
    }
    return fmt::format("\nbuffers of {}\n{}\n{}", format_bytes(double(matrix.buffer_bytes)),
                       pairs.to_string(), weights.to_string());
}

std::string host_text(const HostInfo& host, const Json& machine) {
    return fmt::format(
        "CPU        {} ({})\nCPUs       {} in the machine, {} in the affinity mask, quota {}\n"
        "threads    {} (by {}), {}\nNUMA nodes {}\nmemory     {}\nkernel     {} {}\n\n",
        host.cpu_name, host.simd, host.hardware_cpus, host.affinity_cpus,
        host.quota_cpus > 0 ? fmt::format("{:g}", host.quota_cpus) : "none", host.threads,
        host.threads_source, host.pinned ? "pinned" : "not pinned: " + host.pinning_note,
        host.numa_nodes, format_bytes(machine["memory_bytes"].number()), machine["kernel"].text(),
        machine["machine"].text());
}

}  // namespace

Result<int> devices_command(const Options& options, const OptionValues& values) {
    Runtime runtime(values.runtime);
    const HostInfo& host = runtime.host();
    Json json = Json::object();
    json.set("schema", 1);
    json.set("tool", tool_json());
    json.set("host", host_json(host));
    json.set("memory_nodes", nodes_json(host));
    Json backends = Json::array();
    Table table({"backend", "available"});
    for (const auto& [name, reason] : runtime.backends()) {
        Json entry = Json::object();
        entry.set("name", name).set("available", reason.empty()).set("reason", reason);
        backends.push(std::move(entry));
        table.add({name, reason.empty() ? "yes" : "no: " + reason});
    }
    json.set("backends", std::move(backends));
    VulkanReport vulkan = vulkan_report(values.runtime.backend_path, built_backends());
    json.set("vulkan", std::move(vulkan.json));
    std::string text = host_text(host, json["host"]);
    text.append(table.to_string()).append(nodes_text(host)).append(vulkan.text);
    if (options.flag("numa-matrix")) {
        Result<NumaMatrix> matrix = measure_numa_matrix(options.bytes("buffer"));
        if (!matrix.ok()) {
            return report_error(matrix.error(), true);
        }
        json.set("numa_matrix", matrix_json(*matrix));
        text += matrix_text(*matrix);
    }
    int exit_code = kExitOk;
    if (!write_json(options, json, &exit_code)) {
        print_out("{}", text);
    }
    return exit_code;
}

}  // namespace leat::bench
