// The backends that are shared objects, where this graphbench was built.
#pragma once

#include <string>

namespace leat::bench {

struct BuiltBackends {
    std::string folder;          // of the shared objects; absolute, as the next
    std::string build_folder;    // that ninja works in
    std::string vulkan_target;   // what ninja calls the Vulkan backend; empty: it is not configured
    std::string vulkan_missing;  // why it is not configured; empty if it is
};

// As the build was configured. It may have been moved or deleted since.
BuiltBackends built_backends();

}  // namespace leat::bench
