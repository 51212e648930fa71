#include "target.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/files/text_file.h"
#include "built_backends.h"
#include "compile/record_check.h"
#include "conformance/data_sets.h"
#include "device_options.h"
#include "interruption.h"
#include "machine.h"
#include "output.h"
#include "saved/compiled_file.h"
#include "sweep.h"
#include "target_names.h"
#include "zoo/zoo.h"

namespace leat::bench {
namespace {

constexpr std::string_view kGenPrefix = "gen:";

bool is_generated(const std::string& spec) {
    return spec.compare(0, kGenPrefix.size(), kGenPrefix) == 0;
}

}  // namespace

std::filesystem::path file_of(const std::string& spec) {
    if (is_generated(spec)) {
        return {};
    }
    std::error_code error;
    const std::filesystem::path path = spec;
    return std::filesystem::is_directory(path, error) ? path / "model.onnx" : path;
}

Result<Target> load_target(const std::string& spec) {
    const Activity activity(fmt::format("loading '{}'", spec));
    reset_peak_memory();
    Target target;
    target.name = spec;
    int64_t begin = now_ns();
    target.file = file_of(spec);
    if (is_generated(spec)) {
        LEAT_ASSIGN_OR_RETURN(target.graph, zoo::make_network(spec.substr(kGenPrefix.size())));
    } else {
        std::error_code error;
        if (target.file != std::filesystem::path(spec) ||
            !data_sets_of(target.file.parent_path()).empty()) {
            target.folder = target.file.parent_path();
        }
        target.is_compiled = is_compiled_file(target.file);
        begin = now_ns();
        Result<Graph> graph =
            target.is_compiled ? saved_graph_of(target.file) : load_onnx(target.file);
        if (!graph.ok()) {
            return graph.error().with_file(target.file.string());
        }
        target.load_ns = now_ns() - begin;
        target.graph = std::move(graph).value();
        auto bytes = std::filesystem::file_size(target.file, error);
        target.file_bytes = error ? 0 : int64_t(bytes);
    }
    if (target.load_ns == 0) {
        target.load_ns = now_ns() - begin;
    }
    target.peak_after_load_bytes = peak_memory_bytes();
    return target;
}

namespace {

// As given; else where this build has its own, if it has not been moved.
std::string backend_path(const Options& options) {
    return options.given("backend-path") ? options.text("backend-path") : built_backends().folder;
}

Status read_backend_settings(const Options& options, RuntimeOptions& runtime) {
    for (const std::string& text : options.list("backend-setting")) {
        const auto [name, value] = split_assignment(text);
        const size_t dot = name.find('.');
        const bool has_value = text.find('=') != std::string::npos;  // an empty one is one
        if (dot == std::string::npos || dot == 0 || dot + 1 == name.size() || !has_value) {
            return invalid_argument("--backend-setting is '{}'; needed: BACKEND.NAME=VALUE", text);
        }
        runtime.backend_settings[name.substr(0, dot)][name.substr(dot + 1)] = value;
    }
    return Status();
}

}  // namespace

Result<RuntimeOptions> runtime_options(const Options& options) {
    RuntimeOptions runtime;
    std::string threads = options.text("threads");
    if (threads != "auto" && !threads.empty()) {
        const int64_t count = parse_integer(threads).value_or(0);
        if (count < 1 || count > kMostThreads) {
            return invalid_argument("--threads is '{}'; needed: auto, or a number from 1 to {}",
                                    threads, kMostThreads);
        }
        runtime.threads = int(count);
    }
    if (options.given("backend-path")) {
        std::error_code error;
        const auto found = std::filesystem::status(options.text("backend-path"), error);
        if (!std::filesystem::is_regular_file(found) && !std::filesystem::is_directory(found)) {
            return invalid_argument(
                "--backend-path is '{}': {}; needed: a shared object, or a folder with some",
                options.text("backend-path"),
                std::filesystem::exists(found) ? "a device, pipe or socket"
                                               : "no such file or folder");
        }
    }
    runtime.backend_path = backend_path(options);
    LEAT_RETURN_IF_ERROR(read_backend_settings(options, runtime));
    runtime.operator_libraries = options.list("operators");
    runtime.pin_threads = options.text("pin") != "none";
    const std::string numa = options.text("numa");
    runtime.numa.is_on = numa != "off";
    runtime.numa.requests = numa == "all"      ? RequestSpan::kAllNodes
                            : numa == "shards" ? RequestSpan::kBatchShards
                                               : RequestSpan::kAuto;
    LogLevel least = options.flag("verbose") ? LogLevel::kDebug : LogLevel::kWarning;
    if (!options.flag("quiet")) {
        runtime.logger = [least](LogLevel level, std::string_view text) {
            if (level >= least) {
                print_err("leat: {}\n", text);
            }
        };
    }
    return runtime;
}

namespace {

// Names of nodes may have '=' in them, those of devices have none.
Status read_pins(const Options& options, CompileOptions& compile) {
    for (const std::string& text : options.list("place")) {
        const size_t equals = text.rfind('=');
        if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
            return invalid_argument("--place is '{}'; needed: NODE=DEVICE", text);
        }
        const std::string device = text.substr(equals + 1);
        const std::vector<std::string> listed = split(compile.devices, ',');
        if (std::find(listed.begin(), listed.end(), device) == listed.end()) {
            return invalid_argument("--place is '{}'; needed: a device of the list, one of '{}'",
                                    text, fmt::join(listed, "', '"));
        }
        const auto [at, is_new] = compile.pins.try_emplace(text.substr(0, equals), device);
        if (!is_new && at->second != device) {
            return invalid_argument("--place pins '{}' to '{}' and to '{}'; needed: one device",
                                    at->first, at->second, device);
        }
    }
    return Status();
}

// NAME=N, or NAME=MIN..MAX.
Status read_dim(const std::string& text, CompileOptions& compile) {
    const auto [name, value] = split_assignment(text);
    const size_t dots = value.find("..");
    const std::optional<int64_t> first = parse_integer(std::string_view(value).substr(0, dots));
    const std::optional<int64_t> last =
        dots == std::string::npos ? first : parse_integer(std::string_view(value).substr(dots + 2));
    if (name.empty() || !first || !last || *last < *first) {
        return invalid_argument(
            "--dim is '{}'; needed: NAME=N, or NAME=MIN..MAX with MIN at most MAX", text);
    }
    if (compile.dims.count(name) != 0 || compile.dim_bounds.count(name) != 0) {
        return invalid_argument("--dim names '{}' twice; needed: one number, or bounds", name);
    }
    if (dots == std::string::npos) {
        compile.dims[name] = *first;
    } else {
        compile.dim_bounds[name] = {*first, *last};
    }
    return {};
}

// Of --shape and --input: whether each has a name and a value, and no name comes twice.
Status check_assignments(const Options& options, std::string_view option) {
    std::set<std::string> names;
    for (const std::string& text : options.list(option)) {
        const auto [name, value] = split_assignment(text);
        if (name.empty() || value.empty()) {
            return invalid_argument("--{} is '{}'; needed: NAME=...", option, text);
        }
        if (!names.insert(name).second) {
            return invalid_argument("--{} names '{}' twice; needed: one value", option, name);
        }
    }
    return {};
}

Result<int> requests_in_flight(const Options& options) {
    const int64_t requests = options.integer("in-flight", 1);
    if (requests > CompileOptions::kMostInFlight) {
        return invalid_argument("--in-flight is '{}'; needed: 1 to {}", options.text("in-flight"),
                                CompileOptions::kMostInFlight);
    }
    return int(requests);
}

}  // namespace

