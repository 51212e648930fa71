#include "backends/vulkan/shader_features.h"

#include <algorithm>
#include <iterator>

namespace leat::vulkan {
namespace {

// SPIR-V 1.6, sections 2.3 (layout of a module), 3.31 and 3.52.
constexpr size_t kHeaderWords = 5;
constexpr uint32_t kOpCapability = 17;
constexpr uint32_t kOpMemoryModel = 14;  // the first instruction after all capabilities

struct Feature {
    uint32_t capability;
    bool KernelLimits::*is_there;
    std::string_view name;
};
constexpr Feature kFeatures[] = {
    {9, &KernelLimits::has_float16, "shaderFloat16"},
    {10, &KernelLimits::has_float64, "shaderFloat64"},
    {11, &KernelLimits::has_int64, "shaderInt64"},
    {22, &KernelLimits::has_int16, "shaderInt16"},
    {39, &KernelLimits::has_int8, "shaderInt8"},
};

}  // namespace

std::string missing_features(std::span<const uint32_t> words, const KernelLimits& limits) {
    std::string missing;
    size_t at = kHeaderWords;
    while (at + 1 < words.size()) {
        const uint32_t opcode = words[at] & 0xffffU;
        const uint32_t count = words[at] >> 16U;
        if (opcode == kOpMemoryModel || count == 0) {
            break;
        }
        for (const Feature& feature : kFeatures) {
            if (opcode == kOpCapability && words[at + 1] == feature.capability &&
                !(limits.*feature.is_there)) {
                missing += missing.empty() ? "" : ", ";
                missing += feature.name;
            }
        }
        at += count;
    }
    return missing;
}

bool remove_feature(std::string_view name, KernelLimits& limits) {
    const auto found = std::find_if(std::begin(kFeatures), std::end(kFeatures),
                                    [&](const Feature& feature) { return feature.name == name; });
    if (found == std::end(kFeatures)) {
        return false;
    }
    limits.*found->is_there = false;
    return true;
}

}  // namespace leat::vulkan
