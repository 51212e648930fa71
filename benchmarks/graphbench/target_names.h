// The names that options give to parts of a target: inputs (--shape, --input), symbolic extents
// (--dim) and nodes (--place).
//
// With several targets an option is for those that have the name; a name that none has is an error,
// before anything is measured. Alternatives of a sweep make a case of every target, so every target
// has to have their input.
#pragma once

#include <set>
#include <span>
#include <string>

#include "leat/runtime.h"
#include "leat/status.h"
#include "options.h"

namespace leat::bench {

struct Target;

struct TargetNames {
    using Set = std::set<std::string, std::less<>>;
    Set inputs;   // also those with a value of their own
    Set extents;  // of these
    Set nodes;
};
TargetNames names_of(const Target& target);

// Whether some option gives a name: else there is nothing to check.
bool gives_names(const Options& options);

// Errors: invalid_argument, with the option, the name, the closest one and all that there are.
Status check_names(const Options& options, std::span<const TargetNames> targets);

// Leaves out what is of other targets.
void keep_own_names(const TargetNames& own, CompileOptions& compile);

}  // namespace leat::bench
