#include "leat/scheduler/task_dag.h"

namespace leat::scheduler {

void TaskDag::use(TaskId task, BufferId buffer, Access access) {
    if (int32_t(buffer) < 0 || size_t(buffer) >= buffers_.size()) {
        bad_uses_.emplace_back(task, buffer);
        return;
    }
    Buffer& state = buffers_[size_t(buffer)];
    const auto follow = [&](TaskId earlier) {
        if (earlier != TaskId{-1} && earlier != task) {
            precede(earlier, task);
        }
    };
    // A scratch use destroys the value: who comes later, reader or writer, comes after it.
    follow(state.writer);
    if (access == Access::kRead) {
        state.readers.push_back(task);
        return;
    }
    for (const TaskId reader : state.readers) {
        follow(reader);
    }
    state.readers.clear();
    state.writer = task;
}

}  // namespace leat::scheduler
