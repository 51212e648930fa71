// graphbench: measures and checks data-flow graphs. Results on stdout, everything else on stderr.
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "exit_codes.h"
#include "files.h"
#include "interruption.h"
#include "leat/runtime.h"
#include "machine.h"
#include "options.h"
#include "output.h"
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
    print_err("graphbench: no command '{}'{} There are: {}\n", name, zoo::did_you_mean(name, names),
              zoo::comma_list(names));
    return kExitUsage;
}

int print_help(const std::vector<std::string>& arguments) {
    if (arguments.size() < 2) {
        print_text(general_help());
        return kExitOk;
    }
    const CommandInfo* command = find_command(arguments[1]);
    if (command == nullptr) {
        return unknown_command(arguments[1]);
    }
    print_text(help_for(*command));
    return kExitOk;
}

// After its options were read.
int run_checked(const CommandInfo& command, const Options& options) {
    if (const Status status = check_values(options); !status.ok()) {
        return usage_error(options, status);
    }
    if (std::string file = options.text("dump-config"); !file.empty()) {
        Status status = write_text_file(file, options.to_json().dump() + "\n");
        return status.ok() ? kExitOk : report_error(status);
    }
    if (command.arguments.empty() && !options.positional().empty()) {
        return usage_error(
            options, fmt::format("takes no arguments, and there is '{}'", options.positional()[0]));
    }
    if (const int code = check_outputs(options); code != kExitOk) {
        return code;
    }
    if (std::string cpus = options.text("cpus"); !cpus.empty()) {
        if (Status status = restrict_to_cpus(cpus); !status.ok()) {
            return usage_error(options, status);
        }
    }
    const Timeout timeout(options.number("timeout"));
    return run_command_named(command, options);
}

int dispatch(std::vector<std::string> arguments) {
    if (arguments.empty()) {
        print_message(general_help());
        return kExitUsage;
    }
    const std::string name = arguments[0];
    if (name == "--help" || name == "-h" || name == "help") {
        return print_help(arguments);
    }
    if (name == "--version") {
        print_out("graphbench {}\n", version());
        return kExitOk;
    }
    const CommandInfo* command = find_command(name);
    if (command == nullptr) {
        return unknown_command(name);
    }
    arguments.erase(arguments.begin());
    const Result<Options> options = Options::parse(*command, std::move(arguments));
    if (!options.ok()) {
        return usage_error(*command, options.error());
    }
    if (options->flag("help")) {
        print_text(help_for(*command));
        return kExitOk;
    }
    return run_checked(*command, *options);
}

int run_main(std::vector<std::string> arguments) {
    prepare_standard_streams();
    int code = kExitInternal;
    try {
        code = dispatch(std::move(arguments));
    } catch (const std::bad_alloc&) {
        print_message("graphbench: out of memory\n");
        code = kExitMemory;
    } catch (const std::exception& error) {
        print_err("graphbench: {}\n", error.what());
    }
    return check_printed(code, /*is_end=*/true);
}

}  // namespace
}  // namespace leat::bench

int main(int argc, char** argv) {
    return leat::bench::run_main(std::vector<std::string>(argv + 1, argv + argc));
}
