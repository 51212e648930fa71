// The subcommands. Each returns graphbench's exit code and prints its own results and errors.
#pragma once

#include "leat/status.h"
#include "options.h"

namespace leat::bench {

int bench_command(const Options& options);
int profile_command(const Options& options);
int run_command(const Options& options);
int check_command(const Options& options);
int conformance_command(const Options& options);
int inspect_command(const Options& options);
int compile_command(const Options& options);
int gen_command(const Options& options);
int devices_command(const Options& options);
int plan_command(const Options& options);
int compare_command(const Options& options);
int doctor_command(const Options& options);

// Prints "graphbench: <message>" on stderr and returns the exit code that suits.
int report_error(const Status& status, bool at_run = false);
// A usage error: prints and returns 2.
int usage_error(const Options& options, const std::string& text);
// True when write_json() will write something.
bool wants_json(const Options& options);
// Writes the JSON where --json says; true when standard output is taken by it.
bool write_json(const Options& options, const Json& json, int* exit_code);

}  // namespace leat::bench
