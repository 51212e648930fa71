// What a Program and a ProgramState hold.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "handover.h"
#include "leat/scheduler/executor.h"

namespace leat::scheduler {

// A step as the workers read it: no pointers but into one array.
struct CompactStep {
    int64_t tile_count = 0;
    int64_t grain = 1;  // tiles that are worth a claim
    int32_t waits_begin = 0;
    int32_t waits_end = 0;
};

struct Program::Impl {
    std::vector<Step> steps;
    std::vector<CompactStep> compact;
    std::vector<int32_t> waits;  // of all steps, one after the other

    // Estimated time on `workers` workers if waking them cost nothing.
    double parallel_ns(int workers) const;
};

struct ProgramState::Impl {
    Impl(const Program& program, int max_workers);

    static constexpr size_t kLineClaims =
        128 / sizeof(TileClaims);  // two lines: prefetched in pairs

    TileClaims& claims(int lane, int32_t step) {
        return claims_of_lane[size_t(lane)][size_t(step) + kLineClaims];
    }
    // Starts a run: what earlier runs left counts as nothing.
    void begin_run();
    // After a run that did not finish.
    void reset();

    Program program;
    int lanes = 1;          // ranges that the tiles of a step are divided into: one per worker
    bool is_inline = true;  // not worth a helper
    bool needs_reset = false;
    int64_t epoch = 0;
    std::vector<StepProgress> progress;  // by step
    std::vector<std::vector<TileClaims>>
        claims_of_lane;  // each on its own cache lines; empty if inline
};

}  // namespace leat::scheduler
