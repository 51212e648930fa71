// Extensions of the C ABI for devices whose time is not the host's: when a submission ran, and a
// clock that moves only while nobody has work to do. A backend that lacks them ignores the first
// and answers null for the second. docs/backends.md, "Virtual time", is their contract.
#ifndef LEAT_PLUGIN_CLOCK_H
#define LEAT_PLUGIN_CLOCK_H

#include "leat/plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

// In the chain of a LeatSubmission: the host's, written before the signal point is reached, and
// left as it was where the submission did not run.
#define LEAT_SUBMISSION_TIMES "leat.submission_times"
typedef struct LeatSubmissionTimes {
    LeatChained chained;  // its name is LEAT_SUBMISSION_TIMES
    int64_t begin_ticks;  // see clock_correlation()
    int64_t end_ticks;
} LeatSubmissionTimes;

// get_extension(LEAT_VIRTUAL_CLOCK): a table that lives as long as the backend. Null where time
// passes by itself. Times are nanoseconds of the clock, which begins at 0 with the backend and is
// that of all its devices: their ticks. These entries may also be called from callbacks.
#define LEAT_VIRTUAL_CLOCK "leat.virtual_clock"
typedef struct LeatVirtualClock {
    LeatHeader header;
    int64_t (*now_ns)(LeatBackend* backend);
    // The host has work: time stands still until each hold is released. kLeatInvalidArgument for a
    // release too many.
    LeatCode (*hold)(LeatBackend* backend);
    LeatCode (*release)(LeatBackend* backend);
    // A callback at that time, or now if it is over: how a host gives its own work a duration.
    // Its code is kLeatCancelled where the backend is shut down before.
    LeatCode (*call_at)(LeatBackend* backend, int64_t time_ns, LeatReached callback, void* user);
} LeatVirtualClock;

#ifdef __cplusplus
}
#endif

#endif
