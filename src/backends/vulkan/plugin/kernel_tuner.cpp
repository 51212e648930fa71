#include "backends/vulkan/plugin/kernel_tuner.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/vulkan/device/driver_cache.h"
#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/plugin/tunable_kernels.h"
#include "backends/vulkan/record/list_writer.h"
#include "backends/vulkan/record/recording.h"
#include "base/find_named.h"
#include "base/transformed.h"

namespace leat::vulkan {
namespace {

constexpr int kRounds = 7;
// Of the shipped variant's time: what is hardly faster was noise as often as not
// (docs/measurements/vulkan.md).
constexpr double kWorthChange = 0.95;
constexpr uint32_t kBitsOfOne = 0x3f80'0000U;

// One variant, whatever is asked.
class OneVariant final : public MeasuredVariants {
  public:
    explicit OneVariant(uint32_t variant) : variant_(variant) {}
    std::optional<uint32_t> fastest(std::string_view /*kernel*/,
                                    const ProblemExtents& /*extents*/) const override {
        return variant_;
    }

  private:
    uint32_t variant_;
};

// Variants of a kernel for one problem, on memory of their own.
class KernelTrial {
  public:
    KernelTrial(LazyDevice& device,
                plugin::Host host,
                const TunableKernel& kernel,
                const ProblemExtents& extents)
        : device_(device),
          host_(host),
          kernel_(kernel),
          extents_(extents),
          sizes_bytes_(kernel.operand_bytes(extents)) {
        arenas_.reserve(sizes_bytes_.size());
        for (const int64_t size_bytes : sizes_bytes_) {
            arenas_.push_back(value_or_throw(Arena::allocate(device_.open().device, size_bytes)));
        }
        fill();
        contestants_.reserve(kernel.variant_count);
        const std::string shipped = shipped_shader();
        for (uint32_t variant = 0; variant < kernel.variant_count; ++variant) {
            add(variant, shipped);
        }
    }

    // Nothing where no variant fits the problem.
    std::optional<uint32_t> fastest() {
        if (contestants_.empty()) {
            return std::nullopt;
        }
        for (int round = 0; round <= kRounds; ++round) {
            for (Contestant& contestant : contestants_) {
                const int64_t ns = run(*contestant.recording);
                // The first round brings memory and caches into the state of all others.
                contestant.least_ns = round == 0 ? ns : std::min(contestant.least_ns, ns);
            }
        }
        const auto best = std::min_element(
            contestants_.begin(), contestants_.end(),
            [](const Contestant& a, const Contestant& b) { return a.cost() < b.cost(); });
        host_.log(kLeatLogInfo, fmt::format("{} of {} x {} x {}: '{}' is the fastest of {}, {} us",
                                            kernel_.name, extents_[0], extents_[1], extents_[2],
                                            kernel_.shader_name(best->variant), contestants_.size(),
                                            best->least_ns / 1000));
        return best->variant;
    }

  private:
    struct Contestant {
        uint32_t variant = 0;
        std::unique_ptr<Recording> recording;
        bool is_shipped = false;
        int64_t least_ns = 0;

        double cost() const { return (is_shipped ? kWorthChange : 1.0) * double(least_ns); }
    };

    // Inputs, then the output, as buffers of the list.
    std::vector<PlacedOperand> operands_of(CommandList& list) const {
        return transformed(sizes_bytes_, [&](int64_t size_bytes) {
            return PlacedOperand{list.add_buffer(size_bytes), 0, size_bytes};
        });
    }

    // What memory happens to hold could be numbers that take longer.
    void fill() {
        CommandList list;
        for (const PlacedOperand& operand : operands_of(list)) {
            throw_if(list.add(Fill{operand.buffer, {0, operand.size_bytes}, kBitsOfOne}));
        }
        (void)run(*record(list, {}));
    }

    // Writes the kernel as it is with a choice, or as it is shipped where that is null.
    std::vector<ShaderUse> write(const MeasuredVariants* chosen, CommandList& list) const {
        const std::vector<PlacedOperand> operands = operands_of(list);
        KernelLimits limits = device_.limits();
        limits.measured = chosen;
        ListWriter writer(list, limits);
        writer.begin_node(std::span(operands).first(operands.size() - 1),
                          std::span(operands).last(1));
        throw_if(kernel_.write(extents_, writer));
        return {writer.shaders().begin(), writer.shaders().end()};
    }

    std::string shipped_shader() const {
        CommandList list;
        return write(nullptr, list)[0].name;
    }

    // Where a variant does not fit, the kernel writes another one, which is not measured in its
    // place.
    void add(uint32_t variant, const std::string& shipped) {
        CommandList list;
        const OneVariant chosen(variant);
        const std::vector<ShaderUse> shaders = write(&chosen, list);
        const std::string& name = shaders[0].name;
        const std::string begin = kernel_.shader_name(variant);
        if (name.compare(0, begin.size(), begin) == 0) {
            contestants_.push_back({variant, record(list, shaders), name == shipped, 0});
        }
    }

    std::unique_ptr<Recording> record(const CommandList& list, std::span<const ShaderUse> shaders) {
        OpenDevice& opened = device_.open();
        std::vector<BufferPlace> places;
        places.reserve(arenas_.size());
        for (size_t i = 0; i < arenas_.size(); ++i) {
            places.push_back(value_or_throw(place_in(arenas_[i], {0, sizes_bytes_[i]})));
        }
        const std::vector<BoundPipeline> pipelines = opened.pipelines->pipelines_of(shaders, host_);
        return value_or_throw(Recording::record(opened.compute.queue, list, plan_barriers(list),
                                                {opened.pipelines->layout(), places, pipelines}));
    }

    int64_t run(Recording& recording) const {
        const int64_t begin_ns = host_.monotonic_ns();
        const uint64_t point = value_or_throw(recording.replay());
        (void)value_or_throw(
            device_.open().compute.queue->wait(point, std::numeric_limits<int64_t>::max()));
        return host_.monotonic_ns() - begin_ns;
    }

    LazyDevice& device_;
    plugin::Host host_;
    const TunableKernel& kernel_;
    ProblemExtents extents_;
    std::vector<int64_t> sizes_bytes_;
    std::vector<Arena> arenas_;
    std::vector<Contestant> contestants_;
};

}  // namespace

std::unique_ptr<MeasuredVariants> make_kernel_tuner(LazyDevice& device,
                                                    plugin::Host host,
                                                    DiskCache* disk) {
    std::vector<TunedKernel> kernels;
    kernels.reserve(tunable_kernels().size());
    for (const TunableKernel& tunable : tunable_kernels()) {
        TunedKernel& kernel = kernels.emplace_back();
        kernel.name = tunable.name;
        kernel.variants.reserve(tunable.variant_count);
        for (uint32_t variant = 0; variant < tunable.variant_count; ++variant) {
            kernel.variants.push_back(tunable.shader_name(variant));
        }
    }
    TunedVariants::Measure measure;
    if (device.settings().is_tuned) {
        measure = [&device, host](std::string_view name, const ProblemExtents& extents) {
            const TunableKernel* kernel = find_named(tunable_kernels(), name);
            return KernelTrial(device, host, *kernel, extents).fastest();
        };
    }
    return std::make_unique<TunedVariants>(driver_cache_key(device.info()), std::move(kernels),
                                           disk, std::move(measure));
}

}  // namespace leat::vulkan
