#include "backends/vulkan/device/loader.h"

#include <dlfcn.h>

#include "base/error.h"

namespace leat::vulkan {

std::string version_text(uint32_t version) {
    return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                       VK_API_VERSION_PATCH(version));
}

Result<std::shared_ptr<const Loader>> Loader::open(const std::string& library) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return not_found("no Vulkan loader: {}", dlerror());
    }
    std::shared_ptr<Loader> loader(new Loader(handle));
    LEAT_RETURN_IF_ERROR(loader->load(library));
    return std::shared_ptr<const Loader>(std::move(loader));
}

Loader::~Loader() {
    dlclose(library_);
}

Status Loader::load(const std::string& library) {
    get_instance_proc_addr_ =
        reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library_, "vkGetInstanceProcAddr"));
    if (get_instance_proc_addr_ == nullptr) {
        return make_error(StatusCode::kVersionMismatch,
                          "{} is not a Vulkan loader: it lacks vkGetInstanceProcAddr", library);
    }
#define LEAT_VK_LOAD(name)                                                                      \
    calls_.name = reinterpret_cast<PFN_vk##name>(get_instance_proc_addr_(nullptr, "vk" #name)); \
    if (calls_.name == nullptr) {                                                               \
        return make_error(StatusCode::kVersionMismatch, "{} lacks vk" #name, library);          \
    }
    LEAT_VK_GLOBAL_CALLS(LEAT_VK_LOAD)
#undef LEAT_VK_LOAD
    const auto enumerate_version = reinterpret_cast<PFN_vkEnumerateInstanceVersion>(
        get_instance_proc_addr_(nullptr, "vkEnumerateInstanceVersion"));
    api_version_ = VK_API_VERSION_1_0;
    if (enumerate_version == nullptr || enumerate_version(&api_version_) != VK_SUCCESS ||
        api_version_ < VK_API_VERSION_1_1) {
        return make_error(StatusCode::kVersionMismatch, "the Vulkan loader {} is too old", library)
            .with_found(version_text(api_version_))
            .with_needed("1.1 or later");
    }
    return Status();
}

}  // namespace leat::vulkan
