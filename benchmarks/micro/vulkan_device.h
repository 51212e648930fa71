// What benchmarks of the Vulkan layer share: options, the device, and how long a run takes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "backends/vulkan/queue.h"
#include "backends/vulkan/recording.h"

namespace leat::vulkan {

// `name` as in "vulkan:NAME": a number or name~TEXT.
Result<std::shared_ptr<Device>> open_device(std::string_view name);

// An option "--NAME VALUE" of a command line; numbers are 1 or more.
struct BenchmarkOption {
    std::string_view name;  // with its dashes
    std::variant<std::string_view*, int64_t*> value;
};
// invalid_argument for other words, naming the options; some may have been set then.
Status parse_options(std::span<char*> words, std::span<const BenchmarkOption> options);

// Microseconds from the submission of a run to its end.
Result<double> time_run(Queue& queue, Recording& recording);

}  // namespace leat::vulkan
