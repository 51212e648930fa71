// Whether a compiled graph that was saved fits the machine and the Runtime that load it.
#pragma once

#include "leat/status.h"
#include "machine/runtime_impl.h"
#include "saved/compiled_record.h"

namespace leat {

MachineRecord machine_record(const Runtime::Impl& runtime);
// kVersionMismatch says what differs.
Status check_machine(const MachineRecord& saved, const Runtime::Impl& runtime);

}  // namespace leat
