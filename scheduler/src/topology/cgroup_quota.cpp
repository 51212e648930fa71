#include "topology/cgroup_quota.h"

#include <cstdint>
#include <optional>
#include <vector>

#include "base/control_groups.h"
#include "base/files/text_file.h"

namespace leat::scheduler {
namespace {

// Quota in CPUs, or nothing for "no limit" and for what makes no sense.
std::optional<double> ratio(std::optional<int64_t> quota_us, std::optional<int64_t> period_us) {
    if (!quota_us || !period_us || *quota_us <= 0 || *period_us <= 0) {
        return std::nullopt;
    }
    return double(*quota_us) / double(*period_us);
}

// "200000 100000" or "max 100000".
std::optional<double> read_v2(const std::string& folder) {
    const std::vector<std::string> words =
        split(read_first_line(folder + "/cpu.max").value_or(""), ' ');
    return words.size() == 2 ? ratio(parse_integer(words[0]), parse_integer(words[1]))
                             : std::nullopt;
}

// -1 is no limit.
std::optional<double> read_v1(const std::string& folder) {
    return ratio(parse_integer(read_first_line(folder + "/cpu.cfs_quota_us").value_or("")),
                 parse_integer(read_first_line(folder + "/cpu.cfs_period_us").value_or("")));
}

}  // namespace

CpuQuota read_cpu_quota(const std::string& root) {
    CpuQuota least;
    for (const ControlGroup& group : control_groups(root, "cpu")) {
        const std::optional<double> cpus =
            group.is_v2 ? read_v2(group.folder) : read_v1(group.folder);
        if (cpus && (least.cpus == 0 || *cpus < least.cpus)) {
            least = {*cpus, group.folder + (group.is_v2 ? "/cpu.max" : "/cpu.cfs_quota_us")};
        }
    }
    return least;
}

}  // namespace leat::scheduler
