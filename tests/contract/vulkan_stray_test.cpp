// What the plugin says of a run in which a kernel left its operands: programs made by hand, since
// the backend's own have no such kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <limits>
#include <mutex>

#include "backends/plugin/host_services.h"
#include "backends/vulkan/instance.h"
#include "backends/vulkan/loader.h"
#include "backends/vulkan/plugin/vulkan_instance.h"
#include "backends/vulkan/plugin/vulkan_slab.h"
#include "backends/vulkan/tier.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kBytes = 1024;
constexpr uint32_t kCount = kBytes / sizeof(float);

// y = -x in two steps, the second of which takes x_bytes and y_bytes for the sizes of its operands.
std::shared_ptr<const Program> program_with(int64_t x_bytes, int64_t y_bytes) {
    auto program = std::make_shared<Program>();
    program->buffers = {{BufferRole::kInput, 0, x_bytes}, {BufferRole::kOutput, 0, y_bytes}};
    const BufferId x = program->list.add_buffer(x_bytes, true);
    const BufferId y = program->list.add_buffer(y_bytes, true);
    program->shaders = {{"elementwise_unary", {64, 1}}};
    program->step_names = {"node 'first' (Neg)", "node 'second' (Neg)"};
    program->step_begins = {0, 1, 2};
    program->step_count = 2;
    Dispatch dispatch;
    dispatch.operands[0] = {x, 0};
    dispatch.operands[1] = {y, 0};
    dispatch.operand_count = 2;
    const BufferUse uses[] = {{x, {0, x_bytes}, false}, {y, {0, y_bytes}, true}};
    for (const uint32_t count : {4U, kCount}) {
        dispatch.scalars[0] = count;
        EXPECT_TRUE(program->list.add(dispatch, uses).ok());
    }
    return program;
}

class VulkanStrays : public ::testing::Test {
  protected:
    void SetUp() override {
        settings_.checks_addresses = true;
        const auto loader = Loader::open();
        const auto instance = loader.ok() ? Instance::create(*loader) : loader.error();
        const auto devices = instance.ok() ? list_devices(**instance)
                                           : Result<std::vector<DeviceInfo>>(instance.error());
        if (!devices.ok()) {
            GTEST_SKIP() << devices.error().message();
        }
        for (const DeviceInfo& info : *devices) {
            if (device_ == nullptr && tier_of(info).level != kNoTier) {
                device_ = std::make_unique<LazyDevice>(*instance, info, 0, settings_, nullptr);
            }
        }
        if (device_ == nullptr) {
            GTEST_SKIP() << "no usable Vulkan device";
        }
    }

    // Why the run failed; empty if it did not.
    std::string run(int64_t x_bytes, int64_t y_bytes) {
        VulkanSlab x(*device_, kBytes);
        VulkanSlab y(*device_, kBytes);
        const auto linkage = plugin::made<LeatLinkage>();
        VulkanInstance instance(*device_, plugin::Host(&host_.api()),
                                program_with(x_bytes, y_bytes), linkage);
        const LeatBinding in{reinterpret_cast<LeatSlab*>(static_cast<plugin::Slab*>(&x)), 0, kBytes,
                             nullptr};
        const LeatBinding out{reinterpret_cast<LeatSlab*>(static_cast<plugin::Slab*>(&y)), 0,
                              kBytes, nullptr};
        const std::unique_ptr<Work> work = instance.make_run(&in, &out, nullptr);
        const uint64_t point = work->run({});
        const Status waited =
            device_->open().compute.queue->wait(point, std::numeric_limits<int64_t>::max()).error();
        EXPECT_TRUE(waited.ok()) << waited.message();
        try {
            work->finish();
        } catch (const plugin::Error& error) {
            return error.what();
        }
        return {};
    }

    HostServices host_;
    Settings settings_;
    std::unique_ptr<LazyDevice> device_;
};

TEST_F(VulkanStrays, AreNamedByNodeKernelAndOperand) {
    EXPECT_EQ(run(kBytes, kBytes), "");
    EXPECT_THAT(run(kBytes / 2, kBytes),
                ::testing::MatchesRegex(
                    ".*node 'second' \\(Neg\\).*kernel 'elementwise_unary' reads [0-9]+ bytes at "
                    "offset [0-9]+ of operand 0, of which it may read 512 bytes.*"));
    EXPECT_THAT(run(kBytes, kBytes / 4),
                ::testing::MatchesRegex(
                    ".*node 'second' \\(Neg\\).*kernel 'elementwise_unary' writes [0-9]+ bytes at "
                    "offset [0-9]+ of operand 1, of which it may write 256 bytes.*"));
    EXPECT_EQ(run(kBytes, kBytes), "") << "the device goes on";
}

}  // namespace
}  // namespace leat::vulkan
