// The gears of leat-scheduler. The gates look for the names leat-inline, leat-dynamic and
// leat-compiled.
#include "executor.h"

namespace leat::micro {

std::span<const ExecutorEntry> leat_entries() {
    return {};
}

}  // namespace leat::micro
