// graphbench: measures and checks data-flow graphs. Results on stdout, everything else on stderr.
#include <algorithm>
#include <exception>
#include <iterator>
#include <new>
#include <string>
#include <string_view>
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

using RunCommand = Result<int> (*)(const Options& options, const OptionValues& values);
constexpr std::pair<CommandBit, RunCommand> kRunCommands[] = {
    {kBench, bench_command}, {kProfile, profile_command}, {kRun, run_command},
    {kCheck, check_command}, {kInspect, inspect_command}, {kConformance, conformance_command},
    {kGen, gen_command},     {kCompile, compile_command}, {kDevices, devices_command},
    {kPlan, plan_command},   {kCompare, compare_command}, {kDoctor, doctor_command}};

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
    const Result<OptionValues> values = read_values(options);
    if (!values.ok()) {
        return usage_error(options, values.error());
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
    const std::string_view takes = command.arguments.substr(0, command.arguments.find(' '));
    if (takes == "TARGET" && options.positional().size() != 1) {
        return usage_error(options, "needs one TARGET");
    }
    const Timeout timeout(options.number("timeout"));
    const auto* const run =
        std::find_if(std::begin(kRunCommands), std::end(kRunCommands),
                     [&command](const auto& row) { return row.first == command.bit; });
    const Result<int> exit_code = run->second(options, *values);
    return exit_code.ok() ? *exit_code : report_error(exit_code.error());
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
