// Described devices that lack something: what they are refused for. Needs no device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/record/list_writer.h"
#include "backends/vulkan/shader/glsl_compiler.h"
#include "backends/vulkan/shader/shader_features.h"

namespace leat::vulkan {
namespace {

using ::testing::HasSubstr;

DeviceInfo device_with_every_type() {
    DeviceInfo info;
    info.name = "described";
    info.features.shaderFloat64 = VK_TRUE;
    info.features.shaderInt16 = VK_TRUE;
    info.features.shaderInt64 = VK_TRUE;
    info.features12.shaderFloat16 = VK_TRUE;
    info.features12.shaderInt8 = VK_TRUE;
    return info;
}

std::string source_with(const std::string& statement) {
    return "#version 460\n"
           "#extension GL_EXT_shader_explicit_arithmetic_types : require\n"
           "#extension GL_EXT_buffer_reference : require\n"
           "layout(local_size_x = 1) in;\n"
           "layout(buffer_reference) buffer Words { uint at[]; };\n"
           "layout(push_constant) uniform Push { Words words; };\n"
           "void main() {\n    uint x = words.at[0];\n    " +
           statement + "\n}\n";
}

TEST(VulkanFeatures, ComeFromTheDevice) {
    EXPECT_TRUE(kernel_limits(device_with_every_type()).has_every_type());
    const KernelLimits none = kernel_limits(DeviceInfo());
    EXPECT_FALSE(none.has_float16 || none.has_float64 || none.has_int8 || none.has_int16 ||
                 none.has_int64);
}

TEST(VulkanFeatures, AreReadFromSpirv) {
    const KernelLimits none = kernel_limits(DeviceInfo());
    struct Row {
        const char* statement;
        const char* missing;
    };
    for (const Row& row : {Row{"words.at[0] = x + 1;", ""},
                           Row{"words.at[0] = uint(double(x) * 0.5LF);", "shaderFloat64"},
                           Row{"words.at[0] = uint(uint64_t(x) * x >> 32);", "shaderInt64"},
                           Row{"words.at[0] = uint(uint16_t(x) * uint16_t(3));", "shaderInt16"},
                           Row{"words.at[0] = uint(uint8_t(x) * uint8_t(3));", "shaderInt8"},
                           Row{"words.at[0] = uint(float16_t(x) * 0.5hf);", "shaderFloat16"}}) {
        const auto words = compile_glsl("row", source_with(row.statement));
        ASSERT_TRUE(words.ok()) << words.error().message();
        EXPECT_EQ(missing_features(*words, none), row.missing) << row.statement;
        EXPECT_EQ(missing_features(*words, KernelLimits()), "");
    }
    EXPECT_EQ(missing_features(std::span<const uint32_t>(), none), "");
    EXPECT_EQ(missing_features(std::vector<uint32_t>(8, 0), none), "") << "no SPIR-V at all";
}

TEST(VulkanFeatures, ADispatchThatNeedsAMissingOneIsRefused) {
    DeviceInfo info = device_with_every_type();
    info.features.shaderFloat64 = VK_FALSE;
    CommandList list;
    ListWriter writer(list, kernel_limits(info));
    KernelDispatch dispatch;
    dispatch.shader = {"halves", {}, source_with("words.at[0] = uint(double(x) * 0.5LF);")};
    for (int attempt = 0; attempt < 2; ++attempt) {
        const Status refused = writer.dispatch(dispatch);
        EXPECT_EQ(refused.code(), StatusCode::kUnsupported);
        EXPECT_THAT(refused.message(), HasSubstr("'halves' needs shaderFloat64"));
    }
    EXPECT_TRUE(writer.shaders().empty());
    dispatch.shader = {"wide", {}, source_with("words.at[0] = uint(uint64_t(x) * x >> 32);")};
    EXPECT_TRUE(writer.dispatch(dispatch).ok());
    dispatch.shader = {"fill_words", {64}};
    EXPECT_TRUE(writer.dispatch(dispatch).ok());
}

TEST(VulkanFeatures, BuiltInShadersAreAskedToo) {
    DeviceInfo info = device_with_every_type();
    info.features.shaderInt64 = VK_FALSE;
    CommandList list;
    ListWriter writer(list, kernel_limits(info));
    KernelDispatch dispatch;
    dispatch.shader = {"cumsum", {64}};
    EXPECT_THAT(writer.dispatch(dispatch).message(), HasSubstr("'cumsum' needs shaderInt64"));
}

// They stand in for recorded copies and fills, of which nobody asks before a program is made.
TEST(VulkanFeatures, KernelsThatCopyAndFillNeedNone) {
    const KernelLimits none = kernel_limits(DeviceInfo());
    for (const char* name : {"fill_words", "strided_copy_8", "strided_copy_16", "strided_copy_32",
                             "strided_copy_64", "strided_copy_128"}) {
        const auto missing = missing_features(ShaderUse{name}, none);
        ASSERT_TRUE(missing.ok()) << missing.error().message();
        EXPECT_EQ(*missing, "") << name;
    }
}

TEST(VulkanFeatures, AreTakenAwayByName) {
    KernelLimits limits;
    EXPECT_TRUE(remove_feature("shaderInt16", limits));
    EXPECT_FALSE(limits.has_int16);
    EXPECT_TRUE(limits.has_int8 && limits.has_int64 && limits.has_float16 && limits.has_float64);
    EXPECT_FALSE(remove_feature("shaderInt128", limits));
}

TEST(VulkanFeatures, ADriverThatIsTooOldIsRefused) {
    DeviceInfo info = device_with_every_type();
    info.properties.apiVersion = VK_API_VERSION_1_2;
    const auto device = Device::create(nullptr, info);
    ASSERT_FALSE(device.ok());
    EXPECT_EQ(device.error().code(), StatusCode::kUnsupported);
    EXPECT_EQ(device.error().message(),
              "unsupported: Vulkan device 'described' lacks Vulkan 1.3 (it has 1.2.0)");
}

}  // namespace
}  // namespace leat::vulkan
