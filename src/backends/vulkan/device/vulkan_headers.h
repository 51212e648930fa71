// The Vulkan API as types only: every function is looked up at run time (loader.h), so nothing here
// links with a loader. Structs of extensions that are younger than the oldest supported headers
// (1.3.239) are declared under our own names, so that newer headers do not clash with them.
#pragma once

#ifndef VK_NO_PROTOTYPES
#define VK_NO_PROTOTYPES 1
#endif
#include <vulkan/vulkan_core.h>

#include <cstdint>

namespace leat::vulkan {

// VK_KHR_cooperative_matrix, revision 2.
constexpr const char* kCooperativeMatrixExtension = "VK_KHR_cooperative_matrix";
constexpr auto kCooperativeMatrixFeaturesType = VkStructureType(1'000'506'000);
constexpr auto kCooperativeMatrixPropertiesType = VkStructureType(1'000'506'001);
struct CooperativeMatrixFeatures {
    VkStructureType type = kCooperativeMatrixFeaturesType;
    void* next = nullptr;
    VkBool32 cooperative_matrix = VK_FALSE;
    VkBool32 robust_buffer_access = VK_FALSE;
};
struct CooperativeMatrixProperties {
    VkStructureType type = kCooperativeMatrixPropertiesType;
    void* next = nullptr;
    uint32_t m = 0;
    uint32_t n = 0;
    uint32_t k = 0;
    uint32_t a_type = 0;  // VkComponentTypeKHR
    uint32_t b_type = 0;
    uint32_t c_type = 0;
    uint32_t result_type = 0;
    VkBool32 saturating_accumulation = VK_FALSE;
    uint32_t scope = 0;  // VkScopeKHR
};
using GetCooperativeMatrixProperties = VkResult(VKAPI_PTR*)(VkPhysicalDevice,
                                                            uint32_t*,
                                                            CooperativeMatrixProperties*);

// VK_KHR_shader_bfloat16.
constexpr const char* kBfloat16Extension = "VK_KHR_shader_bfloat16";
constexpr auto kBfloat16FeaturesType = VkStructureType(1'000'141'000);
struct Bfloat16Features {
    VkStructureType type = kBfloat16FeaturesType;
    void* next = nullptr;
    VkBool32 scalar = VK_FALSE;
    VkBool32 dot_product = VK_FALSE;
    VkBool32 cooperative_matrix = VK_FALSE;
};

}  // namespace leat::vulkan
