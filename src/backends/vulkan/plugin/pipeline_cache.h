// PipelineCache: the pipelines of a device, each made once for all executables.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "backends/vulkan/kernel/kernel.h"
#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/kernel/pipeline_warmer.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

// Safe to use from any thread; outlives what was recorded with its pipelines. Two threads that want
// the same new pipeline may both make it, and the first one's stays.
class PipelineCache {
  public:
    // Of the queue's device. `disk`: what pipelines are made from is kept there; null: nowhere.
    // With `checks_addresses` they are for recordings with rules. Throws where the device makes no
    // layout.
    PipelineCache(const std::shared_ptr<Queue>& queue, DiskCache* disk, bool checks_addresses);

    // Makes the missing ones on the host's threads. Returns while a device that translates them at
    // their first dispatch is at it. Throws the first error.
    void begin(std::span<const ShaderUse> shaders, const plugin::Host& host);
    // A pipeline for each, ready to run. Throws the first error.
    std::vector<BoundPipeline> pipelines_of(std::span<const ShaderUse> shaders,
                                            const plugin::Host& host);
    VkPipelineLayout layout() const { return maker_->layout(); }

  private:
    using Key = std::tuple<std::string, std::vector<uint32_t>, std::string>;
    static Key key_of(const ShaderUse& shader);
    // Its handle is null where there is none.
    BoundPipeline find(const ShaderUse& shader) const;
    Status make(const ShaderUse& shader);

    DiskCache* disk_;
    bool checks_addresses_;
    std::unique_ptr<PipelineMaker> maker_;
    mutable std::mutex mutex_;
    std::map<Key, OwnedPipeline> pipelines_;
    std::unique_ptr<PipelineWarmer> warmer_;  // the first to go; null where nothing is gained
};

}  // namespace leat::vulkan