Result<CompileOptions> compile_options(const Options& options) {
    CompileOptions compile;
    compile.devices = backends_of(options);
    LEAT_RETURN_IF_ERROR(read_pins(options, compile));
    compile.placement_policy =
        options.text("place-by") == "cost" ? PlacementPolicy::kCost : PlacementPolicy::kListOrder;
    const std::string divide = options.text("divide");
    compile.divide_operators = divide == "off"       ? DivideOperators::kNever
                               : divide == "reduced" ? DivideOperators::kChangingBits
                                                     : DivideOperators::kKeepingBits;
    if (const std::string configuration = options.text("device-configuration");
        !configuration.empty()) {
        compile.device_configuration = configuration == "none" ? std::string() : configuration;
    }
    std::string fallback = options.text("fallback");
    compile.fallback = fallback == "forbid"  ? Fallback::kForbid
                       : fallback == "allow" ? Fallback::kAllow
                                             : Fallback::kWarn;
    LEAT_ASSIGN_OR_RETURN(compile.requests_in_flight, requests_in_flight(options));
    compile.calibrate = options.flag("calibrate") ? Calibrate::kMissing : Calibrate::kNever;
    compile.memory_limit_bytes = options.bytes("memory-limit");
    compile.optimize = options.text("optimize") != "off";
    for (const std::string& text : options.list("dim")) {
        LEAT_RETURN_IF_ERROR(read_dim(text, compile));
    }
    LEAT_RETURN_IF_ERROR(check_assignments(options, "input"));
    LEAT_RETURN_IF_ERROR(check_assignments(options, "shape"));
    LEAT_ASSIGN_OR_RETURN(std::vector<SweepCase> cases, sweep_cases(options.list("shape")));
    // The cases of a sweep are for bench to set.
    if (cases.size() > 1 && options.command().bit != kBench) {
        return invalid_argument("--shape has alternatives, and {} takes one shape; needed: bench",
                                options.command().name);
    }
    compile.shapes = cases.front().shapes;
    return compile;
}

