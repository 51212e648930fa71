#include "backends/vulkan/shader/shaders.h"

#include "base/error.h"
#include "base/find_named.h"
#include "shader_table.h"

namespace leat::vulkan {

std::span<const Shader> shader_list() {
    return kShaders;
}

Result<Shader> find_shader(std::string_view name) {
    const Shader* found = find_named(kShaders, name);
    if (found == nullptr) {
        return not_found("there is no shader '{}'", name);
    }
    return *found;
}

}  // namespace leat::vulkan
