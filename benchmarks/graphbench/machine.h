// What the kernel says about this process and machine: memory, CPU time, steal, and its names.
// Everything is best effort: a file that is missing gives zero or an empty string.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "leat/runtime.h"
#include "leat/status.h"

namespace leat::bench {

int64_t now_ns();  // monotonic

// Largest resident set so far (VmHWM), and the current one.
int64_t peak_memory_bytes();
int64_t resident_memory_bytes();
// Starts VmHWM again from the current resident set, so that each target has its own peak.
void reset_peak_memory();

struct CpuUsage {
    int64_t user_ns = 0;
    int64_t system_ns = 0;
    int64_t context_switches = 0;  // voluntary and involuntary
    int64_t steal_ns = 0;          // of the whole machine
    int64_t wall_ns = 0;
};
CpuUsage cpu_usage();
CpuUsage operator-(const CpuUsage& end, const CpuUsage& begin);

// "0-3,6" for --cpus.
Status restrict_to_cpus(const std::string& list);

// Speed-up of `threads` threads of pure arithmetic over one, at best `threads`. Takes about 0.3 s.
double parallel_capacity(int threads);

// The object `host` of the JSON schema.
Json host_json(const HostInfo& host);
// The object `tool`.
Json tool_json();

}  // namespace leat::bench
