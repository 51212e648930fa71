// Kernels that check their addresses: planted strays are caught and named, and do no harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/vulkan/shader/checked_spirv.h"
#include "backends/vulkan/shader/glsl_compiler.h"
#include "backends/vulkan/shader/matrix_spirv.h"
#include "backends/vulkan/shader/spirv.h"
#include "push_block.glsl.h"
#include "support/vulkan_rig.h"

namespace leat::vulkan {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

constexpr int64_t kBytes = 4096;
constexpr uint32_t kCount = kBytes / sizeof(float);

class VulkanAddressChecks : public ::testing::Test {
  protected:
    void SetUp() override {
        auto rig = VulkanRig::make();
        if (!rig.ok()) {
            GTEST_SKIP() << rig.error().message();
        }
        rig_ = std::move(*rig);
        rig_->check_addresses();
    }

    // y = -x of `count` elements, by a kernel that may use these bytes.
    void negate(BufferId x, int64_t x_bytes, BufferId y, int64_t y_bytes, uint32_t count = kCount) {
        Dispatch dispatch;
        dispatch.pipeline = rig_->add_pipeline("elementwise_unary", {64, 1});
        dispatch.operands[0] = {x, 0};
        dispatch.operands[1] = {y, 0};
        dispatch.operand_count = 2;
        dispatch.scalars[0] = count;
        const BufferUse uses[] = {{x, {0, x_bytes}, false}, {y, {0, y_bytes}, true}};
        ASSERT_TRUE(rig_->list().add(dispatch, uses).ok());
    }

    std::optional<StrayAccess> run(Recording& recording) {
        const Status status = rig_->run(recording);
        EXPECT_TRUE(status.ok()) << status.message();
        return recording.stray_access();
    }
    std::optional<StrayAccess> run() { return run(**rig_->record()); }

