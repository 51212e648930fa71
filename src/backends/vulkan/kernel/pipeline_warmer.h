// PipelineWarmer: has a device translate pipelines before their first use.
//
// Devices that are CPUs translate a pipeline in their queue, when its first dispatch gets there
// (docs/measurements/vulkan.md). So each pipeline is dispatched once with no workgroup at all: it
// is translated, and nothing is read or written.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/vulkan/device/owned.h"
#include "backends/vulkan/device/queue.h"
#include "backends/vulkan/memory/arena.h"
#include "backends/vulkan/record/window_binding.h"

namespace leat::vulkan {

// Thread-safe.
class PipelineWarmer {
  public:
    // `layout`: PipelineMaker::layout().
    PipelineWarmer(std::shared_ptr<Queue> queue, VkPipelineLayout layout)
        : queue_(std::move(queue)), layout_(layout) {}
    PipelineWarmer(const PipelineWarmer&) = delete;
    PipelineWarmer& operator=(const PipelineWarmer&) = delete;
    // Waits for what it has begun.
    ~PipelineWarmer();

    // Returns while the device is at it. The pipelines stay until then.
    Status begin(std::span<const BoundPipeline> pipelines);
    // Until the device has done everything that was begun.
    Status wait();

  private:
    struct Flight {
        OwnedCommandPool pool;
        uint64_t point = 0;
    };
    Status record(VkCommandBuffer commands, std::span<const BoundPipeline> pipelines);
    // Drivers translate anew for each format of a window.
    Status make_windows();

    std::shared_ptr<Queue> queue_;
    VkPipelineLayout layout_;
    std::mutex mutex_;
    std::vector<Arena> window_memory_;        // none before the first kernel with windows
    std::array<OwnedBufferView, 2> windows_;  // of it, in floats and in vectors
    std::vector<Flight> flights_;
};

}  // namespace leat::vulkan
