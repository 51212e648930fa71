#include "vulkan_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include "backends/plugin/device_name.h"
#include "backends/vulkan/device/device_choice.h"
#include "base/error.h"
#include "base/monotonic_clock.h"

namespace leat::vulkan {
namespace {

// Some options may have been set where it fails.
Status parse_options(std::span<char*> words, std::span<const BenchmarkOption> options) {
    std::vector<std::string_view> names;
    names.reserve(options.size());
    for (const BenchmarkOption& option : options) {
        names.push_back(option.name);
    }
    for (size_t i = 0; i < words.size(); i += 2) {
        const std::string_view name = words[i];
        const std::string_view value = i + 1 < words.size() ? words[i + 1] : "";
        const auto found = std::find_if(options.begin(), options.end(),
                                        [&](const auto& option) { return option.name == name; });
        bool is_good = found != options.end() && !value.empty();
        if (is_good) {
            if (const auto* number = std::get_if<int64_t*>(&found->value)) {
                const char* end = value.data() + value.size();
                is_good = std::from_chars(value.data(), end, **number).ptr == end && **number >= 1;
            } else if (const auto* text = std::get_if<std::string_view*>(&found->value)) {
                **text = value;
            }
        }
        if (!is_good) {
            return invalid_argument("'{} {}'", name, value)
                .with_needed(fmt::format("{} with a value each, numbers of 1 or more",
                                         fmt::join(names, ", ")));
        }
    }
    return Status();
}

Result<size_t> find_device(std::span<const DeviceInfo> devices, std::string_view name) {
    if (name.empty()) {
        const std::vector<DefaultUse> uses = default_use(devices);
        const auto used = std::find_if(uses.begin(), uses.end(),
                                       [](const DefaultUse& use) { return use.is_used; });
        return used != uses.end() ? Result<size_t>(size_t(used - uses.begin()))
                                  : not_found("no Vulkan device is used without being named");
    }
    std::vector<std::string> names;
    for (const DeviceInfo& device : devices) {
        names.push_back(device.name);
    }
    LEAT_ASSIGN_OR_RETURN(const DeviceName wanted,
                          parse_device_name(fmt::format("vulkan:{}", name)));
    LEAT_ASSIGN_OR_RETURN(const int index, leat::choose_device(wanted, names));
    return size_t(index);
}

}  // namespace

Result<BenchmarkDevice> BenchmarkDevice::open(std::string_view name) {
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const Loader> loader, Loader::open());
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const VulkanApi> instance,
                          VulkanApi::create(std::move(loader)));
    LEAT_ASSIGN_OR_RETURN(const std::vector<DeviceInfo> devices, list_devices(*instance));
    LEAT_ASSIGN_OR_RETURN(const size_t index, find_device(devices, name));
    BenchmarkDevice opened;
    LEAT_ASSIGN_OR_RETURN(opened.device, Device::create(instance, devices[index]));
    LEAT_ASSIGN_OR_RETURN(opened.queue,
                          Queue::create(opened.device, opened.device->families().compute));
    LEAT_ASSIGN_OR_RETURN(opened.maker, PipelineMaker::create(opened.device));
    return opened;
}

Result<KernelPipelines> KernelPipelines::make(const PipelineMaker& maker,
                                              std::span<const ShaderUse> shaders) {
    KernelPipelines pipelines;
    pipelines.owned.reserve(shaders.size());
    pipelines.bound.reserve(shaders.size());
    for (const ShaderUse& shader : shaders) {
        LEAT_ASSIGN_OR_RETURN(OwnedPipeline pipeline, make_kernel_pipeline(maker, shader));
        LEAT_ASSIGN_OR_RETURN(const BoundPipeline bound,
                              bind_kernel_pipeline(maker, shader, pipeline.get()));
        pipelines.bound.push_back(bound);
        pipelines.owned.push_back(std::move(pipeline));
    }
    return pipelines;
}

int run_benchmark(std::span<char*> words,
                  std::span<const BenchmarkOption> options,
                  const std::function<Status()>& measure) {
    Status status = parse_options(words.subspan(1), options);
    if (status.ok()) {
        status = measure();
    }
    if (!status.ok()) {
        const std::string_view path = words[0];
        fmt::print(stderr, "{}: {}\n", path.substr(path.rfind('/') + 1), status.message());
    }
    return status.ok() ? 0 : 1;
}

Result<std::vector<BufferPlace>> places_of(std::span<const Arena> arenas) {
    std::vector<BufferPlace> places;
    places.reserve(arenas.size());
    for (const Arena& arena : arenas) {
        LEAT_ASSIGN_OR_RETURN(const BufferPlace place, place_in(arena, {0, arena.size_bytes()}));
        places.push_back(place);
    }
    return places;
}

Result<double> time_run(Queue& queue, Recording& recording) {
    const int64_t begin_ns = monotonic_ns();
    LEAT_ASSIGN_OR_RETURN(const uint64_t point, recording.replay());
    LEAT_RETURN_IF_ERROR(queue.wait(point, std::numeric_limits<int64_t>::max()).error());
    return double(monotonic_ns() - begin_ns) * 1e-3;
}

}  // namespace leat::vulkan
