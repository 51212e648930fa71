// What the plugin says of a run in which a kernel left its operands: programs made by hand, since
// the backend's own have no such kernels.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "backends/plugin/host_services.h"
#include "backends/vulkan/device/instance.h"
#include "backends/vulkan/device/loader.h"
#include "backends/vulkan/device/tier.h"
#include "backends/vulkan/plugin/vulkan_instance.h"
#include "backends/vulkan/plugin/vulkan_slab.h"
#include "base/error.h"
#include "support/vulkan_machine.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kBytes = 1024;
constexpr uint32_t kCount = kBytes / sizeof(float);

// y = -x in two steps, the second of `count` elements, whatever the operands' sizes are.
std::shared_ptr<const DeviceProgram> program_with(int64_t x_bytes,
                                                  int64_t y_bytes,
                                                  uint32_t count) {
    auto program = std::make_shared<DeviceProgram>();
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
    for (const uint32_t elements : {4U, count}) {
        dispatch.scalars[0] = elements;
        EXPECT_TRUE(program->list.add(dispatch, uses).ok());
    }
    return program;
}

class VulkanStrays : public ::testing::Test {
  protected:
    // The reason where the machine has no such device.
    Status open(VulkanApiOptions options = {}) {
        LEAT_ASSIGN_OR_RETURN(auto loader, Loader::open());
        LEAT_ASSIGN_OR_RETURN(auto instance, VulkanApi::create(loader, std::move(options)));
        LEAT_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, list_devices(*instance));
        for (const DeviceInfo& info : devices) {
            if (tier_of(info).level != kNoTier) {
                device_ = std::make_unique<LazyDevice>(instance, info, 0, settings_, nullptr);
                return Status();
            }
        }
        return not_found("no usable Vulkan device");
    }

    static LeatBinding whole(VulkanSlab& slab) {
        return {reinterpret_cast<LeatSlab*>(static_cast<plugin::Slab*>(&slab)), 0, slab.bytes(),
                nullptr};
    }

    // Why the run failed; empty if it did not.
    std::string run(int64_t x_bytes, int64_t y_bytes, uint32_t count = kCount) {
        VulkanSlab x(*device_, std::max(kBytes, x_bytes));
        VulkanSlab y(*device_, std::max(kBytes, y_bytes));
        const auto linkage = plugin::made<LeatLinkage>();
        VulkanInstance instance(*device_, plugin::Host(&host_.api()),
                                program_with(x_bytes, y_bytes, count), linkage);
        const LeatBinding in = whole(x);
        const LeatBinding out = whole(y);
        const std::unique_ptr<VulkanWork> work = instance.make_run(&in, &out, nullptr);
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
    settings_.checks_addresses = true;
    if (const Status status = open(); !status.ok()) {
        GTEST_SKIP() << status.message();
    }
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

// What the test vulkan-gpu-assisted trusts: in the backend's fence mode the layer tells of strays,
// here of a read and a write of megabytes, which no neighbour in memory can have room for.
TEST_F(VulkanStrays, AreToldByGpuAssistedValidation) {
    if (!layer_tells_of_strays()) {
        GTEST_SKIP() << "this layer does not tell of every stray";
    }
    constexpr uint32_t kFarCount = uint32_t{1} << 22;
    MessageLog log;
    VulkanApiOptions options;
    options.is_validated = true;
    options.checks_on_device = true;
    options.on_message = log.sink();
    settings_.uses_fences = true;
    if (const Status status = open(std::move(options)); !status.ok()) {
        GTEST_SKIP() << status.message();
    }
    EXPECT_EQ(run(kBytes, kBytes), "");
    EXPECT_THAT(log.messages(), ::testing::IsEmpty());
    const auto is_told = ::testing::Contains(::testing::HasSubstr("ut of bounds"));
    constexpr int64_t kFarBytes = int64_t{kFarCount} * 4;
    for (const bool is_read : {true, false}) {
        const size_t before = log.messages().size();
        EXPECT_EQ(run(is_read ? kBytes : kFarBytes, is_read ? kFarBytes : kBytes, kFarCount), "");
        std::vector<std::string> messages = log.messages();
        messages.erase(messages.begin(), messages.begin() + int64_t(before));
        EXPECT_THAT(messages, is_told) << (is_read ? "a read" : "a write");
    }
}

}  // namespace
}  // namespace leat::vulkan
