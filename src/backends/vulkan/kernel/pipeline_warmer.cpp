#include "backends/vulkan/kernel/pipeline_warmer.h"

#include <array>
#include <limits>
#include <utility>

#include "backends/vulkan/kernel/pipeline.h"
#include "backends/vulkan/record/command_list.h"
#include "backends/vulkan/record/command_pool.h"
#include "base/error.h"

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

Status PipelineWarmer::make_windows() {
    if (!window_memory_.empty()) {
        return Status();
    }
    // As windows of recordings are, for which Mesa's driver else translates anew: no power of two,
    // and see window_bytes().
    constexpr int64_t kSizeBytes = 3 * kArenaAlignmentBytes;
    LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(queue_->device(), kSizeBytes));
    for (const bool has_vectors : {false, true}) {
        LEAT_ASSIGN_OR_RETURN(windows_[size_t(has_vectors)],
                              make_view(*queue_->device(), arena.buffer_at(0).buffer,
                                        {0, kSizeBytes}, kSizeBytes, has_vectors));
    }
    window_memory_.push_back(std::move(arena));
    return Status();
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
            std::array<VkBufferView, kMaxOperands> windows{};
            LEAT_RETURN_IF_ERROR(make_windows());
            for (uint32_t i = 0; i < kMaxOperands; ++i) {
                windows[i] = windows_[pipeline.vector_windows >> i & 1U].get();
            }
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
