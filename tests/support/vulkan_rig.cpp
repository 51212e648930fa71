#include "support/vulkan_rig.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "backends/vulkan/record/hazard_check.h"
#include "base/error.h"
#include "base/round_up.h"

namespace leat::vulkan {

Result<std::unique_ptr<VulkanRig>> VulkanRig::make(VulkanApiOptions instance_options,
                                                   OpenOptions device_options) {
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                          make_test_device(std::move(instance_options), device_options));
    return make_on(std::move(device));
}

Result<std::unique_ptr<VulkanRig>> VulkanRig::make_on(std::shared_ptr<Device> device,
                                                      ArenaOptions memory) {
    std::unique_ptr<VulkanRig> rig(new VulkanRig);
    rig->device_ = std::move(device);
    LEAT_ASSIGN_OR_RETURN(rig->queue_,
                          Queue::create(rig->device_, rig->device_->families().compute));
    LEAT_ASSIGN_OR_RETURN(rig->maker_, PipelineMaker::create(rig->device_));
    LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(rig->device_, kArenaBytes, memory));
    rig->arena_.push_back(std::move(arena));
    LEAT_ASSIGN_OR_RETURN(rig->ring_, StagingRing::create(rig->queue_, {1 << 20, 2}));
    return rig;
}

BufferId VulkanRig::add_buffer(int64_t size_bytes) {
    const BufferId buffer = list_.add_buffer(size_bytes);
    place_buffer(buffer, size_bytes);
    return buffer;
}

void VulkanRig::place_buffer(BufferId buffer, int64_t size_bytes) {
    ASSERT_EQ(size_t(buffer), places_.size());
    const Result<BufferPlace> place = place_in(arena_[0], {used_bytes_, used_bytes_ + size_bytes});
    ASSERT_TRUE(place.ok()) << place.error().message();
    places_.push_back(*place);
    offsets_.push_back(used_bytes_);
    used_bytes_ = round_up(used_bytes_ + size_bytes, kArenaAlignmentBytes);
}

BufferId VulkanRig::add_external(int64_t size_bytes) {
    places_.emplace_back();
    offsets_.push_back(-1);
    return list_.add_buffer(size_bytes, true);
}

PipelineId VulkanRig::add_pipeline(std::string_view shader, std::vector<uint32_t> constants) {
    return add_pipeline(ShaderUse{std::string(shader), std::move(constants)});
}

PipelineId VulkanRig::add_pipeline(const ShaderUse& shader) {
    Result<OwnedPipeline> pipeline =
        make_kernel_pipeline(*maker_, shader, nullptr, checks_addresses_);
    EXPECT_TRUE(pipeline.ok()) << pipeline.error().message();
    const Result<BoundPipeline> bound = bind_kernel_pipeline(*maker_, shader, pipeline->get());
    EXPECT_TRUE(bound.ok()) << bound.error().message();
    bound_.push_back(*bound);
    pipelines_.push_back(std::move(*pipeline));
    return PipelineId(pipelines_.size() - 1);
}

void VulkanRig::write_bytes(BufferId buffer, std::span<const std::byte> bytes) {
    const Result<uint64_t> point = ring_->upload(bytes, arena_[0], offsets_[size_t(buffer)]);
    EXPECT_TRUE(point.ok()) << point.error().message();
}

void VulkanRig::read_bytes(BufferId buffer, std::span<std::byte> bytes) {
    const Status status = ring_->download(arena_[0], offsets_[size_t(buffer)], bytes);
    EXPECT_TRUE(status.ok()) << status.message();
}

Result<std::unique_ptr<Recording>> VulkanRig::record(BarrierPlanOptions options) {
    const BarrierPlan plan = plan_barriers(list_, options);
    EXPECT_TRUE(check_hazards(list_, plan).is_clean());
    return Recording::record(queue_, list_, plan,
                             {maker_->layout(), places_, bound_, false, checks_addresses_});
}

Status VulkanRig::run(Recording& recording) {
    LEAT_ASSIGN_OR_RETURN(const uint64_t point, recording.replay());
    return queue_->wait(point, std::numeric_limits<int64_t>::max()).error();
}

std::vector<BufferUse> whole_uses(std::span<const BufferId> buffers,
                                  std::span<const int64_t> sizes_bytes) {
    std::vector<BufferUse> uses;
    uses.reserve(buffers.size());
    for (size_t i = 0; i < buffers.size(); ++i) {
        uses.push_back({buffers[i], {0, sizes_bytes[i]}, i + 1 == buffers.size()});
    }
    return uses;
}

}  // namespace leat::vulkan
