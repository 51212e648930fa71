// Exit codes of graphbench; scripts depend on them.
#pragma once

#include <string_view>

#include "leat/status.h"

namespace leat::bench {

enum ExitCode : int {
    kExitOk = 0,
    kExitRegression = 1,
    kExitUsage = 2,
    kExitTarget = 3,
    kExitPlacement = 4,
    kExitMemory = 5,
    kExitDevice = 6,
    kExitDeadline = 7,
    kExitRuntime = 8,
    kExitUnfit = 9,
    kExitInternal = 70,
    kExitSignal = 128,  // and the signal's number
};

struct ExitCodeInfo {
    int code;
    std::string_view meaning;
};
// What `graphbench --help` lists.
inline constexpr ExitCodeInfo kExitCodes[] = {
    {kExitOk, "success"},
    {kExitRegression, "slower than --max-regress allows, or a check that does not match"},
    {kExitUsage,
     "the command line, also a name in it that no target has, or a --baseline of other "
     "measurements"},
    {kExitTarget,
     "a file cannot be read, a target cannot be compiled, or a result cannot be "
     "written"},
    {kExitPlacement, "a placement rule cannot be met"},
    {kExitMemory, "out of memory, or over --memory-limit or --capacity"},
    {kExitDevice, "a device or backend that is not there"},
    {kExitDeadline, "--timeout passed, or a run missed its --deadline"},
    {kExitRuntime, "an error of a run, or a device that was lost"},
    {kExitUnfit, "too noisy to measure (--require-stable, doctor)"},
    {kExitInternal, "a bug of leat"},
    {kExitSignal + 1, "hung up (SIGHUP); partial results are written, as after 130 and 143"},
    {kExitSignal + 2, "interrupted (SIGINT, Ctrl-C)"},
    {kExitSignal + 15, "terminated (SIGTERM)"},
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
            return kExitSignal + 2;
        case StatusCode::kInternal:
            return kExitInternal;
        default:
            return at_run ? kExitRuntime : kExitTarget;
    }
}

}  // namespace leat::bench
