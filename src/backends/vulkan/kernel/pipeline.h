// Pipelines: shaders made ready for a device.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/device/driver_cache.h"
#include "backends/vulkan/device/owned.h"
#include "backends/vulkan/shader/shaders.h"

namespace leat::vulkan {

// Bytes of push constants that every kernel has, and every device of tier 0.
constexpr uint32_t kPushBytes = 128;

// Makes the pipelines of a device. Safe to use from any thread; outlives its pipelines.
class PipelineMaker {
  public:
    // With `disk`, which outlives it, the driver starts with what it kept in earlier processes.
    static Result<std::unique_ptr<PipelineMaker>> create(std::shared_ptr<const Device> device,
                                                         DiskCache* disk = nullptr);

    // `constants` are the shader's specialisation constants 0, 1, ... as words. A `subgroup_size`
    // other than 0 is required of the driver, which otherwise chooses one. unsupported: windows on
    // a device without push descriptors.
    Result<OwnedPipeline> make(const Shader& shader,
                               std::span<const uint32_t> constants,
                               uint32_t subgroup_size = 0) const;

    // Of pipelines without windows.
    VkPipelineLayout layout() const { return layout_.get(); }
    // Of pipelines whose shader has these windows: set 0 is pushed, the push constants are those of
    // layout(). Made once; errors as make().
    Result<VkPipelineLayout> layout_of(uint32_t windows) const;
    // Whether the device's driver keeps nothing of a pipeline but its machine code, and so reads
    // its SPIR-V in each process (Mesa's software device): then shorter SPIR-V pays.
    bool translates_each_time() const;
    // Keeps on the disk, if there is one, what the driver has of the pipelines that were made.
    void save() const;

  private:
    explicit PipelineMaker(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
    struct WindowLayout {
        OwnedDescriptorSetLayout set;
        OwnedPipelineLayout pipeline;
    };
    Result<WindowLayout> make_window_layout(uint32_t windows) const;
    // `set` may be null.
    Result<OwnedPipelineLayout> make_layout(VkDescriptorSetLayout set) const;

    std::shared_ptr<const Device> device_;
    OwnedPipelineLayout layout_;
    mutable std::mutex mutex_;  // of the next
    mutable std::map<uint32_t, WindowLayout> window_layouts_;
    std::unique_ptr<DriverCache> kept_;
};

}  // namespace leat::vulkan
