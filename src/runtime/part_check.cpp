#include "runtime/part_check.h"

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace leat {
namespace {

// Which tasks have ended when one begins.
class EndedTasks {
  public:
    explicit EndedTasks(const scheduler::TaskDag& dag)
        : words_((size_t(dag.task_count()) + 63) / 64),
          bits_(size_t(dag.task_count()) * words_, 0) {
        // Edges lead to later tasks, so that what is before a task is complete when it is passed
        // on.
        std::vector<scheduler::TaskDag::Edge> edges(dag.edges().begin(), dag.edges().end());
        std::sort(edges.begin(), edges.end(),
                  [](const auto& a, const auto& b) { return a.after < b.after; });
        for (const scheduler::TaskDag::Edge& edge : edges) {
            add(size_t(edge.before), size_t(edge.after));
        }
    }
    bool has_ended(int32_t before, int32_t after) const {
        const uint64_t word = bits_[size_t(after) * words_ + size_t(before) / 64];
        return ((word >> (size_t(before) % 64)) & 1U) != 0;
    }

  private:
    void add(size_t before, size_t after) {
        uint64_t* row = &bits_[after * words_];
        const uint64_t* more = &bits_[before * words_];
        for (size_t word = 0; word <= before / 64; ++word) {
            row[word] |= more[word];
        }
        row[before / 64] |= uint64_t{1} << (before % 64);
    }

    size_t words_;
    std::vector<uint64_t> bits_;  // [task][words]
};

struct Touch {
    ByteRange bytes;
    int32_t task = 0;
    int32_t step = 0;
    bool is_write = false;
};

// Ascending by their first bytes.
std::vector<Touch> touches_of(std::span<const TiledStep> steps,
                              std::span<const StepTask> tasks,
                              std::span<const int64_t> addresses) {
    std::vector<Touch> touches;
    touches.reserve(tasks.size() * 3);
    for (size_t t = 0; t < tasks.size(); ++t) {
        const StepTask& task = tasks[t];
        if (task.kind == StepTask::Kind::kJoint) {
            continue;
        }
        const TiledStep& step = steps[size_t(task.step)];
        const bool is_part = task.kind == StepTask::Kind::kPart;
        const int64_t end = is_part ? task.tile_end : step.kernel->column_tiles();
        for (const StepOperand& operand : step.operands) {
            const ByteRange own = bytes_of_tiles(step, operand, task.tile_begin, end);
            const int64_t address = addresses[size_t(operand.memory)];
            if (own.begin < own.end) {
                touches.push_back({{address + own.begin, address + own.end},
                                   int32_t(t),
                                   task.step,
                                   operand.kind == StepOperand::Kind::kOutput});
            }
        }
    }
    std::sort(touches.begin(), touches.end(),
              [](const Touch& a, const Touch& b) { return a.bytes.begin < b.bytes.begin; });
    return touches;
}

Status check_pair(const EndedTasks& ended, const Touch& a, const Touch& b) {
    const Touch& first = a.step < b.step ? a : b;
    const Touch& second = a.step < b.step ? b : a;
    if (a.step == b.step || !(a.is_write || b.is_write) ||
        ended.has_ended(first.task, second.task)) {
        return {};
    }
    return internal_error(
        "plan of parts: step {} {} bytes [{}, {}) and step {} {} [{}, {}), but a part of the one "
        "need not end before a part of the other",
        first.step, first.is_write ? "writes" : "reads", first.bytes.begin, first.bytes.end,
        second.step, second.is_write ? "writes" : "reads", second.bytes.begin, second.bytes.end);
}

// Against those that were before it in memory, of which it leaves the ones that reach further.
Status check_touch(const EndedTasks& ended, const Touch& touch, std::vector<Touch>& open) {
    open.erase(
        std::remove_if(open.begin(), open.end(),
                       [&](const Touch& other) { return other.bytes.end <= touch.bytes.begin; }),
        open.end());
    for (const Touch& other : open) {
        LEAT_RETURN_IF_ERROR(check_pair(ended, other, touch));
    }
    return {};
}

}  // namespace

Status check_parts(std::span<const TiledStep> steps,
                   const StepTasks::Program& program,
                   std::span<const int64_t> addresses) {
    const EndedTasks ended(program.dag);
    std::vector<Touch> open;  // those that have bytes from here on
    for (const Touch& touch : touches_of(steps, program.tasks, addresses)) {
        LEAT_RETURN_IF_ERROR(check_touch(ended, touch, open));
        open.push_back(touch);
    }
    return {};
}

}  // namespace leat
