#include "built_backends.h"

// Generated, and included here only: a compiler cache finds all other files in any clone.
#include "build_paths.h"

namespace leat::bench {

BuiltBackends built_backends() {
    return {LEAT_BUILT_BACKENDS, LEAT_BUILD_FOLDER, LEAT_VULKAN_TARGET, LEAT_VULKAN_MISSING};
}

}  // namespace leat::bench
