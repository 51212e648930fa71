// check_parts: the proof that steps which run in parts never meet in memory.
#pragma once

#include <cstdint>
#include <span>

#include "leat/status.h"
#include "runtime/step_tasks.h"

namespace leat {

// Of any two tasks of different steps that touch a byte, of which one writes it, that of the
// earlier step has ended before the other begins. Relies on what kernels say of their tiles and on
// the edges of the program, and on nothing that a plan was made with. `addresses`: by
// StepOperand::memory. Memory: tasks^2 / 8 bytes. The error names steps and bytes.
Status check_parts(std::span<const TiledStep> steps,
                   const StepTasks::Program& program,
                   std::span<const int64_t> addresses);

}  // namespace leat
