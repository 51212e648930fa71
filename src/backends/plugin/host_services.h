// What a plugin gets from this process: LeatHostApi over functions of the host program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "leat/plugin.h"

namespace leat {

// Outlives every backend that was created with its table. Thread-safe if the functions are.
class HostServices {
  public:
    // Takes one of kLeatLog...
    using Log = std::function<void(int32_t level, std::string_view text)>;
    using ParallelFor =
        std::function<void(int64_t count, const std::function<void(int64_t)>& body)>;

    // Without `log` nothing is told, without `parallel_for` a loop runs on the caller's thread.
    // `cache_directory` exists, or is empty: nothing may be cached.
    explicit HostServices(std::string cache_directory = {},
                          Log log = {},
                          ParallelFor parallel_for = {});
    HostServices(const HostServices&) = delete;
    HostServices& operator=(const HostServices&) = delete;

    const LeatHostApi& api() const { return api_; }

  private:
    std::string cache_directory_;
    Log log_;
    ParallelFor parallel_for_;
    LeatHostApi api_;
};

}  // namespace leat
