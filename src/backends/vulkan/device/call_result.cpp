#include "backends/vulkan/device/call_result.h"

#include "base/error.h"

namespace leat::vulkan {

std::string_view name_of(VkResult result) {
    switch (result) {
#define LEAT_VK_NAME(code) \
    case code:             \
        return #code;
        LEAT_VK_NAME(VK_SUCCESS)
        LEAT_VK_NAME(VK_NOT_READY)
        LEAT_VK_NAME(VK_TIMEOUT)
        LEAT_VK_NAME(VK_INCOMPLETE)
        LEAT_VK_NAME(VK_ERROR_OUT_OF_HOST_MEMORY)
        LEAT_VK_NAME(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        LEAT_VK_NAME(VK_ERROR_INITIALIZATION_FAILED)
        LEAT_VK_NAME(VK_ERROR_DEVICE_LOST)
        LEAT_VK_NAME(VK_ERROR_MEMORY_MAP_FAILED)
        LEAT_VK_NAME(VK_ERROR_LAYER_NOT_PRESENT)
        LEAT_VK_NAME(VK_ERROR_EXTENSION_NOT_PRESENT)
        LEAT_VK_NAME(VK_ERROR_FEATURE_NOT_PRESENT)
        LEAT_VK_NAME(VK_ERROR_INCOMPATIBLE_DRIVER)
        LEAT_VK_NAME(VK_ERROR_TOO_MANY_OBJECTS)
        LEAT_VK_NAME(VK_ERROR_FRAGMENTED_POOL)
        LEAT_VK_NAME(VK_ERROR_OUT_OF_POOL_MEMORY)
        LEAT_VK_NAME(VK_ERROR_INVALID_EXTERNAL_HANDLE)
        LEAT_VK_NAME(VK_ERROR_FRAGMENTATION)
        LEAT_VK_NAME(VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS)
        LEAT_VK_NAME(VK_ERROR_INVALID_SHADER_NV)
#undef LEAT_VK_NAME
        default:
            return "an unknown VkResult";
    }
}

Status to_status(VkResult result, std::string_view call) noexcept {
    StatusCode code = StatusCode::kInternal;
    switch (result) {
        case VK_SUCCESS:
            return Status();
        case VK_ERROR_DEVICE_LOST:
            code = StatusCode::kDeviceLost;
            break;
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY:
        case VK_ERROR_MEMORY_MAP_FAILED:
        case VK_ERROR_TOO_MANY_OBJECTS:
        case VK_ERROR_FRAGMENTATION:
            code = StatusCode::kOutOfMemory;
            break;
        default:
            break;
    }
    return make_error(code, "vk{} gave {} ({})", call, name_of(result), int(result));
}

}  // namespace leat::vulkan
