// DeviceBackend: a loaded plugin with what the Runtime keeps for it: its devices, the next point of
// each queue, and packed constants that executables share.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "backends/plugin/device_name.h"
#include "backends/plugin/loaded_plugin.h"
#include "base/at_fork.h"
#include "leat/plugin_clock.h"
#include "machine/device_operators.h"
#include "memory/domains/slab.h"

namespace leat {

class DeviceBackend;

// Memory of a device.
class DeviceSlab {
  public:
    // Maps it where the domain is mappable. out_of_memory names domain and bytes.
    static Result<std::shared_ptr<DeviceSlab>> allocate(std::shared_ptr<DeviceBackend> backend,
                                                        const LeatDomainInfo& domain,
                                                        int64_t size_bytes);
    // The host's memory as the device's, which then works there; keeps it alive.
    static Result<std::shared_ptr<DeviceSlab>> import(std::shared_ptr<DeviceBackend> backend,
                                                      const LeatDomainInfo& domain,
                                                      std::shared_ptr<const Slab> memory);
    DeviceSlab(const DeviceSlab&) = delete;
    DeviceSlab& operator=(const DeviceSlab&) = delete;
    ~DeviceSlab();

    LeatSlab* handle() const { return handle_; }
    // Null where the host cannot reach it.
    std::byte* mapped() const { return mapped_; }
    // After host writes, or before host reads, of mapped memory.
    Status flush(int64_t offset_bytes, int64_t size_bytes) const;

  private:
    explicit DeviceSlab(std::shared_ptr<DeviceBackend> backend) : backend_(std::move(backend)) {}

    std::shared_ptr<DeviceBackend> backend_;
    std::shared_ptr<const Slab> imported_;  // null: none is
    LeatSlab* handle_ = nullptr;
    std::byte* mapped_ = nullptr;
    bool is_coherent_ = true;
};

// A constant as an executable reads it, in memory of the device.
struct PackedOnDevice {
    std::shared_ptr<DeviceSlab> slab;
    int64_t offset_bytes = 0;
};

// Thread-safe.
class DeviceBackend : public std::enable_shared_from_this<DeviceBackend> {
  public:
    // As find_plugin finds it by name and path.
    static Result<std::shared_ptr<DeviceBackend>> open(const std::string& name,
                                                       const std::string& path,
                                                       const BackendSettings& settings,
                                                       HostServices::Log log,
                                                       HostServices::ParallelFor parallel_for);

    const LeatBackendApi& api() const { return plugin_->api(); }
    LeatBackend* handle() const { return plugin_->backend(); }
    const std::string& file() const { return plugin_->file(); }
    // Null where time passes by itself.
    const LeatVirtualClock* virtual_clock() const { return virtual_clock_; }
    // As those of LoadedPlugin: kDeviceLost in a child of fork(), which may not call api().
    Status check_process() const { return plugin_->check_process(); }
    bool is_inherited() const { return plugin_->is_inherited(); }
    // Gives a slab, executable or instance (may be null) back by the plugin's function for it. A
    // child of fork() keeps what it inherited, as it may not call the plugin.
    template <class Handle>
    void give_back(void (*LeatBackendApi::*function)(LeatBackend*, Handle*), Handle* made) const {
        if (made == nullptr) {
            return;
        }
        if (plugin_->is_inherited()) {
            keep_for_ever(made);
        } else {
            (api().*function)(handle(), made);
        }
    }
    // The device of the backend that is meant.
    Result<int> device_number(const DeviceName& name) const;
    const LeatDeviceInfo& device(int number) const { return *api().device(handle(), number); }
    // As DeviceOperators says.
    std::string offer(const CustomOpDef& def) { return operators_.offer(api(), handle(), def); }
    // not_found where the device has no such domain or queue.
    Result<const LeatDomainInfo*> domain(int number, int32_t domain) const;
    Result<int32_t> compute_queue(int number) const;
    // Parts of the device may have operands and transients in the host's memory, at any page: it
    // reaches that as its own, and imports it. Tried once, with a page; the answer stays.
    bool works_in_host_memory(int number, const LeatDomainInfo& domain);
    // One that only copies, or else the one that computes.
    Result<int32_t> copy_queue(int number) const;

    // Calls submit(LeatPoint) with the queue's next point; it returns a Status. Waits for other
    // threads that submit there. kDeviceLost: see check_process().
    template <class Submit>
    Result<LeatPoint> submit(int32_t queue, const Submit& submit) {
        LEAT_RETURN_IF_ERROR(check_process());
        const std::lock_guard lock(mutex_);
        const LeatPoint point{queue, ++last_points_[queue]};
        Status status = submit(point);
        if (!status.ok()) {
            return status;
        }
        ++in_flight_;
        return point;
    }
    // The host has seen how so many submissions ended, and waits for none of their points any more.
    // With failures, their reasons are forgotten as soon as nothing is in flight that may have to
    // fail for them.
    void retire(int64_t submissions, bool has_failures);
    // For LeatSubmission::request.
    uint64_t new_request() { return last_request_.fetch_add(1, std::memory_order_relaxed) + 1; }

    // The packed constant if some executable has it, else what `pack` makes.
    using PackedKey = std::tuple<uint64_t, uint64_t, int32_t>;  // content, layout, domain
    std::shared_ptr<const PackedOnDevice> find_packed(const PackedKey& key);
    void keep_packed(const PackedKey& key, const std::shared_ptr<const PackedOnDevice>& packed);

    // kBusy with the counts while something of it lives; afterwards nothing of this may be used.
    Status unload() { return plugin_->unload(); }

  private:
    DeviceBackend(std::string cache_folder,
                  HostServices::Log log,
                  HostServices::ParallelFor parallel_for)
        : services_(std::move(cache_folder), std::move(log), std::move(parallel_for)) {}

    HostServices services_;  // outlives the plugin
    std::unique_ptr<LoadedPlugin> plugin_;
    const LeatVirtualClock* virtual_clock_ = nullptr;  // of the plugin
    DeviceOperators operators_;
    std::mutex imports_mutex_;
    std::map<std::pair<int, int32_t>, bool> imports_;  // by device and domain, where tried
    std::mutex mutex_;
    std::map<int32_t, uint64_t> last_points_;  // by queue
    int64_t in_flight_ = 0;                    // submissions
    bool has_failures_ = false;                // that are not forgotten
    std::atomic<uint64_t> last_request_{0};
    std::map<PackedKey, std::weak_ptr<const PackedOnDevice>> packed_;
};

}  // namespace leat
