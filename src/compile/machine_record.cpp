#include "compile/machine_record.h"

#include <fmt/format.h>

#include "base/error.h"

namespace leat {
namespace {

std::string groups_text(const MachineRecord& machine) {
    std::string text = fmt::format("{} threads", fmt::join(machine.group_workers, " + "));
    if (machine.group_homes != std::vector<int>{-1}) {
        text += fmt::format(" on memory domains {}", fmt::join(machine.group_homes, ", "));
    }
    return text + (machine.divides_batches ? ", batches divided" : "");
}

Status compare(std::string_view what, const std::string& saved, const std::string& own) {
    if (saved == own) {
        return {};
    }
    return make_error(StatusCode::kVersionMismatch, "it was compiled for another {}", what)
        .with_found(fmt::format("'{}'", saved))
        .with_needed(fmt::format("'{}'", own))
        .with_hint("compile the graph again on this machine");
}

}  // namespace

MachineRecord machine_record(const Runtime::Impl& runtime) {
    MachineRecord record{
        runtime.host.cpu_name, runtime.host.simd, {}, {}, runtime.divides_batches()};
    for (const ThreadGroup& group : runtime.groups) {
        record.group_workers.push_back(group.executor->worker_count());
        record.group_homes.push_back(group.home ? int(*group.home) : -1);
    }
    return record;
}

Status check_machine(const MachineRecord& saved, const Runtime::Impl& runtime) {
    const MachineRecord own = machine_record(runtime);
    LEAT_RETURN_IF_ERROR(compare("CPU", saved.cpu_name, own.cpu_name));
    LEAT_RETURN_IF_ERROR(compare("instruction set", saved.simd, own.simd));
    return compare("number of threads", groups_text(saved), groups_text(own));
}

}  // namespace leat
