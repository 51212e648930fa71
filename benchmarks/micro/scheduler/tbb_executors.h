// Peers on oneTBB: its flow graph, and hand-made counters on task_group.
#pragma once

#include <memory>
#include <string>

#include "executor.h"

namespace leat::micro {

std::unique_ptr<Executor> make_tbb_flow(const ExecutorSettings& settings);
// Each ready node becomes a task.
std::unique_ptr<Executor> make_tbb_group(const ExecutorSettings& settings);
// The first successor that becomes ready runs in the same task.
std::unique_ptr<Executor> make_tbb_group_inline(const ExecutorSettings& settings);
std::string tbb_version();

}  // namespace leat::micro
