// graphbench: measures and checks data-flow graphs. Results on stdout, everything else on stderr.
#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <vector>

#include "commands.h"
#include "exit_codes.h"
#include "files.h"
#include "interruption.h"
#include "leat/runtime.h"
#include "machine.h"
#include "options.h"
#include "zoo/suggestion.h"

namespace leat::bench {
namespace {

int run_command_named(const CommandInfo& command, const Options& options) {
    switch (command.bit) {
        case kBench:
            return bench_command(options);
        case kProfile:
            return profile_command(options);
        case kRun:
            return run_command(options);
        case kCheck:
            return check_command(options);
        case kConformance:
            return conformance_command(options);
        case kInspect:
            return inspect_command(options);
        case kCompile:
            return compile_command(options);
        case kGen:
            return gen_command(options);
        case kDevices:
            return devices_command(options);
        case kPlan:
            return plan_command(options);
        case kCompare:
            return compare_command(options);
        default:
            return doctor_command(options);
    }
}

int unknown_command(const std::string& name) {
    std::vector<std::string_view> names;
    for (const CommandInfo& command : command_table()) {
        names.push_back(command.name);
    }
    fmt::print(stderr, "graphbench: no command '{}'{} There are: {}\n", name,
               zoo::did_you_mean(name, names), zoo::comma_list(names));
    return kExitUsage;
}

int dispatch(std::vector<std::string> arguments) {
    if (arguments.empty()) {
        fmt::print(stderr, "{}", general_help());
        return kExitUsage;
    }
    std::string name = arguments[0];
    if (name == "--help" || name == "-h" || name == "help") {
        fmt::print("{}", general_help());
        return kExitOk;
    }
    if (name == "--version") {
        fmt::print("graphbench {}\n", version());
        return kExitOk;
    }
    const CommandInfo* command = find_command(name);
    if (command == nullptr) {
        return unknown_command(name);
    }
    arguments.erase(arguments.begin());
    Result<Options> options = Options::parse(*command, std::move(arguments));
    if (!options.ok()) {
        fmt::print(stderr, "graphbench: {}\n", options.error().text());
        return kExitUsage;
    }
    if (options->flag("help")) {
        fmt::print("{}", help_for(*command));
        return kExitOk;
    }
    if (std::string file = options->text("dump-config"); !file.empty()) {
        Status status = write_text_file(file, options->to_json().dump() + "\n");
        return status.ok() ? kExitOk : report_error(status);
    }
    if (std::string cpus = options->text("cpus"); !cpus.empty()) {
        if (Status status = restrict_to_cpus(cpus); !status.ok()) {
            fmt::print(stderr, "graphbench: {}\n", status.text());
            return kExitUsage;
        }
    }
    const Timeout timeout(options->number("timeout"));
    return run_command_named(*command, *options);
}

}  // namespace
}  // namespace leat::bench

int main(int argc, char** argv) {
    return leat::bench::dispatch(std::vector<std::string>(argv + 1, argv + argc));
}
