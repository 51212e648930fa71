// What a device on the host tells of itself: one domain, its queues, and a link to the host's
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "leat/plugin_backend.h"
#include "ops/roofline.h"

namespace leat::host_device {

// Of all devices of a backend; they differ in their links only.
struct DeviceOptions {
    const char* name = "";
    const char* memory_name = "";
    int32_t kind = kLeatDeviceOther;
    int64_t capacity_bytes = 0;
    int64_t alignment_bytes = 64;  // a power of two
    int64_t limit_bytes = 0;       // slabs beyond it are out of memory; 0: no limit
    int workers = 1;               // that run tiles, among them the compute queue's thread
    bool is_host_memory = false;   // false: host memory has to be copied
    bool is_mappable = true;
    int32_t device_count = 1;
    int32_t compute_queues = 1;  // of each device; one, if there are several workers
    int32_t copy_queues = 1;
    int32_t further_threads = 0;  // beside those of queues, callbacks and tiles
    // By device; about a thread's wake-up and a memcpy where there is none.
    std::vector<LinkRates> links;
    bool is_link_exclusive = false;    // both directions of a link are one channel
    bool identifies_programs = false;  // HostInstance::identity() is asked for

    int32_t queues_per_device() const { return compute_queues + copy_queues; }
};

// The channel of a device's link in one direction: 0 and up through all devices.
inline int32_t channel_of(const DeviceOptions& options, int32_t device, bool is_to_device) {
    return options.is_link_exclusive || is_to_device ? 2 * device : 2 * device + 1;
}

// Rows refer to each other, so a table stays where it is.
class DeviceTable {
  public:
    // Domains are numbered as devices, queues device by device, those that compute first.
    DeviceTable(const DeviceOptions& options, int32_t index);
    DeviceTable(const DeviceTable&) = delete;
    DeviceTable& operator=(const DeviceTable&) = delete;

    const LeatDeviceInfo& device() const { return device_; }

  private:
    void add_queues(const DeviceOptions& options, int32_t index);
    void set_links(const DeviceOptions& options, int32_t index);

    std::string name_;
    LeatDomainInfo domain_ = plugin::made<LeatDomainInfo>();
    std::vector<LeatQueueInfo> queues_;
    std::array<LeatLinkInfo, 2> links_ = {plugin::made<LeatLinkInfo>(),
                                          plugin::made<LeatLinkInfo>()};
    const LeatDomainInfo* domain_row_ = &domain_;
    std::vector<const LeatQueueInfo*> queue_rows_;
    std::array<const LeatLinkInfo*, 2> link_rows_ = {links_.data(), &links_[1]};
    LeatDeviceInfo device_ = plugin::made<LeatDeviceInfo>();
};

using DeviceTables = std::vector<std::unique_ptr<DeviceTable>>;
DeviceTables make_tables(const DeviceOptions& options);

}  // namespace leat::host_device
