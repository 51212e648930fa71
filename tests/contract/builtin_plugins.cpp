#include "contract/builtin_plugins.h"

#include <fmt/core.h>
#include <unistd.h>

#include "backends/cpu/cpu_backend.h"
#include "backends/host_device/host_device.h"
#include "backends/lowered/settings.h"
#include "backends/reference/reference_backend.h"
#include "base/check.h"
#include "leat/plugin_backend.h"
#include "leat/scheduler/topology.h"

namespace leat {
namespace {

using host_device::DeviceOptions;
using lowered::number_setting;
using lowered::setting_row;

// Reference kernels are one tile each, so that backend has no use for the second one.
const LeatSettingInfo* host_setting(int32_t index) {
    static const LeatSettingInfo kRows[] = {
        setting_row("memory_limit_bytes", "", "slabs beyond it are out of memory"),
        setting_row("threads", "0", "that run tiles; 0: as many as the process has CPUs"),
    };
    return index >= 0 && size_t(index) < std::size(kRows) ? &kRows[index] : nullptr;
}

int64_t physical_memory_bytes() {
    return int64_t(::sysconf(_SC_PHYS_PAGES)) * int64_t(::sysconf(_SC_PAGESIZE));
}

DeviceOptions host_options(const LeatSettings* settings, const char* name) {
    DeviceOptions options;
    options.name = name;
    options.memory_name = "host memory";
    options.kind = kLeatDeviceCpu;
    options.limit_bytes = number_setting(settings, "memory_limit_bytes", 0);
    options.capacity_bytes =
        options.limit_bytes != 0 ? options.limit_bytes : physical_memory_bytes();
    options.is_host_memory = true;
    return options;
}

DeviceOptions cpu_options(const LeatSettings* settings) {
    constexpr int64_t kMostThreads = 4096;
    DeviceOptions options = host_options(settings, "cpu");
    const int64_t threads = number_setting(settings, "threads", 0);
    if (threads > kMostThreads) {
        plugin::invalid_argument(
            fmt::format("setting 'threads': found {}, needed at most {}", threads, kMostThreads));
    }
    options.workers = scheduler::thread_budget(scheduler::read_topology(), int(threads)).threads;
    return options;
}

class CpuPlugin final : public host_device::HostDevice {
  public:
    static constexpr const char* kName = "cpu";
    static constexpr const char* kLibraryVersion = LEAT_VERSION;
    static void check_available(const LeatHostApi* /*host*/) {}
    static const LeatSettingInfo* setting(int32_t index) { return host_setting(index); }
    CpuPlugin(const LeatHostApi* host, const LeatSettings* settings)
        : HostDevice(host, settings, cpu_backend(), cpu_options(settings)) {}
};

class ReferencePlugin final : public host_device::HostDevice {
  public:
    static constexpr const char* kName = "reference";
    static constexpr const char* kLibraryVersion = LEAT_VERSION;
    static void check_available(const LeatHostApi* /*host*/) {}
    static const LeatSettingInfo* setting(int32_t index) {
        return index == 0 ? host_setting(0) : nullptr;
    }
    ReferencePlugin(const LeatHostApi* host, const LeatSettings* settings)
        : HostDevice(host, settings, reference_backend(), host_options(settings, kName)) {}
};

constexpr const LeatBackendApi* kTables[] = {&plugin::Plugin<CpuPlugin>::kApi,
                                             &plugin::Plugin<ReferencePlugin>::kApi};

}  // namespace

const LeatBackendApi* find_builtin_plugin(std::string_view name) {
    for (const LeatBackendApi* table : kTables) {
        if (table->name == name) {
            return table;
        }
    }
    return nullptr;
}

const LeatBackendApi& host_backend_api(const Backend& backend) {
    const LeatBackendApi* table = find_builtin_plugin(backend.name());
    LEAT_CHECK(table != nullptr, "backend {} has no table", backend.name());
    return *table;
}

}  // namespace leat
