#include "base/control_groups.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files/text_file.h"

namespace leat {
namespace {

// A mounted hierarchy that has the controller.
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
std::vector<Hierarchy> hierarchies_of(const std::string& root, const std::string& controller) {
    std::vector<Hierarchy> found;
    for (const std::string& line : read_lines(root + "/proc/self/mountinfo")) {
        const std::vector<std::string> words = split(line, ' ');
        const auto dash = std::find(words.begin(), words.end(), "-");
        if (words.size() < 6 || words.end() - dash < 4) {
            continue;
        }
        const bool is_v2 = dash[1] == "cgroup2";
        const bool is_v1 = dash[1] == "cgroup" && contains(split(dash[3], ','), controller);
        if (is_v1 || is_v2) {
            found.push_back({is_v2, unescape(words[3]), unescape(words[4])});
        }
    }
    return found;
}

// "0::/path" (v2) or "4:cpu,cpuacct:/path" (v1).
std::optional<std::string> group_path(const std::string& root,
                                      bool is_v2,
                                      const std::string& controller) {
    for (const std::string& line : read_lines(root + "/proc/self/cgroup")) {
        const size_t first = line.find(':');
        const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
        if (second == std::string::npos) {
            continue;
        }
        const std::string controllers = line.substr(first + 1, second - first - 1);
        if (is_v2 ? controllers.empty() : contains(split(controllers, ','), controller)) {
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

std::vector<ControlGroup> control_groups(const std::string& root, const std::string& controller) {
    std::vector<ControlGroup> groups;
    for (const Hierarchy& hierarchy : hierarchies_of(root, controller)) {
        const std::optional<std::string> group = group_path(root, hierarchy.is_v2, controller);
        if (!group) {
            continue;
        }
        std::string below = path_below_mount(*group, hierarchy.mount_root);
        for (bool at_top = false; !at_top;) {
            at_top = below.empty();
            std::string folder = root;
            folder += hierarchy.mount_point;
            folder += below;
            groups.push_back({std::move(folder), hierarchy.is_v2});
            below.resize(at_top ? 0 : below.rfind('/'));
        }
    }
    return groups;
}

}  // namespace leat
