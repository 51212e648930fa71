#include "pipeline_warmer.h"

#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "command_list.h"
#include "command_pool.h"
#include "pipeline.h"

namespace leat::vulkan {

PipelineWarmer::~PipelineWarmer() {
    // Where the device is lost, nothing is in flight any more.
    (void)wait();
}

Status PipelineWarmer::begin(std::span<const BoundPipeline> pipelines) {
    if (pipelines.empty()) {
        return Status();
    }
    const Device& device = *queue_->device();
    Flight flight;
    LEAT_ASSIGN_OR_RETURN(flight.pool, make_command_pool(device, queue_->family()));
    LEAT_ASSIGN_OR_RETURN(const VkCommandBuffer commands,
                          allocate_commands(device, flight.pool.get()));
    const std::lock_guard<std::mutex> lock(mutex_);
    LEAT_RETURN_IF_ERROR(record(commands, pipelines));
    flights_.reserve(flights_.size() + 1);
    LEAT_ASSIGN_OR_RETURN(flight.point, queue_->submit({&commands, 1}));
    flights_.push_back(std::move(flight));
    return Status();
}

Result<VkBuffer> PipelineWarmer::window_memory() {
    if (window_memory_.empty()) {
        LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(queue_->device(), kArenaAlignmentBytes));
        window_memory_.push_back(std::move(arena));
    }
    return window_memory_[0].segments()[0].buffer.get();
}

Status PipelineWarmer::record(VkCommandBuffer commands, std::span<const BoundPipeline> pipelines) {
    const Device& device = *queue_->device();
    const DeviceCalls& vk = device.calls();
    LEAT_RETURN_IF_ERROR(begin_commands(device, commands));
    constexpr std::array<std::byte, kPushBytes> kNothing{};
    vk.CmdPushConstants(commands, layout_, VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes,
                        kNothing.data());
    for (const BoundPipeline& pipeline : pipelines) {
        vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.handle);
        if (pipeline.windows != 0) {
            std::array<VkDescriptorBufferInfo, kMaxOperands> windows{};
            LEAT_ASSIGN_OR_RETURN(const VkBuffer memory, window_memory());
            windows.fill({memory, 0, VK_WHOLE_SIZE});
            push_windows(vk, commands, pipeline, windows);
        }
        vk.CmdDispatch(commands, 0, 0, 0);
    }
    return end_commands(device, commands);
}

Status PipelineWarmer::wait() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (flights_.empty()) {
        return Status();
    }
    const auto reached = queue_->wait(flights_.back().point, std::numeric_limits<int64_t>::max());
    flights_.clear();
    return reached.ok() ? Status() : reached.error();
}

}  // namespace leat::vulkan
