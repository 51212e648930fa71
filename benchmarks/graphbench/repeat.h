// bench --repeat N: the same measurement in N processes.
#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "options.h"

namespace leat::bench {

// What a process draws once (where its memory lies, which CPUs it gets) shifts all of its runs
// alike: only other processes show how much. Prints a row for each target; the JSON is that of the
// process in the middle, with the medians of all as its blocks. Returns the exit code.
int bench_in_processes(const Options& options, const std::optional<std::vector<Json>>& baseline);

}  // namespace leat::bench
