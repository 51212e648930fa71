#include "backends/vulkan/shader/spirv_reduction.h"

#include <spirv-tools/libspirv.h>

#include <spirv-tools/optimizer.hpp>

#include "base/error.h"

namespace leat::vulkan {

Result<std::vector<uint32_t>> reduced_spirv(std::span<const uint32_t> words) {
    std::string messages;
    spvtools::Optimizer optimizer(SPV_ENV_VULKAN_1_3);
    optimizer.SetMessageConsumer([&messages](spv_message_level_t level, const char*,
                                             const spv_position_t&, const char* text) {
        if (level <= SPV_MSG_ERROR) {
            messages += text;
        }
    });
    optimizer.RegisterSizePasses();
    // What glslang wrote is valid, and the validator would take as long as the passes.
    spvtools::OptimizerOptions options;
    options.set_run_validator(false);
    std::vector<uint32_t> reduced;
    if (!optimizer.Run(words.data(), words.size(), &reduced, options)) {
        return internal_error("SPIRV-Tools cannot reduce a module").with_found(messages);
    }
    return reduced;
}

std::string spirv_reduction_version() {
    return spvSoftwareVersionString();
}

}  // namespace leat::vulkan
