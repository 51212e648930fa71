#include "backends/vulkan/kernel/pipeline.h"

#include <bit>
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
    const DeviceCalls& vk = device.calls();
    return device.make_owned(vk.CreateShaderModule, info, vk.DestroyShaderModule,
                             "CreateShaderModule");
}

}  // namespace

Result<std::unique_ptr<PipelineMaker>> PipelineMaker::create(std::shared_ptr<const Device> device,
                                                             DiskCache* disk) {
    std::unique_ptr<PipelineMaker> maker(new PipelineMaker(std::move(device)));
    LEAT_ASSIGN_OR_RETURN(maker->layout_, maker->make_layout(nullptr));
    if (disk != nullptr) {
        LEAT_ASSIGN_OR_RETURN(maker->kept_, DriverCache::open(maker->device_, *disk));
    }
    return maker;
}

Result<OwnedPipelineLayout> PipelineMaker::make_layout(VkDescriptorSetLayout set) const {
    const VkPushConstantRange range{VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes};
    VkPipelineLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    info.setLayoutCount = set == nullptr ? 0 : 1;
    info.pSetLayouts = &set;
    info.pushConstantRangeCount = 1;
    info.pPushConstantRanges = &range;
    const DeviceCalls& vk = device_->calls();
    return device_->make_owned(vk.CreatePipelineLayout, info, vk.DestroyPipelineLayout,
                               "CreatePipelineLayout");
}

Result<PipelineMaker::WindowLayout> PipelineMaker::make_window_layout(uint32_t windows) const {
    if (device_->calls().CmdPushDescriptorSetKHR == nullptr) {
        return unsupported("windows on Vulkan device '{}', which lacks {}", device_->info().name,
                           VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
    }
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    bindings.reserve(32);
    for (uint32_t left = windows; left != 0; left &= left - 1) {
        VkDescriptorSetLayoutBinding binding{};
        binding.binding = uint32_t(std::countr_zero(left));
        binding.descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
        binding.descriptorCount = 1;
        binding.stageFlags = VK_SHADER_STAGE_COMPUTE_BIT;
        bindings.push_back(binding);
    }
    VkDescriptorSetLayoutCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    info.flags = VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR;
    info.bindingCount = uint32_t(bindings.size());
    info.pBindings = bindings.data();
    const DeviceCalls& vk = device_->calls();
    WindowLayout layout;
    LEAT_ASSIGN_OR_RETURN(layout.set, device_->make_owned(vk.CreateDescriptorSetLayout, info,
                                                          vk.DestroyDescriptorSetLayout,
                                                          "CreateDescriptorSetLayout"));
    LEAT_ASSIGN_OR_RETURN(layout.pipeline, make_layout(layout.set.get()));
    return layout;
}

Result<VkPipelineLayout> PipelineMaker::layout_of(uint32_t windows) const {
    if (windows == 0) {
        return layout();
    }
    const std::lock_guard lock(mutex_);
    auto found = window_layouts_.find(windows);
    if (found == window_layouts_.end()) {
        LEAT_ASSIGN_OR_RETURN(WindowLayout made, make_window_layout(windows));
        found = window_layouts_.emplace(windows, std::move(made)).first;
    }
    return found->second.pipeline.get();
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
    LEAT_ASSIGN_OR_RETURN(info.layout, layout_of(shader.windows));
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

bool PipelineMaker::translates_each_time() const {
    return device_->info().kind == DeviceKind::kCpu;
}

void PipelineMaker::save() const {
    if (kept_ != nullptr) {
        kept_->save();
    }
}

}  // namespace leat::vulkan
