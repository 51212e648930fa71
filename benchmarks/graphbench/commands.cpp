// What the commands share, and the small ones: gen, doctor.
#include "commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>

#include "exit_codes.h"
#include "files.h"
#include "leat/onnx.h"
#include "leat/runtime.h"
#include "machine.h"
#include "screen.h"
#include "target.h"
#include "zoo/zoo.h"

namespace leat::bench {

int report_error(const Status& status, bool at_run) {
    fmt::print(stderr, "graphbench: {}\n", status.message());
    return exit_code_for(status, at_run);
}

int usage_error(const Options& options, const std::string& text) {
    fmt::print(stderr,
               "graphbench {0}: {1}\nusage: graphbench {0} {2}   ('graphbench {0} --help')\n",
               options.command().name, text, options.command().arguments);
    return kExitUsage;
}

bool wants_json(const Options& options) {
    return !options.text("json").empty() || options.text("format") == "json";
}

bool write_json(const Options& options, const Json& json, int* exit_code) {
    std::string file = options.text("json");
    bool to_stdout = file == "-" || options.text("format") == "json";
    if (file.empty() && to_stdout) {
        file.assign(1, '-');
    }
    if (!file.empty()) {
        if (Status status = write_text_file(file, json.dump() + "\n"); !status.ok()) {
            *exit_code = report_error(status);
        }
    }
    return to_stdout;
}

int gen_command(const Options& options) {
    if (options.positional().empty()) {
        Table table({"network", "parameters", "what"});
        for (const zoo::NetworkInfo& network : zoo::networks()) {
            std::string parameters;
            for (const zoo::ParameterInfo& parameter : network.parameters) {
                parameters += fmt::format("{}{}={}", parameters.empty() ? "" : ",", parameter.name,
                                          parameter.default_value);
            }
            table.add({std::string(network.name), parameters, std::string(network.summary)});
        }
        fmt::print("{}", table.to_string());
        return kExitOk;
    }
    std::string file = options.text("save");
    if (options.positional().size() != 1 || file.empty()) {
        return usage_error(options, "needs one NAME and --save FILE");
    }
    std::string spec = options.positional()[0];
    if (spec.compare(0, 4, "gen:") == 0) {
        spec = spec.substr(4);
    }
    Result<Graph> graph = zoo::make_network(spec);
    if (!graph.ok()) {
        fmt::print(stderr, "graphbench: {}\n", graph.error().text());
        return kExitUsage;
    }
    if (Status status = save_onnx(*graph, file); !status.ok()) {
        return report_error(status);
    }
    if (!options.flag("quiet")) {
        fmt::print(stderr, "wrote {} ({} nodes, {} of constants) to {}\n", spec,
                   graph->node_count(), format_bytes(double(graph->parameter_bytes())), file);
    }
    return kExitOk;
}

int doctor_command(const Options& options) {
    Result<RuntimeOptions> wanted = runtime_options(options);
    if (!wanted.ok()) {
        return usage_error(options, wanted.error().text());
    }
    Runtime runtime(*wanted);
    const HostInfo& host = runtime.host();
    CpuUsage before = cpu_usage();
    double capacity = host.threads > 1 ? parallel_capacity(host.threads) : 1;
    CpuUsage usage = cpu_usage() - before;
    double steal = double(usage.steal_ns) /
                   std::max(1.0, double(usage.wall_ns) * std::max(1, host.hardware_cpus));
    std::string governor = host_json(host)["governor"].text();
    struct Finding {
        std::string name;
        std::string value;
        bool fit;
    };
    constexpr double kCapacityShare = 0.9;
    const Finding findings[] = {
        {"parallel capacity", fmt::format("{:.2f} of {} threads", capacity, host.threads),
         capacity >= kCapacityShare * host.threads},
        {"steal", fmt::format("{:.1f} %", steal * 100), steal < 0.01},
        {"governor", governor.empty() ? "not visible" : governor,
         governor.empty() || governor == "performance"},
        {"threads", fmt::format("{} by {}", host.threads, host.threads_source), host.threads > 0},
    };
    Json json = Json::object();
    json.set("schema", 1);
    json.set("host", host_json(host));
    Table table({"check", "found", "fit"});
    bool fit = true;
    Json checks = Json::array();
    for (const Finding& finding : findings) {
        table.add({finding.name, finding.value, finding.fit ? "yes" : "NO"});
        Json entry = Json::object();
        entry.set("name", finding.name).set("found", finding.value).set("fit", finding.fit);
        checks.push(std::move(entry));
        fit = fit && finding.fit;
    }
    json.set("checks", std::move(checks));
    json.set("parallel_capacity", capacity);
    json.set("fit", fit);
    int exit_code = fit ? kExitOk : kExitUnfit;
    if (!write_json(options, json, &exit_code)) {
        fmt::print("{}", table.to_string());
    }
    return exit_code;
}

}  // namespace leat::bench
