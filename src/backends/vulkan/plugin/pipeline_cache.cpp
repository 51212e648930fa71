#include "backends/vulkan/plugin/pipeline_cache.h"

#include <fmt/core.h>

#include "backends/vulkan/plugin/failure.h"
#include "base/error.h"
#include "base/transformed.h"

namespace leat::vulkan {

PipelineCache::PipelineCache(const std::shared_ptr<Queue>& queue,
                             DiskCache* disk,
                             bool checks_addresses)
    : disk_(disk),
      checks_addresses_(checks_addresses),
      maker_(value_or_throw(PipelineMaker::create(queue->device(), disk))) {
    // GPUs' drivers translate a pipeline when it is made.
    if (queue->device()->info().kind == DeviceKind::kCpu) {
        warmer_ = std::make_unique<PipelineWarmer>(queue, maker_->layout());
    }
}

PipelineCache::Key PipelineCache::key_of(const ShaderUse& shader) {
    return {shader.name, shader.constants, shader.source};
}

BoundPipeline PipelineCache::find(const ShaderUse& shader) const {
    const std::lock_guard lock(mutex_);
    const auto found = pipelines_.find(key_of(shader));
    const VkPipeline handle = found == pipelines_.end() ? nullptr : found->second.get();
    return value_or_throw(bind_kernel_pipeline(*maker_, shader, handle));
}

Status PipelineCache::make(const ShaderUse& shader) {
    LEAT_ASSIGN_OR_RETURN(OwnedPipeline pipeline,
                          make_kernel_pipeline(*maker_, shader, disk_, checks_addresses_));
    const std::lock_guard lock(mutex_);
    pipelines_.try_emplace(key_of(shader), std::move(pipeline));
    return Status();
}

void PipelineCache::begin(std::span<const ShaderUse> shaders, const plugin::Host& host) {
    std::vector<const ShaderUse*> missing;
    missing.reserve(shaders.size());
    for (const ShaderUse& shader : shaders) {
        if (find(shader).handle == nullptr) {
            missing.push_back(&shader);
        }
    }
    if (missing.empty()) {
        return;
    }
    for (const ShaderUse* shader : missing) {
        host.log(kLeatLogDebug, fmt::format("new kernel '{}'", shader->name));
    }
    std::vector<Status> statuses(missing.size());
    host.parallel_for(int64_t(missing.size()), [&](int64_t i) {
        try {
            statuses[size_t(i)] = make(*missing[size_t(i)]);
        } catch (const std::bad_alloc&) {
            statuses[size_t(i)] = Status::bare(StatusCode::kOutOfMemory);
        }
    });
    for (const Status& status : statuses) {
        throw_if(status);
    }
    if (warmer_ != nullptr) {
        throw_if(warmer_->begin(
            transformed(missing, [this](const ShaderUse* shader) { return find(*shader); })));
    }
    maker_->save();
}

std::vector<BoundPipeline> PipelineCache::pipelines_of(std::span<const ShaderUse> shaders,
                                                       const plugin::Host& host) {
    begin(shaders, host);
    if (warmer_ != nullptr) {
        throw_if(warmer_->wait());
    }
    return transformed(shaders, [this](const ShaderUse& shader) { return find(shader); });
}

}  // namespace leat::vulkan
