// The devices that CompileOptions::devices names, and the backends that a Runtime has loaded.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "leat/runtime.h"
#include "machine/device_part.h"
#include "partition/measured_costs.h"

namespace leat {

// A device of the list: one of the built-in backends, or one of a plugin's.
struct ListedDevice {
    std::string label;              // as the user wrote it
    const Backend* host = nullptr;  // null: `place` says which device
    DevicePlace place;
    std::shared_ptr<const MeasuredCosts> measured;  // null: nothing was
};

// Plugins by the name of their backend; each is loaded when it is first named. Thread-safe.
class LoadedBackends {
  public:
    // `options` outlives this.
    LoadedBackends(const RuntimeOptions& options, HostServices::ParallelFor parallel_for)
        : options_(options), parallel_for_(std::move(parallel_for)) {}

    Result<std::shared_ptr<DeviceBackend>> find(const std::string& backend);
    // kBusy, with the counts, while something of it lives; success if it was not loaded.
    Status unload(std::string_view backend);
    // The files that are found, by name, with the reason why one cannot be used (empty: it can).
    std::vector<std::pair<std::string, std::string>> list() const;

  private:
    const RuntimeOptions& options_;
    HostServices::ParallelFor parallel_for_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<DeviceBackend>, std::less<>> backends_;
};

// not_found for a name that no backend has, with the places where plugins were looked for;
// unsupported with the reason where one is not available on this machine.
Result<std::vector<ListedDevice>> parse_devices(const std::string& devices,
                                                LoadedBackends& backends);

}  // namespace leat
