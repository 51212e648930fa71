// All executors of this build, in the order of the tables.
#pragma once

#include <string_view>
#include <vector>

#include "executor.h"

namespace leat::micro {

std::vector<ExecutorEntry> executor_entries();
std::string_view to_string(Family family);

}  // namespace leat::micro
