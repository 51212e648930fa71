// Comparing results: a new one with an old one, or commands with each other.
#pragma once

#include <vector>

#include "base/json.h"
#include "options.h"

namespace leat::bench {

// bench --baseline FILE: prints a ratio for every target that both have; exit code 1 when an
// interval lies beyond --max-regress.
int compare_with_baseline(const std::vector<Json>& results, const Options& options);

}  // namespace leat::bench
