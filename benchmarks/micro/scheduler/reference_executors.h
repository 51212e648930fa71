// The minimal executors of this folder: what the hardware allows, without a library's duties
// (errors, cancellation, several runs at once).
#pragma once

#include <memory>

#include "executor.h"

namespace leat::micro {

// Every node in order on the calling thread.
std::unique_ptr<Executor> make_sequential(const ExecutorSettings& settings);
// Join counters and stealing.
std::unique_ptr<Executor> make_dynamic_reference(const ExecutorSettings& settings);
// A list per worker and one progress counter each; every level cut into equal parts.
std::unique_ptr<Executor> make_compiled_reference(const ExecutorSettings& settings);

}  // namespace leat::micro
