#include "memory/domains/memory_budget.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "base/control_groups.h"
#include "base/files/text_file.h"

namespace leat {
namespace {

constexpr int64_t kKib = 1024;
constexpr int64_t kMib = 1024 * kKib;
constexpr int64_t kReserveShare = 32;  // the kernel and others need some memory of every node
constexpr int64_t kLeastReserveBytes = 16 * kMib;
constexpr int64_t kMostReserveBytes = 1024 * kMib;
// Version 1 writes "no limit" as the greatest number of whole pages.
constexpr int64_t kNoLimitBytes = int64_t{1} << 60;

// Nothing for "max" and what makes no sense.
std::optional<int64_t> number_in(const std::string& path) {
    const std::optional<int64_t> value = parse_integer(read_first_line(path).value_or(""));
    return value && *value >= 0 ? value : std::nullopt;
}

// The number after `key` in lines such as "Node 0 MemFree:   12 kB" and "inactive_file 12"; 0:
// none.
int64_t number_after(const std::string& path, const std::string& key) {
    for (const std::string& line : read_lines(path)) {
        const size_t at = line.find(key);
        const size_t digits =
            at == std::string::npos ? at : line.find_first_of("0123456789", at + key.size());
        const bool is_word = at == 0 || (at != std::string::npos && line[at - 1] == ' ');
        if (is_word && digits != std::string::npos) {
            int64_t value = 0;
            (void)std::from_chars(line.data() + digits, line.data() + line.size(), value);
            return value;
        }
    }
    return 0;
}

struct Available {
    int64_t total_bytes = 0;
    int64_t free_bytes = 0;
    int64_t file_bytes = 0;
};

Available read_available(const std::string& root, int os_node, bool& is_known) {
    std::string file =
        root + "/sys/devices/system/node/node" + std::to_string(os_node) + "/meminfo";
    is_known = os_node >= 0 && read_first_line(file).has_value();
    if (!is_known) {
        file = root + "/proc/meminfo";
    }
    const auto bytes = [&file](const char* key) { return number_after(file, key) * kKib; };
    return {bytes("MemTotal:"), bytes("MemFree:"),
            bytes("Active(file):") + bytes("Inactive(file):")};
}

MemoryBudget of_node(const std::string& root, int os_node) {
    bool has_node = false;
    const Available memory = read_available(root, os_node, has_node);
    if (memory.total_bytes == 0) {
        return {std::numeric_limits<int64_t>::max(), "free memory is not known"};
    }
    const int64_t reserve =
        std::clamp(memory.total_bytes / kReserveShare, kLeastReserveBytes, kMostReserveBytes);
    const int64_t bytes = std::max<int64_t>(memory.free_bytes + memory.file_bytes / 2 - reserve, 0);
    return {bytes, fmt::format("{} has {} bytes free and {} of file pages, {} are kept back",
                               has_node ? fmt::format("node {}", os_node) : "the machine",
                               memory.free_bytes, memory.file_bytes, reserve)};
}

struct GroupFiles {
    const char* limit;
    const char* usage;
    const char* reclaimable;  // in memory.stat
};
constexpr GroupFiles kV1{"/memory.limit_in_bytes", "/memory.usage_in_bytes", "total_inactive_file"};
constexpr GroupFiles kV2{"/memory.max", "/memory.current", "inactive_file"};

// Nothing where the group has no limit.
std::optional<MemoryBudget> of_group(const ControlGroup& group) {
    const GroupFiles& files = group.is_v2 ? kV2 : kV1;
    const std::string limit_file = group.folder + files.limit;
    const std::optional<int64_t> limit = number_in(limit_file);
    if (!limit || *limit >= kNoLimitBytes) {
        return std::nullopt;
    }
    const int64_t usage = number_in(group.folder + files.usage).value_or(0);
    const int64_t reclaimable =
        std::min(number_after(group.folder + "/memory.stat", files.reclaimable), usage);
    return MemoryBudget{
        std::max<int64_t>(*limit - usage + reclaimable, 0),
        fmt::format("{} is {}, of which {} are used", limit_file, *limit, usage - reclaimable)};
}

}  // namespace

MemoryBudget read_memory_budget(const std::string& root, int os_node, int64_t left_by_user_bytes) {
    MemoryBudget least = of_node(root, os_node);
    for (const ControlGroup& group : control_groups(root, "memory")) {
        std::optional<MemoryBudget> budget = of_group(group);
        if (budget && budget->bytes < least.bytes) {
            least = std::move(*budget);
        }
    }
    if (left_by_user_bytes >= 0 && left_by_user_bytes < least.bytes) {
        least = {left_by_user_bytes, "the limit that was given for a memory domain"};
    }
    return least;
}

}  // namespace leat
