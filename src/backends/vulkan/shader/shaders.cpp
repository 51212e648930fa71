#include "backends/vulkan/shader/shaders.h"

#include <algorithm>

#include "base/error.h"
#include "shader_table.h"

namespace leat::vulkan {

std::span<const Shader> shader_list() {
    return kShaders;
}

Result<Shader> find_shader(std::string_view name) {
    const auto found = std::find_if(std::begin(kShaders), std::end(kShaders),
                                    [&](const Shader& shader) { return shader.name == name; });
    if (found == std::end(kShaders)) {
        return not_found("there is no shader '{}'", name);
    }
    return *found;
}

}  // namespace leat::vulkan
