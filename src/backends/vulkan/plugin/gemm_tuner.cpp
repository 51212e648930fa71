#include "backends/vulkan/plugin/gemm_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "backends/vulkan/driver_cache.h"
#include "backends/vulkan/list_writer.h"
#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/recording.h"
#include "ops/matmul/gemm_vulkan.h"

namespace leat::vulkan {
namespace {

constexpr int kRounds = 7;
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

// Variants of one product of f32, Y[m,n] = A[m,k] B[k,n], on memory of their own.
class GemmTrial {
  public:
    GemmTrial(LazyDevice& device, plugin::Host host, const ProblemExtents& extents)
        : device_(device), host_(host), extents_(extents) {
        const auto [m, n, k] = extents;
        const std::array<int64_t, 3> elements{int64_t(m) * k, int64_t(k) * n, int64_t(m) * n};
        arenas_.reserve(sizes_bytes_.size());
        contestants_.reserve(kGemmVariants);
        for (size_t i = 0; i < sizes_bytes_.size(); ++i) {
            sizes_bytes_[i] = elements[i] * int64_t(sizeof(float));
            arenas_.push_back(
                value_or_throw(Arena::allocate(device_.open().device, sizes_bytes_[i])));
        }
        fill();
        for (uint32_t variant = 0; variant < kGemmVariants; ++variant) {
            add(variant);
        }
    }

    uint32_t fastest() {
        for (int round = 0; round <= kRounds; ++round) {
            for (Contestant& contestant : contestants_) {
                const int64_t ns = run(*contestant.recording);
                // The first round brings memory and caches into the state of all others.
                contestant.least_ns = round == 0 ? ns : std::min(contestant.least_ns, ns);
            }
        }
        const auto best = std::min_element(
            contestants_.begin(), contestants_.end(),
            [](const Contestant& a, const Contestant& b) { return a.least_ns < b.least_ns; });
        host_.log(kLeatLogInfo,
                  fmt::format("products of {} x {} x {}: '{}' is the fastest, {} us", extents_[0],
                              extents_[1], extents_[2], gemm_variant_name(best->variant),
                              best->least_ns / 1000));
        return best->variant;
    }

  private:
    struct Contestant {
        uint32_t variant = 0;
        std::string kernel;
        std::unique_ptr<Recording> recording;
        int64_t least_ns = 0;
    };

    // A, B and Y as buffers of the list.
    std::array<PlacedOperand, 3> operands_of(CommandList& list) const {
        std::array<PlacedOperand, 3> operands{};
        for (size_t i = 0; i < operands.size(); ++i) {
            operands[i] = {list.add_buffer(sizes_bytes_[i]), 0, sizes_bytes_[i]};
        }
        return operands;
    }

    // What memory happens to hold could be numbers that take longer.
    void fill() {
        CommandList list;
        for (const PlacedOperand& operand : operands_of(list)) {
            throw_if(list.add(Fill{operand.buffer, {0, operand.size_bytes}, kBitsOfOne}));
        }
        (void)run(*record(list, {}));
    }

    // Of each kernel once: where a variant does not fit, another one takes its place.
    void add(uint32_t variant) {
        const auto [m, n, k] = extents_;
        CommandList list;
        const std::array<PlacedOperand, 3> operands = operands_of(list);
        const OneVariant chosen(variant);
        KernelLimits limits = device_.limits();
        limits.measured = &chosen;
        ListWriter writer(list, limits);
        writer.begin_node(std::span(operands).first(2), std::span(operands).last(1));
        GemmProblem problem;
        problem.m = m;
        problem.n = problem.b_k = n;
        problem.k = problem.a_row = k;
        throw_if(write_gemm(
            problem, {DType::kFloat32, input_ref(0), input_ref(1), {}, output_ref(0)}, writer));
        const std::string& kernel = writer.shaders()[0].name;
        const bool is_known =
            std::any_of(contestants_.begin(), contestants_.end(),
                        [&](const Contestant& other) { return other.kernel == kernel; });
        if (!is_known) {
            contestants_.push_back({variant, kernel, record(list, writer.shaders()), 0});
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
    ProblemExtents extents_;
    std::array<int64_t, 3> sizes_bytes_{};
    std::vector<Arena> arenas_;
    std::vector<Contestant> contestants_;
};

}  // namespace

std::unique_ptr<MeasuredVariants> make_gemm_tuner(LazyDevice& device,
                                                  plugin::Host host,
                                                  DiskCache* disk) {
    TunedKernel kernel{std::string(kGemmKernel), driver_cache_key(device.info()), {}};
    kernel.variants.reserve(kGemmVariants);
    for (uint32_t variant = 0; variant < kGemmVariants; ++variant) {
        kernel.variants.push_back(gemm_variant_name(variant));
    }
    TunedVariants::Measure measure;
    if (device.settings().is_tuned) {
        measure = [&device, host](const ProblemExtents& extents) {
            return std::optional<uint32_t>(GemmTrial(device, host, extents).fastest());
        };
    }
    return std::make_unique<TunedVariants>(std::move(kernel), disk, std::move(measure));
}

}  // namespace leat::vulkan
