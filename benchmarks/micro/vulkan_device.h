// What benchmarks of the Vulkan layer share: options, the device, and how long a run takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/vulkan/device/queue.h"
#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/record/recording.h"

namespace leat::vulkan {

// A device, and what records commands for it and runs them.
struct BenchmarkDevice {
    std::shared_ptr<Device> device;
    std::shared_ptr<Queue> queue;  // of the compute family
    std::unique_ptr<PipelineMaker> maker;

    // `name` as in "vulkan:NAME": a number or name~TEXT.
    static Result<BenchmarkDevice> open(std::string_view name);
};

// Pipelines of kernels, in their order; a recording needs them as long as it lives.
struct KernelPipelines {
    std::vector<OwnedPipeline> owned;
    std::vector<BoundPipeline> bound;

    static Result<KernelPipelines> make(const PipelineMaker& maker,
                                        std::span<const ShaderUse> shaders);
};

// An option "--NAME VALUE" of a command line; numbers are 1 or more.
struct BenchmarkOption {
    std::string_view name;  // with its dashes
    std::variant<std::string_view*, int64_t*> value;
};
// The main() of a benchmark: `measure` once the words of the command line, the program's name
// first, are set. Returns the exit status; an error, also one for other words, which names the
// options, is printed.
int run_benchmark(std::span<char*> words,
                  std::span<const BenchmarkOption> options,
                  const std::function<Status()>& measure);

// Of each arena as a whole; they stay where they are until these are recorded.
Result<std::vector<BufferPlace>> places_of(std::span<const Arena> arenas);

// Microseconds from the submission of a run to its end.
Result<double> time_run(Queue& queue, Recording& recording);

}  // namespace leat::vulkan
