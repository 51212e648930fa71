// Exit codes of graphbench; scripts depend on them.
#pragma once

#include "leat/status.h"

namespace leat::bench {

enum ExitCode : int {
    kExitOk = 0,
    kExitRegression = 1,     // compare or baseline regression, or a check that does not match
    kExitUsage = 2,          // bad command line
    kExitTarget = 3,         // the target cannot be loaded or has unsupported operators
    kExitPlacement = 4,      // a placement rule is broken
    kExitMemory = 5,         // out of memory or over --memory-limit
    kExitDevice = 6,         // device or backend not available
    kExitDeadline = 7,       // timeout or deadline rule broken
    kExitRuntime = 8,        // device lost or failure at run time
    kExitUnfit = 9,          // the measurement is unfit (--require-stable, doctor)
    kExitInternal = 70,      // a bug of leat
    kExitInterrupted = 130,  // interrupted; partial results are written
};

// The exit code for an error that `status` describes, when it happened in loading or compiling
// (`at_run` false) or in running.
inline int exit_code_for(const Status& status, bool at_run = false) {
    switch (status.code()) {
        case StatusCode::kOk:
            return kExitOk;
        case StatusCode::kPlacement:
            return kExitPlacement;
        case StatusCode::kOutOfMemory:
            return kExitMemory;
        case StatusCode::kTimeout:
            return kExitDeadline;
        case StatusCode::kDeviceLost:
            return kExitRuntime;
        case StatusCode::kCancelled:
            return kExitInterrupted;
        case StatusCode::kInternal:
            return kExitInternal;
        default:
            return at_run ? kExitRuntime : kExitTarget;
    }
}

}  // namespace leat::bench
