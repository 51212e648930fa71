// Pipelines: shaders made ready for a device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "device.h"
#include "owned.h"
#include "shaders.h"

namespace leat::vulkan {

// Bytes of push constants that every kernel has, and every device of tier 0.
constexpr uint32_t kPushBytes = 128;

// Makes the pipelines of a device. Safe to use from any thread; outlives its pipelines.
class PipelineMaker {
  public:
    static Result<std::unique_ptr<PipelineMaker>> create(std::shared_ptr<const Device> device);

    // `constants` are the shader's specialisation constants 0, 1, ... as words. A `subgroup_size`
    // other than 0 is required of the driver, which otherwise chooses one.
    Result<OwnedPipeline> make(const Shader& shader,
                               std::span<const uint32_t> constants,
                               uint32_t subgroup_size = 0) const;

    VkPipelineLayout layout() const { return layout_.get(); }

  private:
    explicit PipelineMaker(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
    Status make_layout();

    std::shared_ptr<const Device> device_;
    OwnedPipelineLayout layout_;
};

}  // namespace leat::vulkan
