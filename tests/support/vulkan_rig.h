// VulkanRig: a device, a queue, memory and a list of commands, for tests of kernels and recordings.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/memory/staging_ring.h"
#include "backends/vulkan/record/recording.h"
#include "support/vulkan_machine.h"

namespace leat::vulkan {

class VulkanRig {
  public:
    // Memory for all buffers of a test.
    static constexpr int64_t kArenaBytes = int64_t{32} << 20;

    static Result<std::unique_ptr<VulkanRig>> make(VulkanApiOptions instance_options = {},
                                                   OpenOptions device_options = {});
    // On a device that others use, too.
    static Result<std::unique_ptr<VulkanRig>> make_on(std::shared_ptr<Device> device,
                                                      ArenaOptions memory = {});

    const std::shared_ptr<Device>& device() const { return device_; }
    const std::shared_ptr<Queue>& queue() const { return queue_; }
    CommandList& list() { return list_; }

    BufferId add_buffer(int64_t size_bytes);
    BufferId add_external(int64_t size_bytes);
    // Memory for a buffer that was added to list() by somebody else, as the last one.
    void place_buffer(BufferId buffer, int64_t size_bytes);
    PipelineId add_pipeline(std::string_view shader, std::vector<uint32_t> constants);
    PipelineId add_pipeline(const ShaderUse& shader);
    // From now on: pipelines and recordings check addresses.
    void check_addresses() { checks_addresses_ = true; }
    uint64_t address(BufferId buffer) const { return places_[size_t(buffer)].address; }

    // Elements of 4 bytes, whatever they mean.
    template <class T>
    void write(BufferId buffer, const std::vector<T>& values) {
        write_bytes(buffer, std::as_bytes(std::span(values)));
    }
    template <class T>
    std::vector<T> read(BufferId buffer, size_t count) {
        std::vector<T> values(count);
        read_bytes(buffer, std::as_writable_bytes(std::span(values)));
        return values;
    }

    // The list as it is now; its plan is proved first.
    Result<std::unique_ptr<Recording>> record(BarrierPlanOptions options = {});
    // Replays and waits for the end.
    Status run(Recording& recording);

  private:
    VulkanRig() = default;
    void write_bytes(BufferId buffer, std::span<const std::byte> bytes);
    void read_bytes(BufferId buffer, std::span<std::byte> bytes);

    std::shared_ptr<Device> device_;
    std::shared_ptr<Queue> queue_;
    std::unique_ptr<PipelineMaker> maker_;
    std::vector<Arena> arena_;
    std::unique_ptr<StagingRing> ring_;
    CommandList list_;
    std::vector<BufferPlace> places_;
    std::vector<int64_t> offsets_;  // in the arena, by BufferId
    std::vector<OwnedPipeline> pipelines_;
    std::vector<BoundPipeline> bound_;  // the same
    int64_t used_bytes_ = 0;
    bool checks_addresses_ = false;
};

// Uses of whole buffers: inputs first, the last one is written.
std::vector<BufferUse> whole_uses(std::span<const BufferId> buffers,
                                  std::span<const int64_t> sizes_bytes);

}  // namespace leat::vulkan

// VulkanRig& name, or the test is skipped with the reason.
#define LEAT_RIG_OR_SKIP(name, ...)                                    \
    auto name##_result = ::leat::vulkan::VulkanRig::make(__VA_ARGS__); \
    if (!name##_result.ok()) {                                         \
        GTEST_SKIP() << name##_result.error().message();               \
    }                                                                  \
    ::leat::vulkan::VulkanRig& name = **name##_result