Result<CompileOptions> compile_options_of(const Target& target, const Options& options) {
    LEAT_ASSIGN_OR_RETURN(CompileOptions compile, compile_options(options));
    if (gives_names(options)) {
        keep_own_names(names_of(target), compile);
    }
    return compile;
}

Result<CompiledGraph> compile_target(const Runtime& runtime,
                                     const Target& target,
                                     const CompileOptions& options) {
    return target.is_compiled ? runtime.load(target.file) : runtime.compile(target.graph, options);
}

namespace {

// One of several may lack names that others have.
Status check_own_names(const Target& target, const Options& options) {
    if (options.positional().size() > 1 || !gives_names(options)) {
        return {};
    }
    const TargetNames names = names_of(target);
    return check_names(options, std::span(&names, 1));
}

}  // namespace

Status check_options_of(const Target& target, const Options& options) {
    constexpr std::string_view kOfCompilation[] = {
        "annotate", "backend",  "calibrate", "device",       "device-configuration",
        "divide",   "fallback", "in-flight", "memory-limit", "optimize",
        "place",    "place-by"};
    if (!target.is_compiled) {
        return check_own_names(target, options);
    }
    const auto refuse = [&target](std::string_view name) {
        return invalid_argument("--{} says how to compile, but '{}' is compiled already", name,
                                target.name)
            .with_hint("compile the model with it: graphbench compile MODEL --save FILE");
    };
    for (const std::string_view name : kOfCompilation) {
        if (options.given(name)) {
            return refuse(name);
        }
    }
    // An extent is of the inputs, but bounds are of the plans.
    LEAT_ASSIGN_OR_RETURN(const CompileOptions compile, compile_options(options));
    if (!compile.dim_bounds.empty()) {
        return refuse("dim");
    }
    LEAT_RETURN_IF_ERROR(check_own_names(target, options));
    if (options.command().bit == kBench && options.given("trace")) {
        return invalid_argument("--trace needs a program that records its runs; '{}' is compiled",
                                target.name)
            .with_hint("bench the model itself, or trace one step after the other with profile");
    }
    return {};
}

}  // namespace leat::bench
