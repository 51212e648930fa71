// CompiledProgram: a list of instructions for each worker (inline gear: one list).
//
// A list tells its progress by one counter, and only where another list waits for it; the n-th
// publish sets the counter to n. A wait that an earlier wait of the same list implies is left out:
// each list carries a vector clock (Fidge 1988, Mattern 1989) of how far it knows the others to be.
#pragma once

#include <cstdint>
#include <vector>

#include "gears/compact_dag.h"
#include "leat/scheduler/program.h"
#include "placement/list_placement.h"

namespace leat::scheduler {

// Instructions are words; the upper two bits tell the kind, the others an operand.
enum class Opcode : uint32_t {
    kTask = 0,   // runs tile 0 of the task `operand`
    kTiles = 1,  // runs tiles of CompiledProgram::tile_items[operand]
    kWait = 2,   // until list `operand` has published as often as the next word says
    kOther = 3,  // operand: an OtherOp
};
enum class OtherOp : uint32_t {
    kPublish,
    kBoundary,   // end of a segment: cancellation, hand-over to the list's own worker, calling
                 // helpers
    kEnd,        // of the list; stays there
    kWaitTiles,  // until all tiles of tile_tasks[next word] have run
    kWaitPoint,  // until the point of point_waits[next word] has its value
};
constexpr int kOperandBits = 30;
constexpr uint32_t kOperandMask = (uint32_t{1} << kOperandBits) - 1;
constexpr uint32_t encode(Opcode code, uint32_t operand) {
    return (uint32_t(code) << kOperandBits) | operand;
}
constexpr uint32_t encode(OtherOp op) {
    return encode(Opcode::kOther, uint32_t(op));
}

// A task whose tiles several lists share.
struct TileTask {
    int64_t tile_count = 0;
    int64_t grain = 1;  // tiles that are worth a claim
    int32_t lanes = 1;  // ranges that the tiles are divided into; list i takes range i first
};
// One list's part of it; or, with tile_task = -1, all tiles of a task that is not shared.
struct TileItem {
    int64_t tile_count = 0;
    int64_t grain = 1;
    int32_t task = 0;
    int32_t tile_task = -1;
};

struct CompiledProgram {
    // `placement` must be for `workers` lanes.
    static CompiledProgram make(const CompactDag& dag, const ListPlacement& placement, int workers);

    int lists() const { return int(list_begin.size()) - 1; }
    int64_t bytes() const;

    std::vector<uint32_t> words;
    std::vector<uint32_t> list_begin;  // in words, by list, and one more
    std::vector<TileTask> tile_tasks;
    std::vector<TileItem> tile_items;
    std::vector<TaskDag::PointWait> point_waits;
    bool has_caller_tasks = false;  // list 0 is the calling thread's alone
    // The caller's first task, or its first tile, is known to take longer than a wake-up.
    bool starts_long = false;
    int64_t waits = 0;
    int64_t publishes = 0;
};

}  // namespace leat::scheduler
