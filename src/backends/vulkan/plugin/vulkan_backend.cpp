// The Vulkan backend as a plugin: devices of the loader that are of a tier (docs/vulkan.md).
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backends/lowered/plugin_graph.h"
#include "backends/queues/queued_backend.h"
#include "backends/queues/transfer.h"
#include "backends/vulkan/device/device_info.h"
#include "backends/vulkan/device/driver_cache.h"
#include "backends/vulkan/device/instance.h"
#include "backends/vulkan/device/loader.h"
#include "backends/vulkan/device/tier.h"
#include "backends/vulkan/plugin/device_description.h"
#include "backends/vulkan/plugin/device_table.h"
#include "backends/vulkan/plugin/failure.h"
#include "backends/vulkan/plugin/kernel_tuner.h"
#include "backends/vulkan/plugin/lazy_device.h"
#include "backends/vulkan/plugin/lower/node_check.h"
#include "backends/vulkan/plugin/settings.h"
#include "backends/vulkan/plugin/submitted_work.h"
#include "backends/vulkan/plugin/transfer_work.h"
#include "backends/vulkan/plugin/vulkan_executable.h"
#include "backends/vulkan/plugin/vulkan_instance.h"
#include "backends/vulkan/plugin/vulkan_slab.h"
#include "base/files/disk_cache.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {
namespace {

// The devices that have a tier, in their order of preference.
std::vector<DeviceInfo> usable_devices(const VulkanApi& instance) {
    std::vector<DeviceInfo> devices = value_or_throw(list_devices(instance));
    std::string missing;
    const auto is_unusable = [&](const DeviceInfo& info) {
        const Tier tier = tier_of(info);
        if (tier.level == kNoTier) {
            missing = fmt::format("Vulkan device '{}' lacks {}", info.name, tier.missing);
        }
        return tier.level == kNoTier;
    };
    devices.erase(std::remove_if(devices.begin(), devices.end(), is_unusable), devices.end());
    if (devices.empty()) {
        throw plugin::Error(kLeatNotFound, missing.empty() ? "no Vulkan device" : missing);
    }
    return devices;
}

std::shared_ptr<const VulkanApi> make_instance(const Settings& settings, plugin::Host host) {
    VulkanApiOptions options;
    options.is_validated = settings.is_validated;
    options.checks_synchronization = settings.checks_synchronization;
    options.checks_on_device = settings.checks_on_device;
    options.on_message = [host](std::string_view message) {
        host.log(kLeatLogWarning, std::string(message));
    };
    return value_or_throw(VulkanApi::create(value_or_throw(Loader::open()), std::move(options)));
}

// Null where nothing may be kept.
std::unique_ptr<DiskCache> make_cache(const Settings& settings, plugin::Host host) {
    const char* folder = settings.cache_folder ? settings.cache_folder->c_str() : nullptr;
    folder = folder == nullptr ? host.cache_directory() : folder;
    if (folder == nullptr || *folder == '\0') {
        return nullptr;
    }
    return std::make_unique<DiskCache>(folder, "leat " LEAT_VERSION, [host](std::string_view line) {
        host.log(kLeatLogWarning, std::string(line));
    });
}

class VulkanBackend final : public queues::QueuedBackend {
  public:
    static constexpr const char* kName = "vulkan";
    static constexpr const char* kLibraryVersion = LEAT_VERSION;
    static void check_available(const LeatHostApi* /*host*/) {
        (void)usable_devices(*value_or_throw(VulkanApi::create(value_or_throw(Loader::open()))));
    }
    static const LeatSettingInfo* setting(int32_t index) { return setting_row(index); }
    static std::string describe_devices(const LeatHostApi* /*host*/) {
        return vulkan::describe_devices();
    }

    VulkanBackend(const LeatHostApi* host, const LeatSettings* settings)
        : host_(host), settings_(parse_settings(settings)), cache_(make_cache(settings_, host_)) {
        const std::shared_ptr<const VulkanApi> instance = make_instance(settings_, host_);
        std::vector<DeviceInfo> infos = usable_devices(*instance);
        for (DeviceInfo& info : infos) {
            const auto index = int32_t(devices_.size());
            drivers_.push_back(driver_cache_key(info));
            devices_.push_back(std::make_unique<LazyDevice>(instance, std::move(info), index,
                                                            settings_, cache_.get()));
            tuners_.push_back(make_kernel_tuner(*devices_.back(), host_, cache_.get()));
            devices_.back()->choose_by(tuners_.back().get());
            tables_.push_back(
                std::make_unique<VulkanDeviceTable>(*devices_.back(), index * kQueuesPerDevice));
        }
        queues::QueueOptions options;
        options.device_count = int32_t(devices_.size());
        options.queues_per_device = kQueuesPerDevice;
        options.faults = {settings_.delay, settings_.lost_submission};
        queues_ = std::make_unique<queues::Queues>(options);
    }

