// The subcommands. Each returns graphbench's exit code and prints its own results and errors, but
// for an error that it returns: it is printed, and its code says how the program exits.
#pragma once

#include <vector>

#include "leat/runtime.h"
#include "leat/status.h"
#include "measure.h"
#include "options.h"
#include "sweep.h"

namespace leat::bench {

// What the options of a command say.
struct OptionValues {
    RuntimeOptions runtime;
    CompileOptions compile;        // of the commands that compile, as the next
    std::vector<SweepCase> sweep;  // at least one
    MeasureOptions measure;        // of bench
};

Result<int> bench_command(const Options& options, const OptionValues& values);
Result<int> profile_command(const Options& options, const OptionValues& values);
Result<int> run_command(const Options& options, const OptionValues& values);
Result<int> check_command(const Options& options, const OptionValues& values);
Result<int> conformance_command(const Options& options, const OptionValues& values);
Result<int> inspect_command(const Options& options, const OptionValues& values);
Result<int> compile_command(const Options& options, const OptionValues& values);
Result<int> gen_command(const Options& options, const OptionValues& values);
Result<int> devices_command(const Options& options, const OptionValues& values);
Result<int> plan_command(const Options& options, const OptionValues& values);
Result<int> compare_command(const Options& options, const OptionValues& values);
Result<int> doctor_command(const Options& options, const OptionValues& values);

// Prints "graphbench: <message>" on stderr and returns the exit code that suits.
int report_error(const Status& status, bool at_run = false);
// The same with another exit code, which it returns.
int report_error(const Status& status, int exit_code);
// A usage error: prints and returns 2.
int usage_error(const CommandInfo& command, const std::string& text);
int usage_error(const CommandInfo& command, const Status& status);
// What is wrong is a text or a Status.
template <class Problem>
int usage_error(const Options& options, const Problem& problem) {
    return usage_error(options.command(), problem);
}
// An error of the command line that needs no target to be seen: values that are not what the option
// takes, or do not fit each other.
Result<OptionValues> read_values(const Options& options);
// Whether what the options name can be written, before there is something to write. An exit code.
int check_outputs(const Options& options);
// Prints what is wrong with the devices of a list; 0, or exit code 6.
int report_backends(const Runtime& runtime, const std::string& backends);
// Whatever ended a command: what it printed is where it belongs, or that is an error, which is
// printed once. The exit code of both; `is_end`: nothing is printed afterwards.
int check_printed(int exit_code, bool is_end);
// True when write_json() will write something.
bool wants_json(const Options& options);
// Writes the JSON where --json and --format say; true when standard output is taken by it. Where it
// cannot be written, an exit code of 0 becomes that of the error.
bool write_json(const Options& options, const Json& json, int* exit_code);

}  // namespace leat::bench
