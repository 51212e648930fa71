// What was measured on, and against which versions.
#pragma once

#include <cstdio>
#include <vector>

#include "base/json.h"
#include "executor.h"

namespace leat::micro {

Json machine_json();
// Name, family and version of each.
Json executors_json(const std::vector<ExecutorEntry>& entries);
void print_machine(std::FILE* out, const std::vector<ExecutorEntry>& entries);

// AMD Zen 5 or later, whose absolute gates are the stricter ones.
bool is_fast_machine();

}  // namespace leat::micro
