#include "repeat.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "baseline.h"
#include "child_process.h"
#include "commands.h"
#include "exit_codes.h"
#include "interruption.h"
#include "machine.h"
#include "output.h"
#include "result.h"
#include "screen.h"
#include "statistics.h"

namespace leat::bench {
namespace {

// The command line of one process: every option that is set, wherever it was.
std::string command_of(const Options& options, double timeout_s) {
    constexpr std::string_view kOurs[] = {"repeat", "json", "format", "baseline", "timeout"};
    std::error_code error;
    // The shell gives its process to it: what reaches the one reaches the other.
    std::string command =
        "exec " + shell_quoted(std::filesystem::read_symlink("/proc/self/exe", error).string());
    command.append(" bench --repeat=1 --json=- --format=table");
    if (options.number("timeout") > 0) {
        command += fmt::format(" --timeout={}", timeout_s);
    }
    const Json set = options.to_json();
    for (const auto& [name, value] : set.members()) {
        if (std::find(std::begin(kOurs), std::end(kOurs), name) != std::end(kOurs)) {
            continue;
        }
        if (value.is_bool()) {
            command += fmt::format(" --{}", name);
            continue;
        }
        for (const Json& item : value.is_array() ? value.items() : Json::Array{value}) {
            command.push_back(' ');
            command += shell_quoted(fmt::format("--{}={}", name, item.text()));
        }
    }
    command.append(" --");
    for (const std::string& target : options.positional()) {
        command.push_back(' ');
        command += shell_quoted(target);
    }
    return command;
}

// One result for a target from those of all processes.
Json merge(const Options& options, std::vector<Json> results) {
    Json medians = Json::array();
    for (const Json& result : results) {
        medians.push(median_of(result));
    }
    std::sort(results.begin(), results.end(),
              [](const Json& a, const Json& b) { return median_of(a) < median_of(b); });
    const double least = median_of(results.front());
    const double most = median_of(results.back());
    Json merged = results[(results.size() - 1) / 2];
    std::vector<double> values;
    for (const Json& value : medians.items()) {
        values.push_back(value.number());
    }
    const double middle = median(values);
    Json latency = merged["latency_ns"];
    latency.set("median", least > 0 ? Json(middle) : Json()).set("block_medians", medians);
    Json repeat = Json::object();
    repeat.set("processes", int64_t(results.size())).set("medians", std::move(medians));
    // Null where no run of a process ended, because each missed its deadline.
    repeat.set("spread", least > 0 ? Json(Json::Array{least / middle, most / middle}) : Json());
    merged.set("latency_ns", std::move(latency)).set("repeat", std::move(repeat));
    return merged.set("config", options.to_json());
}

void print_rows(const std::vector<Json>& results, const Options& options) {
    Table table({"target", "processes", "median", "unit", "spread of medians"});
    for (const Json& result : results) {
        const TimeUnit unit = time_unit(options.text("time-unit"), median_of(result));
        const Json::Array& spread = result["repeat"]["spread"].items();
        const bool is_known = spread.size() == 2;
        table.add({result["target"]["name"].text(),
                   fmt::format("{}", result["repeat"]["processes"].integer()),
                   is_known ? format_time(median_of(result), unit) : "n/a", unit.name,
                   is_known ? fmt::format("{:.3f}..{:.3f}", spread[0].number(), spread[1].number())
                            : "n/a"});
    }
    print_out("{}", table.to_string(table_format(options.text("format"))));
}

// Results of one process, in the order of the targets; `exit_code` is what it ended with.
Result<std::vector<Json>> run_process(const std::string& command, int& exit_code) {
    LEAT_ASSIGN_OR_RETURN(ChildOutput output, run_child(command));
    exit_code = output.exit_code;
    LEAT_ASSIGN_OR_RETURN(Json document, Json::parse(output.text));
    return results_in(document);
}

}  // namespace

int bench_in_processes(const Options& options, const std::optional<std::vector<Json>>& baseline) {
    const int64_t processes = options.integer("repeat");
    const int64_t begin_ns = now_ns();
    // The baseline is ours, not theirs, and they are given what the file of options holds.
    unsetenv("GRAPHBENCH_BASELINE");
    unsetenv("GRAPHBENCH_CONFIG");
    InterruptGuard guard;
    int exit_code = kExitOk;
    std::vector<std::vector<Json>> by_target;
    for (int64_t i = 0; i < processes; ++i) {
        const Activity activity(fmt::format("measuring in process {} of {}", i + 1, processes));
        if (i > 0) {
            sleep_until_ns(now_ns() + options.nanoseconds("cool-down", 1e9));
        }
        if (interruption() != Interruption::kNone) {
            break;
        }
        const double spent_s = double(now_ns() - begin_ns) * 1e-9;
        int code = kExitOk;
        Result<std::vector<Json>> results = run_process(
            command_of(options, std::max(0.001, options.number("timeout") - spent_s)), code);
        if (interruption() != Interruption::kNone) {
            break;  // what that process has is partial
        }
        if (!results.ok()) {
            if (code > kExitSignal) {  // else it has said why
                print_err("graphbench: process {} of {} was ended by signal {}\n", i + 1, processes,
                          code - kExitSignal);
                return kExitRuntime;
            }
            return code != kExitOk ? code : report_error(results.error());
        }
        exit_code = exit_code == kExitOk ? code : exit_code;
        by_target.resize(results->size());
        for (size_t target = 0; target < results->size(); ++target) {
            by_target[target].push_back(std::move((*results)[target]));
        }
    }
    std::vector<Json> merged;
    merged.reserve(by_target.size());
    for (std::vector<Json>& results : by_target) {
        merged.push_back(merge(options, std::move(results)));
    }
    exit_code = interruption() != Interruption::kNone ? interruption_exit_code() : exit_code;
    if (merged.empty()) {
        print_err("graphbench: interrupted before a process had ended: no results\n");
    }
    if (!merged.empty() && !write_json(options, results_document(merged), &exit_code)) {
        print_rows(merged, options);
    }
    return baseline && exit_code == kExitOk ? compare_with_baseline(*baseline, merged, options)
                                            : exit_code;
}

}  // namespace leat::bench
