// graphbench compile: writes a compiled graph to a file, and says what loading it takes.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "commands.h"
#include "device_options.h"
#include "exit_codes.h"
#include "output.h"
#include "result.h"
#include "screen.h"
#include "statistics.h"
#include "target.h"

namespace leat::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kLoads = 20;

double ms_since(Clock::time_point start) {
    return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

struct CompileOutcome {
    double compile_ms = 0;
    double save_ms = 0;
    std::vector<double> load_ms;  // one after the other, in this Runtime
    int64_t file_bytes = 0;
    int64_t mapped_bytes = 0;  // of packed constants that are read where they are
    int64_t plan_count = 0;
};

// The graph that was compiled is gone before the first load, which packs nothing all the same.
Result<CompileOutcome> compile_and_load(const Runtime& runtime,
                                        const Target& target,
                                        const CompileOptions& options,
                                        const SaveOptions& save,
                                        const std::filesystem::path& file) {
    CompileOutcome outcome;
    {
        const auto start = Clock::now();
        LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, runtime.compile(target.graph, options));
        outcome.compile_ms = ms_since(start);
        const auto start_of_save = Clock::now();
        LEAT_RETURN_IF_ERROR(compiled.save(file, save));
        outcome.save_ms = ms_since(start_of_save);
    }
    for (int load = 0; load < kLoads; ++load) {
        const auto start = Clock::now();
        LEAT_ASSIGN_OR_RETURN(const CompiledGraph loaded, runtime.load(file));
        outcome.load_ms.push_back(ms_since(start));
        const CompileReport report = loaded.report();
        outcome.mapped_bytes = report.mapped_weight_bytes;
        outcome.plan_count = int64_t(report.plans.size());
    }
    std::error_code unknown;
    outcome.file_bytes = int64_t(std::filesystem::file_size(file, unknown));
    return outcome;
}

Json to_json(const Target& target, const CompileOutcome& outcome) {
    Json json = Json::object();
    json.set("schema", kSchema).set("target", target.name);
    json.set("compile_ms", outcome.compile_ms).set("save_ms", outcome.save_ms);
    json.set("load_first_ms", outcome.load_ms.front());
    json.set("load_median_ms", median(outcome.load_ms));
    json.set("load_max_ms", *std::max_element(outcome.load_ms.begin(), outcome.load_ms.end()));
    json.set("loads", int64_t(outcome.load_ms.size())).set("plans", outcome.plan_count);
    json.set("file_bytes", outcome.file_bytes).set("mapped_weight_bytes", outcome.mapped_bytes);
    return json;
}

}  // namespace

Result<int> compile_command(const Options& options, const OptionValues& values) {
    if (!options.given("save")) {
        return usage_error(options, "needs --save FILE");
    }
    const Runtime runtime(values.runtime);
    const std::string& devices = values.compile.devices;
    if (const int code = report_backends(runtime, devices); code != kExitOk) {
        return code;
    }
    LEAT_ASSIGN_OR_RETURN(const Target target, load_target(options.positional()[0]));
    if (target.is_compiled) {
        return usage_error(options, fmt::format("'{}' is compiled already", target.name));
    }
    if (const Status status = check_options_of(target, options); !status.ok()) {
        return usage_error(options, status);
    }
    const Result<CompileOutcome> outcome = compile_and_load(
        runtime, target, values.compile, {.refers_to_model = options.text("weights") == "refer"},
        options.text("save"));
    if (!outcome.ok()) {
        return report_error(outcome.error(),
                            exit_code_for_devices(runtime, devices, outcome.error()));
    }
    int exit_code = kExitOk;
    if (!write_json(options, to_json(target, *outcome), &exit_code)) {
        print_out("{}: compiled in {:.1f} ms, saved in {:.1f} ms: {}, {} plans\n", target.name,
                  outcome->compile_ms, outcome->save_ms, format_bytes(double(outcome->file_bytes)),
                  outcome->plan_count);
        print_out(
            "loaded {} times: first {:.2f} ms, median {:.2f} ms, longest {:.2f} ms; {} of "
            "packed constants mapped\n",
            kLoads, outcome->load_ms.front(), median(outcome->load_ms),
            *std::max_element(outcome->load_ms.begin(), outcome->load_ms.end()),
            format_bytes(double(outcome->mapped_bytes)));
    }
    return exit_code;
}

}  // namespace leat::bench
