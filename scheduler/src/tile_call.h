// Calling user code, and asking whether a run should stop: what the executors share.
#pragma once

#include <chrono>
#include <exception>

#include "base/error.h"
#include "handover.h"
#include "leat/scheduler/executor.h"

namespace leat::scheduler {

// An exception ends here and becomes a status.
inline Status call_tiles(const TileFunction& function, int32_t step, TileRange tiles, int worker) {
    try {
        return function.call(function.context, step, tiles.begin, tiles.end, worker);
    } catch (const std::exception& error) {
        return make_error(StatusCode::kUserException, "step {} threw: {}", step, error.what());
    } catch (...) {
        return make_error(StatusCode::kUserException, "step {} threw something unknown", step);
    }
}

inline bool can_be_interrupted(const RunControl& control) {
    return control.deadline.has_value() || control.stop.stop_possible();
}

// The error that ends the run now, if any.
inline Status interruption(const RunControl& control) {
    if (control.stop.stop_requested()) {
        return make_error(StatusCode::kCancelled, "the run was cancelled by its stop token");
    }
    if (control.deadline && std::chrono::steady_clock::now() >= *control.deadline) {
        return make_error(StatusCode::kTimeout, "the deadline of the run passed");
    }
    return {};
}

// Everything in order on the calling thread, as worker 0.
Status run_on_caller(const Program& program,
                     const TileFunction& function,
                     const RunControl& control);

}  // namespace leat::scheduler
