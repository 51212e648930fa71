#include "machine/device_backend.h"

#include <utility>

#include "backends/plugin/cache_folder.h"
#include "backends/plugin/find_plugin.h"

namespace leat {
namespace {

// The device reaches the host's memory as its own, at any page.
bool reaches_host_memory(const LeatDeviceInfo& device, const LeatDomainInfo& domain) {
    const int64_t alignment = domain.import_alignment_bytes;
    if (domain.is_coherent == 0 || alignment <= 0 || page_bytes() % alignment != 0) {
        return false;
    }
    for (int32_t i = 0; i < device.link_count; ++i) {
        const LeatLinkInfo& link = *device.links[i];
        if (link.from_domain == LEAT_HOST_DOMAIN && link.to_domain == domain.domain) {
            return link.is_mappable != 0;
        }
    }
    return false;
}

}  // namespace

Result<std::shared_ptr<DeviceSlab>> DeviceSlab::allocate(std::shared_ptr<DeviceBackend> backend,
                                                         const LeatDomainInfo& domain,
                                                         int64_t size_bytes) {
    LEAT_RETURN_IF_ERROR(backend->check_process());
    std::shared_ptr<DeviceSlab> slab(new DeviceSlab(std::move(backend)));
    const LeatBackendApi& api = slab->backend_->api();
    LeatBackend* handle = slab->backend_->handle();
    PluginError error;
    const LeatCode code =
        api.allocate_slab(handle, domain.domain, size_bytes, &slab->handle_, error.get());
    if (code != kLeatOk) {
        slab->handle_ = nullptr;
        return error.status(code, fmt::format("allocate {} bytes of {}", size_bytes, domain.name));
    }
    slab->is_coherent_ = domain.is_coherent != 0;
    if (domain.is_mappable != 0) {
        void* mapped = nullptr;
        const LeatCode mapping = api.map_slab(handle, slab->handle_, &mapped, error.get());
        if (mapping != kLeatOk) {
            return error.status(mapping, fmt::format("map {}", domain.name));
        }
        slab->mapped_ = static_cast<std::byte*>(mapped);
    }
    return slab;
}

Result<std::shared_ptr<DeviceSlab>> DeviceSlab::import(std::shared_ptr<DeviceBackend> backend,
                                                       const LeatDomainInfo& domain,
                                                       std::shared_ptr<const Slab> memory) {
    LEAT_RETURN_IF_ERROR(backend->check_process());
    std::shared_ptr<DeviceSlab> slab(new DeviceSlab(std::move(backend)));
    const int64_t bytes = memory->mapped_bytes();
    PluginError error;
    const LeatCode code =
        slab->backend_->api().import_slab(slab->backend_->handle(), domain.domain, memory->data(),
                                          bytes, &slab->handle_, error.get());
    if (code != kLeatOk) {
        slab->handle_ = nullptr;
        return error.status(code,
                            fmt::format("import {} bytes of the host as {}", bytes, domain.name));
    }
    slab->mapped_ = memory->data();
    slab->imported_ = std::move(memory);
    return slab;
}

DeviceSlab::~DeviceSlab() {
    backend_->give_back(&LeatBackendApi::free_slab, handle_);
}

Status DeviceSlab::flush(int64_t offset_bytes, int64_t size_bytes) const {
    if (is_coherent_ || size_bytes == 0) {
        return {};
    }
    PluginError error;
    return error.status(backend_->api().flush_slab(backend_->handle(), handle_, offset_bytes,
                                                   size_bytes, error.get()),
                        "flush memory");
}

Result<std::shared_ptr<DeviceBackend>> DeviceBackend::open(const std::string& name,
                                                           const std::string& path,
                                                           const BackendSettings& settings,
                                                           HostServices::Log log,
                                                           HostServices::ParallelFor parallel_for) {
    LEAT_ASSIGN_OR_RETURN(const std::string file, find_plugin(name, path));
    std::string cache_folder = make_cache_folder(name, log);
    std::shared_ptr<DeviceBackend> backend(
        new DeviceBackend(std::move(cache_folder), std::move(log), std::move(parallel_for)));
    LEAT_ASSIGN_OR_RETURN(backend->plugin_, LoadedPlugin::open(file, backend->services_));
    if (const std::string reason = backend->plugin_->unavailable_reason(); !reason.empty()) {
        return unsupported("backend '{}' is not available: {}", name, reason).with_file(file);
    }
    LEAT_RETURN_IF_ERROR(backend->plugin_->start(settings));
    backend->virtual_clock_ = static_cast<const LeatVirtualClock*>(
        backend->api().get_extension(backend->handle(), LEAT_VIRTUAL_CLOCK));
    return backend;
}

Result<int> DeviceBackend::device_number(const DeviceName& name) const {
    return choose_device(name, plugin_->device_names());
}

Result<const LeatDomainInfo*> DeviceBackend::domain(int number, int32_t domain) const {
    const LeatDeviceInfo& info = device(number);
    for (int32_t i = 0; i < info.domain_count; ++i) {
        if (info.domains[i]->domain == domain) {
            return info.domains[i];
        }
    }
    return not_found("device '{}' has no memory domain {}", info.name, domain);
}

Result<int32_t> DeviceBackend::compute_queue(int number) const {
    const LeatDeviceInfo& info = device(number);
    for (int32_t i = 0; i < info.queue_count; ++i) {
        if ((info.queues[i]->kinds & kLeatQueueCompute) != 0) {
            return info.queues[i]->queue;
        }
    }
    return not_found("device '{}' has no queue that computes", info.name);
}

bool DeviceBackend::works_in_host_memory(int number, const LeatDomainInfo& domain) {
    if (!reaches_host_memory(device(number), domain)) {
        return false;
    }
    const std::lock_guard lock(imports_mutex_);
    const auto [known, is_new] = imports_.try_emplace({number, domain.domain}, false);
    if (is_new) {
        Result<Slab> page = Slab::make(page_bytes());
        known->second =
            page.ok() && DeviceSlab::import(shared_from_this(), domain,
                                            std::make_shared<const Slab>(*std::move(page)))
                             .ok();
    }
    return known->second;
}

Result<int32_t> DeviceBackend::copy_queue(int number) const {
    const LeatDeviceInfo& info = device(number);
    for (int32_t i = 0; i < info.queue_count; ++i) {
        if (info.queues[i]->kinds == kLeatQueueCopy) {
            return info.queues[i]->queue;
        }
    }
    return compute_queue(number);
}

void DeviceBackend::retire(int64_t submissions, bool has_failures) {
    const std::lock_guard lock(mutex_);
    in_flight_ -= submissions;
    has_failures_ = has_failures_ || has_failures;
    if (in_flight_ > 0 || !has_failures_) {
        return;
    }
    has_failures_ = false;
    for (const auto& [queue, value] : last_points_) {
        PluginError error;
        (void)api().forget_failures(handle(), queue, value, error.get());
    }
}

std::shared_ptr<const PackedOnDevice> DeviceBackend::find_packed(const PackedKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = packed_.find(key);
    return found == packed_.end() ? nullptr : found->second.lock();
}

void DeviceBackend::keep_packed(const PackedKey& key,
                                const std::shared_ptr<const PackedOnDevice>& packed) {
    const std::lock_guard lock(mutex_);
    packed_[key] = packed;
}

}  // namespace leat
