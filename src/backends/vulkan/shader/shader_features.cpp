#include "backends/vulkan/shader/shader_features.h"

#include "backends/vulkan/shader/spirv.h"
#include "base/find_named.h"

namespace leat::vulkan {
namespace {

struct Feature {
    spirv::Capability capability;
    bool KernelLimits::*is_there;
    std::string_view name;
};
constexpr Feature kFeatures[] = {
    {spirv::kFloat16, &KernelLimits::has_float16, "shaderFloat16"},
    {spirv::kFloat64, &KernelLimits::has_float64, "shaderFloat64"},
    {spirv::kInt64, &KernelLimits::has_int64, "shaderInt64"},
    {spirv::kInt16, &KernelLimits::has_int16, "shaderInt16"},
    {spirv::kInt8, &KernelLimits::has_int8, "shaderInt8"},
};

}  // namespace

std::string missing_features(std::span<const uint32_t> words, const KernelLimits& limits) {
    std::string missing;
    spirv::for_each_instruction(words, [&](spirv::Instruction instruction) {
        for (const Feature& feature : kFeatures) {
            if (spirv::op_of(instruction) == spirv::kOpCapability && instruction.size() == 2 &&
                instruction[1] == feature.capability && !(limits.*feature.is_there)) {
                missing += missing.empty() ? "" : ", ";
                missing += feature.name;
            }
        }
        return spirv::op_of(instruction) != spirv::kOpMemoryModel;
    });
    return missing;
}

bool remove_feature(std::string_view name, KernelLimits& limits) {
    const Feature* found = find_named(kFeatures, name);
    if (found == nullptr) {
        return false;
    }
    limits.*found->is_there = false;
    return true;
}

}  // namespace leat::vulkan
