// The control groups (cgroups, versions 1 and 2) that this process is in.
#pragma once

#include <string>
#include <vector>

namespace leat {

struct ControlGroup {
    std::string folder;  // with the files of the controller
    bool is_v2 = false;
};

// The process's group of each mounted hierarchy that has `controller` ("cpu", "memory", ...), and
// all ancestors that are visible: limits of all of them count. Reads root + "/proc/self/cgroup" and
// root + "/proc/self/mountinfo"; folders begin with `root` too. Empty where there is none.
std::vector<ControlGroup> control_groups(const std::string& root, const std::string& controller);

}  // namespace leat
