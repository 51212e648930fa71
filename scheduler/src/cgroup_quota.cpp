#include "cgroup_quota.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include "text_file.h"

namespace leat::scheduler {
namespace {

std::optional<int64_t> parse_int(const std::string& text) {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) {
        return std::nullopt;
    }
    return value;
}

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
    return words.size() == 2 ? ratio(parse_int(words[0]), parse_int(words[1])) : std::nullopt;
}

// -1 is no limit.
std::optional<double> read_v1(const std::string& folder) {
    return ratio(parse_int(read_first_line(folder + "/cpu.cfs_quota_us").value_or("")),
                 parse_int(read_first_line(folder + "/cpu.cfs_period_us").value_or("")));
}

// A mounted hierarchy that has the cpu controller.
struct Hierarchy {
    bool is_v2 = false;
    std::string mount_root;  // the group that the mount point shows
    std::string mount_point;
};

bool contains(const std::vector<std::string>& list, const std::string& word) {
    return std::find(list.begin(), list.end(), word) != list.end();
}

// mountinfo writes blank, tab, newline and backslash as octal escapes.
std::string unescape(const std::string& text) {
    std::string plain;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto is_octal = [&](size_t at) {
            return at < text.size() && text[at] >= '0' && text[at] <= '7';
        };
        if (text[i] == '\\' && is_octal(i + 1) && is_octal(i + 2) && is_octal(i + 3)) {
            const int code =
                (text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0');
            plain.push_back(static_cast<char>(code));
            i += 3;
        } else {
            plain.push_back(text[i]);
        }
    }
    return plain;
}

// "36 35 98:0 ROOT POINT options [optional ...] - TYPE SOURCE SUPER_OPTIONS"; see proc(5).
std::vector<Hierarchy> cpu_hierarchies(const std::string& root) {
    std::vector<Hierarchy> found;
    for (const std::string& line : read_lines(root + "/proc/self/mountinfo")) {
        const std::vector<std::string> words = split(line, ' ');
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.size() < 6 || words.end() - dash < 4) {
            continue;
        }
        const bool is_v2 = dash[1] == "cgroup2";
        const bool is_v1 = dash[1] == "cgroup" && contains(split(dash[3], ','), "cpu");
        if (is_v1 || is_v2) {
            found.push_back({is_v2, unescape(words[3]), unescape(words[4])});
        }
    }
    return found;
}

// "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1).
std::optional<std::string> group_path(const std::string& root, bool is_v2) {
    for (const std::string& line : read_lines(root + "/proc/self/cgroup")) {
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (is_v2 ? controllers.empty() : contains(split(controllers, ','), "cpu")) {
            return line.substr(second + 1);
        }
    }
    return std::nullopt;
}

// The group below the mount point. In a container the path may name groups that are not mounted:
// then the mount point is the process's own group.
std::string path_below_mount(const std::string& group, const std::string& mount_root) {
    const std::string prefix = mount_root == "/" ? "" : mount_root;
    const bool is_below = group.compare(0, prefix.size(), prefix) == 0 &&
                          (group.size() == prefix.size() || group[prefix.size()] == '/');
    if (!is_below || group.find("/..") != std::string::npos) {
        return "";
    }
    std::string below = group.substr(prefix.size());
    while (!below.empty() && below.back() == '/') {
        below.pop_back();
    }
    return below;
}

}  // namespace

CpuQuota read_cpu_quota(const std::string& root) {
    CpuQuota least;
    for (const Hierarchy& hierarchy : cpu_hierarchies(root)) {
        const std::optional<std::string> group = group_path(root, hierarchy.is_v2);
        if (!group) {
            continue;
        }
        std::string below = path_below_mount(*group, hierarchy.mount_root);
        for (bool at_top = false; !at_top;) {
            at_top = below.empty();
            std::string folder = root;
            folder += hierarchy.mount_point;
            folder += below;
            const std::optional<double> cpus = hierarchy.is_v2 ? read_v2(folder) : read_v1(folder);
            if (cpus && (least.cpus == 0 || *cpus < least.cpus)) {
                least = {*cpus, folder + (hierarchy.is_v2 ? "/cpu.max" : "/cpu.cfs_quota_us")};
            }
            below.resize(at_top ? 0 : below.rfind('/'));
        }
    }
    return least;
}

}  // namespace leat::scheduler
