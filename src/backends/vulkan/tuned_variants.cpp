#include "tuned_variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace leat::vulkan {
namespace {

constexpr std::string_view kCacheKind = "variant";

}  // namespace

ProblemExtents extent_class(const ProblemExtents& extents) {
    constexpr uint32_t kMost = 1024;
    ProblemExtents rounded{};
    std::transform(extents.begin(), extents.end(), rounded.begin(), [](uint32_t extent) {
        return extent >= kMost ? kMost : std::bit_ceil(std::max(extent, 1U));
    });
    return rounded;
}

TunedVariants::TunedVariants(TunedKernel kernel, DiskCache* disk, Measure measure)
    : kernel_(std::move(kernel)), disk_(disk), measure_(std::move(measure)) {}

std::optional<uint32_t> TunedVariants::load(const std::string& key) const {
    const std::optional<std::string> name =
        disk_ == nullptr ? std::nullopt : disk_->load(kCacheKind, key);
    if (!name) {
        return std::nullopt;
    }
    const auto found = std::find(kernel_.variants.begin(), kernel_.variants.end(), *name);
    if (found == kernel_.variants.end()) {
        disk_->report_unusable(kCacheKind, key, "it names no variant of the kernel");
        return std::nullopt;
    }
    return uint32_t(found - kernel_.variants.begin());
}

std::optional<uint32_t> TunedVariants::fastest(std::string_view kernel,
                                               const ProblemExtents& extents) const {
    if (kernel != kernel_.name) {
        return std::nullopt;
    }
    const ProblemExtents rounded = extent_class(extents);
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto [at, is_new] = known_.try_emplace(rounded);
    if (!is_new) {
        return at->second;
    }
    const std::string key = fmt::format("{} {}x{}x{} on {}", kernel_.name, rounded[0], rounded[1],
                                        rounded[2], kernel_.device);
    at->second = load(key);
    if (!at->second && measure_) {
        at->second = measure_(rounded);
        if (at->second && disk_ != nullptr) {
            disk_->store(kCacheKind, key, kernel_.variants[*at->second]);
        }
    }
    return at->second;
}

}  // namespace leat::vulkan
