// The tasks of a plan's program, and which of them wait for which.
//
// A step is one task, whose tiles the workers divide among themselves; or, where tiles wait for
// tiles (a run-ahead window above 0: memory/run_ahead.h), one task for each of some parts of its
// tiles. What a part has to wait for is read off the bytes that its kernel says it reads and
// writes. Kernels that say nothing are waited for as a whole.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backends/host_kernel.h"
#include "leat/scheduler/task_dag.h"
#include "memory/run_ahead.h"

namespace leat {

// What a task of the program does.
struct StepTask {
    enum class Kind : uint8_t {
        kWhole,    // all tiles of the step, which are the task's
        kPart,     // tiles [tile_begin, tile_end) of each column of tiles; the task has one tile
        kJoint,    // nothing: others wait for it instead of for all parts of the step
        kSubmit,   // submits the step to its device
        kFinish,   // what is left to do for it once the device has ended
        kElapsed,  // nothing: others wait for it, as the step takes virtual time on the host
    };
    int32_t step = 0;
    Kind kind = Kind::kWhole;
    int64_t tile_begin = 0;
    int64_t tile_end = 0;
    scheduler::PointId point{-1};  // of the program: reached when the device has ended
    scheduler::TaskId finish{-1};  // the task that waits for the point
    int64_t virtual_ns = 0;        // of kWhole: until the point is reached; 0: nobody waits for it
};

// A value that a step reads or writes, in the memory that it shares with others.
struct StepOperand {
    enum class Kind : uint8_t {
        kInput,     // of the kernel; index: which
        kEpilogue,  // read where output 0 is written
        kWhole,     // read anywhere by any tile
        kOutput,    // index: which
    };
    Kind kind = Kind::kInput;
    int32_t index = 0;
    int32_t memory = 0;  // operands of one memory may have bytes in common
    ByteRange bytes;     // in the memory
};

struct TiledStep {
    const HostKernel* kernel = nullptr;
    double cost_ns = 0;
    std::vector<StepOperand> operands;
    bool is_on_device = false;  // submitted: nobody runs its tile
};

// Adds the two tasks that stand for a step on a device, the second of which waits for the first and
// for the device, and says what they do. Returns their ids.
std::pair<scheduler::TaskId, scheduler::TaskId> add_device_tasks(int32_t step,
                                                                 scheduler::TaskDag& dag,
                                                                 std::vector<StepTask>& tasks);

// The same for a step of the host that takes virtual time.
std::pair<scheduler::TaskId, scheduler::TaskId> add_elapsing_tasks(int32_t step,
                                                                   const scheduler::Task& task,
                                                                   int64_t virtual_ns,
                                                                   scheduler::TaskDag& dag,
                                                                   std::vector<StepTask>& tasks);

// What tiles [tile_begin, tile_end) of a column, at least one, touch of the operand: in its memory.
ByteRange bytes_of_tiles(const TiledStep& step,
                         const StepOperand& operand,
                         int64_t tile_begin,
                         int64_t tile_end);

class StepTasks {
  public:
    // Whole steps.
    explicit StepTasks(std::vector<TiledStep> steps) : steps_(std::move(steps)) {}

    // Finds what the tiles of each step need of those of the steps that it takes data from
    // (`data_waits`: by step, earlier ones, ascending), in at most `most_parts` parts of a step.
    void find_tile_waits(std::span<const std::vector<int32_t>> data_waits, int64_t most_parts);
    // By step, as whole_waits() of run_ahead.h wants them.
    std::vector<std::vector<StepInput>> inputs() const;

    // True if parts of `user` that touch a byte of `place` in `memory` have ended before the part
    // of `writer` that writes its output 0 there begins, and no other part of `writer` reads it. Of
    // steps between which there are waits of parts; false of others.
    bool ends_before_overwritten(int32_t user,
                                 int32_t writer,
                                 int32_t memory,
                                 ByteRange place) const;

    std::span<const TiledStep> steps() const { return steps_; }

    struct Program {
        scheduler::TaskDag dag;
        std::vector<StepTask> tasks;  // by TaskId
        int64_t tile_waits = 0;       // data edges across which parts wait for parts
    };
    // With these waits for whole steps (by step, earlier ones), and waits of parts for parts across
    // the data edges that do not follow from them.
    Program make_program(std::span<const std::vector<int32_t>> whole_waits) const;

  private:
    // A data edge, and what crosses it.
    struct TileWaits {
        int32_t producer = 0;
        // [part of the step * parts of the producer + part of the producer]; empty: all of them.
        std::vector<bool> needs;
    };

    class ProgramWriter;

    // Of the tiles of one column.
    int64_t first_tile(size_t step, int64_t part) const;
    ByteRange bytes_of_part(size_t step, const StepOperand& operand, int64_t part) const;
    bool touches(size_t step, int64_t part, int32_t memory, ByteRange bytes) const;
    TileWaits tile_waits(size_t step, size_t producer) const;
    std::vector<std::vector<const TileWaits*>> tiled_edges(
        std::span<const std::vector<int32_t>> whole_waits) const;
    void add_tasks(size_t step, int64_t parts, ProgramWriter& writer) const;
    void add_tile_waits(size_t step, const TileWaits& waits, ProgramWriter& writer) const;

    std::vector<TiledStep> steps_;
    std::vector<int64_t> part_count_;                // by step; empty: all are whole
    std::vector<std::vector<TileWaits>> producers_;  // by step
};

}  // namespace leat