    const LeatDeviceInfo* device(int32_t index) override {
        return index >= 0 && size_t(index) < tables_.size() ? tables_[size_t(index)]->row()
                                                            : nullptr;
    }

    const char* driver(int32_t device) override {
        const bool is_there = device >= 0 && size_t(device) < drivers_.size();
        return is_there ? drivers_[size_t(device)].c_str() : nullptr;
    }

    std::unique_ptr<plugin::Slab> allocate_slab(int32_t domain, int64_t bytes) override {
        return std::make_unique<VulkanSlab>(device_at(domain, "domain"), bytes);
    }
    std::unique_ptr<plugin::Slab> import_slab(int32_t domain,
                                              void* memory,
                                              int64_t bytes) override {
        return std::make_unique<VulkanSlab>(device_at(domain, "domain"), memory, bytes);
    }
    void* map_slab(plugin::Slab& slab) override;
    void flush_slab(plugin::Slab& slab, int64_t offset_bytes, int64_t bytes) override {
        queues::check_range(offset_bytes, bytes, static_cast<VulkanSlab&>(slab).bytes());
    }

    void submit_copy(const LeatSubmission& submission, const LeatCopy& copy) override {
        const int32_t queue = submission.signal.queue;
        submit(submission, make_copy(device_of(queue), role_of(queue), copy));
    }
    void submit_fill(const LeatSubmission& submission, const LeatFill& fill) override {
        const int32_t queue = submission.signal.queue;
        submit(submission, make_fill(device_of(queue), role_of(queue), fill));
    }
    void execute(plugin::Instance& instance,
                 const LeatSubmission& submission,
                 const LeatBinding* inputs,
                 const LeatBinding* outputs) override;

    void capability(int32_t device,
                    const LeatGraphView& graph,
                    const LeatNodeView& node,
                    LeatNodeCapability& capability) override;
    std::unique_ptr<plugin::Executable> compile(int32_t device,
                                                const LeatGraphView& graph,
                                                const LeatCompileOptions& options) override;
    std::unique_ptr<plugin::Executable> load(int32_t device, std::string_view saved) override {
        return std::make_unique<VulkanExecutable>(device_at(device, "device"), operators_, host_,
                                                  lowered::restore_graph(saved));
    }
    LeatClockSample clock_correlation(int32_t device) override;
    void register_operator(const LeatOperator& custom) override { operators_.add(custom); }
    void register_kernel(std::string_view domain,
                         std::string_view op_type,
                         std::string_view blob) override {
        operators_.add_kernel(domain, op_type, blob);
    }

  private:
    queues::Queues& queues() override { return *queues_; }
    void submit(const LeatSubmission& submission, std::unique_ptr<VulkanWork> work) {
        const int32_t queue = submission.signal.queue;
        queues_->submit(submission, submitted(std::move(work), device_of(queue), role_of(queue)));
    }
    LazyDevice& device_of(int32_t queue) const {
        const auto device = size_t(queue / kQueuesPerDevice);
        if (queue < 0 || device >= devices_.size()) {
            plugin::invalid_argument(fmt::format("vulkan has no queue {}", queue));
        }
        return *devices_[device];
    }
    NodeChecks checks_of(const LazyDevice& device) const {
        return {device.limits(), operators_, cache_.get()};
    }
    // Each device has one domain, of the same number.
    LazyDevice& device_at(int32_t index, const char* what) const {
        if (index < 0 || size_t(index) >= devices_.size()) {
            plugin::invalid_argument(fmt::format("vulkan has no {} {}", what, index));
        }
        return *devices_[size_t(index)];
    }