    std::unique_ptr<VulkanRig> rig_;
};

// ShaderUse::windows as the shader declares them: its bindings.
uint32_t window_bits(std::span<const uint32_t> words) {
    constexpr uint32_t kDecorationBinding = 33;
    uint32_t bits = 0;
    spirv::for_each_instruction(words, [&](spirv::Instruction instruction) {
        if (spirv::op_of(instruction) == spirv::kOpDecorate &&
            instruction[2] == kDecorationBinding) {
            bits |= 1U << instruction[3];
        }
        return true;
    });
    return bits;
}

TEST_F(VulkanAddressChecks, EveryShaderCanBeChecked) {
    for (const Shader& shader : shader_list()) {
        if (shader.name == "address_check") {
            continue;  // what the others are linked with
        }
        const auto checked = with_address_checks(shader.words);
        ASSERT_TRUE(checked.ok()) << shader.name << ": " << checked.error().message();
        if (has_matrices(shader.words)) {
            continue;  // for devices that have them
        }
        // Under the validation layer this is where wrong SPIR-V is told.
        ShaderUse use{std::string(shader.name)};
        use.windows = window_bits(shader.words);
        rig_->add_pipeline(use);
    }
}

TEST_F(VulkanAddressChecks, FindNothingWhereNothingStrays) {
    const BufferId x = rig_->add_buffer(kBytes);
    const BufferId y = rig_->add_buffer(kBytes);
    rig_->write(x, std::vector<float>(kCount, 3.0F));
    negate(x, kBytes, y, kBytes);
    EXPECT_FALSE(run());
    EXPECT_THAT(rig_->read<float>(y, kCount), Each(-3.0F));
}

TEST_F(VulkanAddressChecks, AReadBehindItsOperandGivesZeros) {
    const BufferId x = rig_->add_buffer(kBytes);
    const BufferId y = rig_->add_buffer(kBytes);
    rig_->write(x, std::vector<float>(kCount, 3.0F));
    negate(x, 16, y, kBytes, 8);
    const auto stray = run();
    ASSERT_TRUE(stray);
    // Four at once, or one after the other.
    EXPECT_EQ(stray->offset_bytes, 16);
    EXPECT_EQ(stray->text(),
              fmt::format("reads {} bytes at offset 16 of operand 0, of which it may read 16 bytes",
                          stray->access_bytes));
    EXPECT_EQ(rig_->read<float>(y, 8), (std::vector<float>{-3, -3, -3, -3, 0, 0, 0, 0}));
}

// y is followed by x, into which the kernel would write.
TEST_F(VulkanAddressChecks, AWriteIntoAnotherOperandIsDropped) {
    const BufferId y = rig_->add_buffer(256);
    const BufferId x = rig_->add_buffer(kBytes);
    rig_->write(x, std::vector<float>(kCount, 3.0F));
    negate(x, kBytes, y, 256, 68);
    const auto stray = run();
    ASSERT_TRUE(stray);
    EXPECT_TRUE(stray->is_write);
    EXPECT_EQ(stray->operand, 1U);
    EXPECT_EQ(stray->offset_bytes, 256);
    EXPECT_EQ(stray->operand_bytes, 256);
    EXPECT_THAT(rig_->read<float>(x, kCount), Each(3.0F));
    EXPECT_THAT(rig_->read<float>(y, 64), Each(-3.0F));
}

// A run with a stray, then one with the memory that the kernel needs: each is judged by itself.
TEST_F(VulkanAddressChecks, FollowExternalOperands) {
    const BufferId x = rig_->add_buffer(kBytes);
    const BufferId external = rig_->add_external(kBytes);
    const BufferId target = rig_->add_buffer(kBytes);
    rig_->write(x, std::vector<float>(kCount, 3.0F));
    negate(x, kBytes, external, kBytes);
    const auto recording = rig_->record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    ASSERT_TRUE((*recording)->bind(external, rig_->address(target)).ok());
    EXPECT_FALSE(run(**recording));
    EXPECT_THAT(rig_->read<float>(target, kCount), Each(-3.0F));
}

// A kernel of which every run takes another wrong turn: loads and stores by addresses that are no
// operand's begin, an atomic, and parameters.
constexpr std::string_view kWanderer = R"(
#extension GL_EXT_shader_8bit_storage : require
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Words { uint at[]; };
layout(buffer_reference, scalar, buffer_reference_align = 1) buffer Bytes { uint8_t at[]; };
struct Many { uvec4 words[8]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Manies { Many at[]; };
void main() {
    const uvec2 y = operand(1u);
    uint carry;
    const uint low = uaddCarry(y.x, push.scalars[1], carry);
    const uvec2 inside = uvec2(low, y.y + carry);
    switch (push.scalars[0]) {
        case 0: Words(y).at[0] = Words(inside).at[0]; break;
        case 1: Words(inside).at[0] = 1u; break;
        case 2: atomicAdd(Words(y).at[push.scalars[1] / 4u], 1u); break;
        case 3: Words(y).at[0] = Words(push.parameters).at[push.scalars[1] / 4u]; break;
        case 4: Bytes(y).at[push.scalars[1]] = uint8_t(1u); break;
        case 5: Words(y).at[0] = Manies(y).at[push.scalars[1] / 128u].words[7].w; break;
        default: Many all = Manies(inside).at[0]; Words(y).at[0] = all.words[7].w; break;
    }
}
)";

std::string wanderer_source() {
    return fmt::format("#version 460\nlayout(local_size_x = 1) in;\n{}{}", glsl::push_block,
                       kWanderer);
}

struct Turn {
    uint32_t number;
    uint32_t bytes;
    const char* found;  // empty: no stray
};

TEST_F(VulkanAddressChecks, KnowEveryKindOfAccess) {
    constexpr Turn kTurns[] = {
        {0, 12, ""},
        {0, 252, ""},
        {1, 252, ""},
        {1, 256, "writes 4 bytes at offset 256 of operand 1, of which it may write 256 bytes"},
        {2, 252, ""},
        {2, 256, "writes 4 bytes at offset 256 of operand 1, of which it may write 256 bytes"},
        {3, 12, ""},
        {3, 16, "reads 4 bytes at offset 16 of its parameters, of which it may read 16 bytes"},
        {4, 255, ""},
        {4, 300, "writes 1 bytes at offset 300 of operand 1, of which it may write 256 bytes"},
        {5, 128, ""},
        {5, 256, "reads 4 bytes at offset 380 of operand 1, of which it may read 256 bytes"},
        {6, 128, ""},
        {6, 132, "reads 128 bytes at offset 132 of operand 1, of which it may read 256 bytes"}};
    const std::string source = wanderer_source();
    for (const Turn& turn : kTurns) {
        SCOPED_TRACE(fmt::format("turn {} at {}", turn.number, turn.bytes));
        auto rig = *VulkanRig::make_on(rig_->device());
        rig->check_addresses();
        const std::array<uint32_t, 4> parameters = {1, 2, 3, 4};
        Dispatch dispatch;
        dispatch.parameters_offset =
            rig->list().add_parameters(std::as_bytes(std::span(parameters)));
        const BufferId x = rig->add_buffer(64);
        const BufferId y = rig->add_buffer(512);
        dispatch.pipeline = rig->add_pipeline(ShaderUse{"wanderer", {}, source});
        dispatch.operands[0] = {x, 0};
        dispatch.operands[1] = {y, 0};
        dispatch.operand_count = 2;
        dispatch.scalars[0] = turn.number;
        dispatch.scalars[1] = turn.bytes;
        const BufferUse uses[] = {{x, {0, 64}, false}, {y, {0, 256}, true}};
        ASSERT_TRUE(rig->list().add(dispatch, uses).ok());
        const auto recording = rig->record();
        ASSERT_TRUE(recording.ok()) << recording.error().message();
        ASSERT_TRUE(rig->run(**recording).ok());
        const auto stray = (*recording)->stray_access();
        EXPECT_EQ(stray ? stray->text() : "", turn.found);
    }
}

// glslang 12 writes loads and stores for copies, so this one is made by hand.
TEST_F(VulkanAddressChecks, RefuseWhatTheyDoNotKnow) {
    SpirvWords words = *compile_glsl("wanderer", wanderer_source());
    size_t at = 5;
    while ((words[at] & 0xffffU) != 62U || words[at] >> 16U < 5) {  // a store through an address
        at += words[at] >> 16U;
    }
    words[at] = (words[at] & 0xffff0000U) | 63U;  // OpCopyMemory
    const auto checked = with_address_checks(words);
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.error().code(), StatusCode::kUnsupported);
    EXPECT_THAT(checked.error().message(), HasSubstr("instruction 63"));
}

}  // namespace
}  // namespace leat::vulkan
