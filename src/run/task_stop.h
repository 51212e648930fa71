// The RunStop of a scheduler's task.
#pragma once

#include "base/run_stop.h"
#include "leat/scheduler/executor.h"

namespace leat {

// While the task runs. Null: nobody can stop it.
inline RunStop stop_of(const scheduler::TaskScope* scope) {
    if (scope == nullptr) {
        return {};
    }
    return {[](const void* task) {
                return static_cast<const scheduler::TaskScope*>(task)->is_cancelled();
            },
            scope};
}

}  // namespace leat
