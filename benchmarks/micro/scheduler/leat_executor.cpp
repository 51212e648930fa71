// The gears of leat-scheduler. The gates look for the names leat-inline (serial_only), leat-dynamic
// and leat-compiled; with has_latency_mode the section wake measures that mode too.
#include "executor.h"

namespace leat::micro {

std::span<const ExecutorEntry> leat_entries() {
    return {};
}

}  // namespace leat::micro
