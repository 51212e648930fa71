// What a kernel may take over from the one that its node had in a plan for another batch.
#pragma once

#include "backends/cpu/cpu_kernel.h"

namespace leat::cpu {

// The former kernel if it is of that type, else null.
template <class Kernel>
const Kernel* former_kernel(const PrepareContext& context) {
    return dynamic_cast<const Kernel*>(context.former.kernel);
}

// True if no operand differs from the former one but in the extent of axis 0, the batch, and its
// stride.
bool only_batch_differs(const PrepareContext& context);

// True if Epilogue::make would answer as it did for the former kernel, for rows of any number.
// first_operand: of the inputs that are seen as rows x columns. Precondition: there is a former
// kernel, with as many columns.
bool keeps_epilogue(const PrepareContext& context, int column_axis, size_t first_operand);

}  // namespace leat::cpu
