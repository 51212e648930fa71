// bench --baseline FILE: a result of earlier that this one has to keep up with.
#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "leat/status.h"
#include "options.h"
#include "sweep.h"

namespace leat::bench {

// What the file of --baseline holds; nullopt where none is given. It is of the same targets, by
// name or by the sha256 of their files, and of the same options, but for those that say how long to
// measure and what to print. So it is known before anything is measured that it can be compared.
// Errors name the file, the field, what it is and what is needed: kNotFound and kParse for a file
// that is no result, kInvalidArgument for one of something else.
Result<std::optional<std::vector<Json>>> read_baseline(const Options& options,
                                                       const std::vector<SweepCase>& sweep);

// Prints a ratio for every target; exit code 1 when an interval lies beyond --max-regress.
int compare_with_baseline(const std::vector<Json>& baseline,
                          const std::vector<Json>& results,
                          const Options& options);

}  // namespace leat::bench