    plugin::Host host_;
    Settings settings_;
    std::unique_ptr<DiskCache> cache_;  // null: none
    CustomOperators operators_;
    std::vector<std::string> drivers_;  // by device
    std::vector<std::unique_ptr<LazyDevice>> devices_;
    std::vector<std::unique_ptr<MeasuredVariants>> tuners_;  // by device, as the next
    std::vector<std::unique_ptr<VulkanDeviceTable>> tables_;
    std::unique_ptr<queues::Queues> queues_;  // the first to go: its threads use the others
};

void* VulkanBackend::map_slab(plugin::Slab& slab) {
    const auto& mapped = static_cast<const VulkanSlab&>(slab);
    if (mapped.host_address(0) == nullptr) {
        throw plugin::Error(kLeatUnsupported, fmt::format("the host does not see memory of '{}'",
                                                          mapped.device().info().name));
    }
    if (mapped.bytes_together(0) < mapped.bytes()) {
        throw plugin::Error(
            kLeatUnsupported,
            fmt::format("a slab of {} bytes is {} allocations of '{}'", mapped.bytes(),
                        mapped.arena().segments().size(), mapped.device().info().name));
    }
    return mapped.host_address(0);
}

void VulkanBackend::execute(plugin::Instance& instance,
                            const LeatSubmission& submission,
                            const LeatBinding* inputs,
                            const LeatBinding* outputs) {
    const int32_t queue = submission.signal.queue;
    auto& linked = static_cast<VulkanInstance&>(instance);
    if (&device_of(queue) != &linked.device() || role_of(queue) != QueueRole::kCompute) {
        plugin::invalid_argument(
            fmt::format("queue {} does not execute on '{}'", queue, linked.device().info().name));
    }
    submit(submission, linked.make_run(inputs, outputs, submission.profile));
}

void VulkanBackend::capability(int32_t device,
                               const LeatGraphView& graph,
                               const LeatNodeView& node,
                               LeatNodeCapability& capability) {
    capability.host_inputs = check_node(graph, node, checks_of(device_at(device, "device")));
    capability.layouts = kLeatLayoutRowMajor;
}

std::unique_ptr<plugin::Executable> VulkanBackend::compile(int32_t device,
                                                           const LeatGraphView& graph,
                                                           const LeatCompileOptions& options) {
    // Shapes, axes and the like are read to make programs; weights only to be packed.
    constexpr int64_t kMaxKeptBytes = int64_t{64} << 10;
    LazyDevice& target = device_at(device, "device");
    for (int32_t i = 0; options.layouts != nullptr && i < graph.input_count; ++i) {
        if (options.layouts->inputs[i] != kLeatLayoutRowMajor) {
            throw plugin::Error(kLeatUnsupported, "vulkan reads row-major operands only");
        }
    }
    const uint64_t host_inputs = check_graph(graph, checks_of(target));
    lowered::ImportedGraph imported = lowered::import_graph(graph, kMaxKeptBytes);
    imported.host_inputs = host_inputs;
    auto executable =
        std::make_unique<VulkanExecutable>(target, operators_, host_, std::move(imported));
    executable->warm();
    return executable;
}

LeatClockSample VulkanBackend::clock_correlation(int32_t device) {
    const Device& opened = *device_at(device, "device").open().device;
    if (opened.calls().GetCalibratedTimestampsEXT == nullptr) {
        plugin::unimplemented("clock that is read beside the host's");
    }
    VkCalibratedTimestampInfoEXT info{};
    info.sType = VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT;
    info.timeDomain = VK_TIME_DOMAIN_DEVICE_EXT;
    uint64_t ticks = 0;
    uint64_t deviation_ns = 0;
    const int64_t before_ns = host_.monotonic_ns();
    throw_if(opened.checked(
        opened.calls().GetCalibratedTimestampsEXT(opened.handle(), 1, &info, &ticks, &deviation_ns),
        "GetCalibratedTimestampsEXT"));
    const int64_t after_ns = host_.monotonic_ns();
    auto sample = plugin::made<LeatClockSample>();
    sample.device_ticks = int64_t(ticks);
    sample.host_ns = before_ns + (after_ns - before_ns) / 2;
    sample.ns_per_tick = double(opened.info().properties.limits.timestampPeriod);
    sample.uncertainty_ns = after_ns - before_ns + int64_t(deviation_ns);
    return sample;
}

}  // namespace
}  // namespace leat::vulkan

LEAT_BACKEND_PLUGIN(leat::vulkan::VulkanBackend)
