// The simulated machine: a device with memory of its own that computes with leat's reference
// kernels and can be told to fail (docs/backends.md).
#include <fmt/format.h>

#include <memory>
#include <utility>

#include "backends/host_device/host_device.h"
#include "backends/host_device/settings.h"
#include "backends/reference/reference_backend.h"
#include "backends/sim/faults.h"
#include "leat/plugin_backend.h"

namespace leat::sim {
namespace {

using host_device::DeviceOptions;
using host_device::number_setting;
using host_device::setting_row;

constexpr int64_t kCapacityBytes = int64_t{1} << 34;

DeviceOptions device_options(const LeatSettings* settings, const Faults& faults) {
    DeviceOptions options;
    options.name = "simulated device";
    options.memory_name = "simulated memory";
    options.alignment_bytes = number_setting(settings, "alignment_bytes", options.alignment_bytes);
    options.limit_bytes = faults.memory_limit_bytes();
    options.capacity_bytes = options.limit_bytes != 0 ? options.limit_bytes : kCapacityBytes;
    return options;
}

class SimBackend final : public host_device::HostDevice {
  public:
#if defined(LEAT_PLANTS)
    static constexpr const char* kName = "sim_faulty";
#else
    static constexpr const char* kName = "sim";
#endif
    static constexpr const char* kLibraryVersion = LEAT_VERSION;
    static void check_available(const LeatHostApi* /*host*/) {}
    static const LeatSettingInfo* setting(int32_t index);

    SimBackend(const LeatHostApi* host, const LeatSettings* settings)
        : SimBackend(host, settings, std::make_unique<Faults>(settings)) {}

    void enter(const char* entry) override {
        faults_->enter(entry);
    }

  private:
    SimBackend(const LeatHostApi* host,
               const LeatSettings* settings,
               std::unique_ptr<Faults> faults)
        : HostDevice(host,
                     settings,
                     reference_backend(),
                     device_options(settings, *faults),
                     faults->of_submissions()),
          faults_(std::move(faults)) {
        const char* mode = plugin::find_setting(settings, "mode");
        if (mode != nullptr && std::string_view(mode) != "compute") {
            plugin::invalid_argument(
                fmt::format("setting 'mode': found '{}', needed 'compute'", mode));
        }
    }

    std::unique_ptr<Faults> faults_;
};

const LeatSettingInfo* SimBackend::setting(int32_t index) {
    static const LeatSettingInfo kRows[] = {
        setting_row("mode", "compute", "compute: true results of the reference kernels"),
        setting_row("alignment_bytes", "64", "of slabs and offsets"),
        setting_row("memory_limit_bytes", "", "slabs beyond it are out of memory"),
        setting_row("delay_us", "0", "before each submission's work"),
        setting_row("lose_device_at", "", "number of the submission that loses the device"),
        setting_row("fail_call", "", "ENTRY:NUMBER of the call that fails; 0: each"),
#if defined(LEAT_PLANTS)
        setting_row("plant", "none", "one breach of the contract"),
#endif
    };
    return index >= 0 && size_t(index) < std::size(kRows) ? &kRows[index] : nullptr;
}

}  // namespace
}  // namespace leat::sim

LEAT_BACKEND_PLUGIN(leat::sim::SimBackend)
