// What the commands share, and the small ones: gen, doctor.
#include "commands.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>

#include "base/error.h"
#include "device_options.h"
#include "exit_codes.h"
#include "files.h"
#include "leat/onnx.h"
#include "leat/runtime.h"
#include "machine.h"
#include "measure.h"
#include "output.h"
#include "screen.h"
#include "statistics.h"
#include "target.h"
#include "zoo/zoo.h"

namespace leat::bench {

int report_error(const Status& status, bool at_run) {
    return report_error(status, exit_code_for(status, at_run));
}

int report_error(const Status& status, int exit_code) {
    print_err("graphbench: {}\n", status.message());
    return exit_code;
}

int usage_error(const CommandInfo& command, const std::string& text) {
    print_err("graphbench {0}: {1}\nusage: graphbench {0} {2}   ('graphbench {0} --help')\n",
              command.name, text, command.arguments);
    return kExitUsage;
}

// The exit code says what the status' own code would.
int usage_error(const CommandInfo& command, const Status& status) {
    const std::string message = status.message();
    const size_t code_and_colon = name_of(status.code()).size() + 2;
    return usage_error(command, message.substr(std::min(message.size(), code_and_colon)));
}

Result<OptionValues> read_values(const Options& options) {
    OptionValues values;
    LEAT_ASSIGN_OR_RETURN(values.runtime, runtime_options(options));
    if (options.takes("optimize")) {
        LEAT_RETURN_IF_ERROR(check_device_options(options));
        LEAT_ASSIGN_OR_RETURN(values.compile, compile_options(options));
        LEAT_ASSIGN_OR_RETURN(values.sweep, sweep_cases(options.list("shape")));
    }
    if (options.takes("percentiles")) {
        LEAT_ASSIGN_OR_RETURN(values.measure, measure_options(options));
        LEAT_RETURN_IF_ERROR(parse_percentiles(options.text("percentiles")).error());
    }
    for (const std::string& label : options.list("label")) {
        if (const size_t equals = label.find('='); equals == std::string::npos || equals == 0) {
            return invalid_argument("--label is '{}'; needed: KEY=VALUE", label);
        }
    }
    return values;
}

int check_outputs(const Options& options) {
    std::map<std::string, std::string_view> option_of_file;
    for (const OptionInfo& option : option_table()) {
        if (option.kind != OptionKind::kOutput || !options.takes(option.name) ||
            !options.given(option.name)) {
            continue;
        }
        const std::string path = options.text(option.name);
        std::error_code error;
        // One file has many names.
        const std::filesystem::path absolute = std::filesystem::absolute(path, error);
        const std::filesystem::path resolved = std::filesystem::weakly_canonical(absolute, error);
        const auto [other, is_first] =
            option_of_file.emplace(error || path == "-" ? path : resolved.string(), option.name);
        if (!is_first && path != "-" && path.compare(0, 5, "/dev/") != 0) {
            return usage_error(options, fmt::format("--{} and --{} both write '{}'", other->second,
                                                    option.name, path));
        }
        for (const std::string& spec : options.positional()) {
            // An annotated model may replace the one that it was made of.
            if (option.name != "annotate" &&
                std::filesystem::equivalent(file_of(spec), path, error)) {
                return usage_error(options, fmt::format("--{} would replace '{}', which is read",
                                                        option.name, path));
            }
        }
        const bool is_folder = option.name == "save" && options.command().bit == kRun;
        const Status status = is_folder ? check_writable_folder(path) : check_writable(path);
        if (!status.ok()) {
            return report_error(status);
        }
    }
    return kExitOk;
}

int report_backends(const Runtime& runtime, const std::string& backends) {
    if (const Status status = check_backends(runtime, backends); !status.ok()) {
        report_error(status);
        return kExitDevice;
    }
    return kExitOk;
}

int check_printed(int exit_code, bool is_end) {
    static bool is_told = false;
    const Status status = is_end ? close_output() : flush_output();
    if (status.ok()) {
        return exit_code;
    }
    const int error_code = is_told ? exit_code_for(status) : report_error(status);
    is_told = true;
    return exit_code == kExitOk ? error_code : exit_code;
}

bool wants_json(const Options& options) {
    return !options.text("json").empty() || options.text("format") == "json";
}

bool write_json(const Options& options, const Json& json, int* exit_code) {
    const std::string file = options.text("json");
    const bool to_stdout = file == "-" || options.text("format") == "json";
    const std::string text = json.dump() + "\n";
    if (to_stdout) {
        print_text(text);
    }
    if (!file.empty() && file != "-") {
        if (const Status status = write_text_file(file, text); !status.ok()) {
            const int code = report_error(status);
            *exit_code = *exit_code == kExitOk ? code : *exit_code;
        }
    }
    return to_stdout;
}

Result<int> gen_command(const Options& options, const OptionValues& /*values*/) {
    if (options.positional().empty() && !options.given("save")) {
        Table table({"network", "parameters", "what"});
        for (const zoo::NetworkInfo& network : zoo::networks()) {
            std::string parameters;
            for (const zoo::ParameterInfo& parameter : network.parameters) {
                parameters += fmt::format("{}{}={}", parameters.empty() ? "" : ",", parameter.name,
                                          parameter.default_value);
            }
            table.add({std::string(network.name), parameters, std::string(network.summary)});
        }
        print_out("{}", table.to_string());
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
    LEAT_ASSIGN_OR_RETURN(const Graph graph, zoo::make_network(spec));
    LEAT_RETURN_IF_ERROR(save_onnx(graph, file));
    if (!options.flag("quiet")) {
        print_err("wrote {} ({} nodes, {} of constants) to {}\n", spec, graph.node_count(),
                  format_bytes(double(graph.parameter_bytes())), file);
    }
    return kExitOk;
}

Result<int> doctor_command(const Options& options, const OptionValues& values) {
    Runtime runtime(values.runtime);
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
        print_out("{}", table.to_string());
    }
    return exit_code;
}

}  // namespace leat::bench
