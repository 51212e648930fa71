#include "pipeline.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace leat::vulkan {
namespace {

Result<OwnedShaderModule> make_module(const Device& device, const Shader& shader) {
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = shader.words.size_bytes();
    info.pCode = shader.words.data();
    VkShaderModule handle = nullptr;
    LEAT_RETURN_IF_ERROR(
        device.checked(device.calls().CreateShaderModule(device.handle(), &info, nullptr, &handle),
                       "CreateShaderModule"));
    return OwnedShaderModule(device.handle(), handle, device.calls().DestroyShaderModule);
}

}  // namespace

Result<std::unique_ptr<PipelineMaker>> PipelineMaker::create(std::shared_ptr<const Device> device,
                                                             DiskCache* disk) {
    std::unique_ptr<PipelineMaker> maker(new PipelineMaker(std::move(device)));
    LEAT_RETURN_IF_ERROR(maker->make_layout());
    if (disk != nullptr) {
        LEAT_ASSIGN_OR_RETURN(maker->kept_, DriverCache::open(maker->device_, *disk));
    }
    return maker;
}

Status PipelineMaker::make_layout() {
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    VkPipelineLayout handle = nullptr;
    LEAT_RETURN_IF_ERROR(device_->checked(
        device_->calls().CreatePipelineLayout(device_->handle(), &info, nullptr, &handle),
        "CreatePipelineLayout"));
    layout_ =
        OwnedPipelineLayout(device_->handle(), handle, device_->calls().DestroyPipelineLayout);
    return Status();
}

Result<OwnedPipeline> PipelineMaker::make(const Shader& shader,
                                          std::span<const uint32_t> constants,
                                          uint32_t subgroup_size) const {
    LEAT_ASSIGN_OR_RETURN(const OwnedShaderModule module, make_module(*device_, shader));
    std::vector<VkSpecializationMapEntry> entries(constants.size());
    for (uint32_t i = 0; i < entries.size(); ++i) {
        entries[i] = {i, uint32_t(i * sizeof(uint32_t)), sizeof(uint32_t)};
    }
    const VkSpecializationInfo specialization{uint32_t(entries.size()), entries.data(),
                                              constants.size_bytes(), constants.data()};
    VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required{};
    required.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO;
    required.requiredSubgroupSize = subgroup_size;
    VkComputePipelineCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    info.layout = layout_.get();
    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.pNext = subgroup_size == 0 ? nullptr : &required;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module.get();
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = &specialization;
    VkPipeline handle = nullptr;
    VkPipelineCache kept = kept_ == nullptr ? nullptr : kept_->handle();
    Status status = device_->checked(device_->calls().CreateComputePipelines(
                                         device_->handle(), kept, 1, &info, nullptr, &handle),
                                     "CreateComputePipelines");
    if (!status.ok()) {
        return std::move(status).with_node(fmt::format("shader '{}'", shader.name));
    }
    return OwnedPipeline(device_->handle(), handle, device_->calls().DestroyPipeline);
}

void PipelineMaker::save() const {
    if (kept_ != nullptr) {
        kept_->save();
    }
}

}  // namespace leat::vulkan
