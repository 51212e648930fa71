// The CPU quota of the control groups that this process is in.
#pragma once

#include <string>

namespace leat::scheduler {

struct CpuQuota {
    double cpus = 0;   // 0: none
    std::string file;  // the one that sets it
};

// Reads root + "/proc/self/cgroup" and root + "/proc/self/mountinfo", then cpu.max (v2) or
// cpu.cfs_quota_us / cpu.cfs_period_us (v1) of the group and all its ancestors: the least counts.
CpuQuota read_cpu_quota(const std::string& root);

}  // namespace leat::scheduler
