#include "backends/vulkan/shader/tuned_variants.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <sstream>
#include <utility>

#include "base/find_named.h"

namespace leat::vulkan {
namespace {

constexpr std::string_view kVariantCacheKind = "variants";
constexpr uint32_t kMost = 1024;

uint32_t class_of(uint32_t extent) {
    const uint32_t rounded = extent >= kMost ? kMost : std::bit_ceil(std::max(extent, 1U));
    return extent % 4 == 0 ? rounded : rounded + 1;
}

// A problem of the class that takes no longer than seconds.
ProblemExtents bounded(const ProblemExtents& extents) {
    ProblemExtents bounded{};
    std::transform(extents.begin(), extents.end(), bounded.begin(),
                   [](uint32_t extent) { return std::min(extent, kMost + extent % 4); });
    return bounded;
}

}  // namespace

ProblemExtents extent_class(const ProblemExtents& extents) {
    ProblemExtents rounded{};
    std::transform(extents.begin(), extents.end(), rounded.begin(), class_of);
    return rounded;
}

TunedVariants::TunedVariants(std::string device,
                             std::vector<TunedKernel> kernels,
                             DiskCache* disk,
                             Measure measure)
    : key_(std::move(device)),
      kernels_(std::move(kernels)),
      disk_(disk),
      measure_(std::move(measure)) {}

std::optional<size_t> TunedVariants::kernel_number(std::string_view name) const {
    const TunedKernel* found = find_named(kernels_, name);
    return found == nullptr ? std::nullopt : std::optional(size_t(found - kernels_.data()));
}

// "gemm 64 128 1024 gemm_subgroup_tile_16_vectors"
std::optional<std::pair<TunedVariants::Class, uint32_t>> TunedVariants::parse(
    const std::string& line) const {
    std::istringstream words(line);
    std::string name;
    Class problems;
    words >> name >> problems.second[0] >> problems.second[1] >> problems.second[2] >> std::ws;
    std::string variant;
    const std::optional<size_t> number = kernel_number(name);
    if (!number || !std::getline(words, variant)) {
        return std::nullopt;
    }
    problems.first = *number;
    const std::vector<std::string>& variants = kernels_[*number].variants;
    const auto found = std::find(variants.begin(), variants.end(), variant);
    return found == variants.end()
               ? std::nullopt
               : std::optional(std::pair(problems, uint32_t(found - variants.begin())));
}

TunedVariants::Choices TunedVariants::load() const {
    Choices choices;
    const std::optional<std::string> text =
        disk_ == nullptr ? std::nullopt : disk_->load(kVariantCacheKind, key_);
    if (!text) {
        return choices;
    }
    std::istringstream lines(*text);
    bool is_understood = true;
    for (std::string line; std::getline(lines, line);) {
        if (const auto choice = parse(line)) {
            choices.insert(*choice);
        } else {
            is_understood = false;
        }
    }
    if (!is_understood) {
        disk_->report_unusable(kVariantCacheKind, key_, "a line names no variant of a kernel");
    }
    return choices;
}

void TunedVariants::store() const {
    if (disk_ == nullptr) {
        return;
    }
    known_->merge(load());
    std::string text;
    for (const auto& [problems, variant] : *known_) {
        const TunedKernel& kernel = kernels_[problems.first];
        const ProblemExtents& extents = problems.second;
        text += fmt::format("{} {} {} {} {}\n", kernel.name, extents[0], extents[1], extents[2],
                            kernel.variants[variant]);
    }
    disk_->store(kVariantCacheKind, key_, text);
}

std::optional<uint32_t> TunedVariants::fastest(std::string_view kernel,
                                               const ProblemExtents& extents) const {
    const std::optional<size_t> number = kernel_number(kernel);
    if (!number) {
        return std::nullopt;
    }
    const Class problems{*number, extent_class(extents)};
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!known_) {
        known_ = load();
    }
    const auto known = known_->find(problems);
    if (known != known_->end()) {
        return known->second;
    }
    if (!measure_ || unmeasurable_.count(problems) != 0) {
        return std::nullopt;
    }
    const std::optional<uint32_t> measured = measure_(kernel, bounded(extents));
    if (measured) {
        known_->emplace(problems, *measured);
        store();
    } else {
        unmeasurable_.insert(problems);
    }
    return measured;
}

}  // namespace leat::vulkan
