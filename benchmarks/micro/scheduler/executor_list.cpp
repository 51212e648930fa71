#include "executor_list.h"

namespace leat::micro {

std::vector<ExecutorEntry> executor_entries() {
    std::vector<ExecutorEntry> all;
    for (const std::span<const ExecutorEntry> entries :
         {leat_entries(), reference_entries(), tbb_entries(), taskflow_entries(), openmp_entries(),
          starpu_entries()}) {
        all.insert(all.end(), entries.begin(), entries.end());
    }
    return all;
}

std::string_view to_string(Family family) {
    switch (family) {
        case Family::kLeat:
            return "leat";
        case Family::kReference:
            return "reference";
        case Family::kLibrary:
            return "library";
        case Family::kHandMade:
            return "hand-made";
        case Family::kRebuilding:
            return "rebuilding";
    }
    return "";
}

}  // namespace leat::micro
