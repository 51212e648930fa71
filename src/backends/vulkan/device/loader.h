// Loader: the system's Vulkan loader, opened at run time. A machine without one is no error of the
// library: open() says so in one line, and nothing else of this folder is reached.
#pragma once

#include <memory>
#include <string>

#include "backends/vulkan/device/entry_points.h"
#include "leat/status.h"

namespace leat::vulkan {

constexpr const char* kLoaderName = "libvulkan.so.1";

// Immutable; closes the library when the last owner goes, so everything made through it owns it.
class Loader {
  public:
    // not_found: there is no such library; version_mismatch: it is not a Vulkan loader of 1.1 or
    // later.
    static Result<std::shared_ptr<const Loader>> open(const std::string& library = kLoaderName);

    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;
    ~Loader();

    const GlobalCalls& calls() const { return calls_; }
    PFN_vkGetInstanceProcAddr get_instance_proc_addr() const { return get_instance_proc_addr_; }
    uint32_t api_version() const { return api_version_; }

  private:
    explicit Loader(void* library) : library_(library) {}
    Status load(const std::string& library);

    void* library_;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr_ = nullptr;
    GlobalCalls calls_;
    uint32_t api_version_ = 0;
};

// "1.3.230"
std::string version_text(uint32_t version);

}  // namespace leat::vulkan
