// HostLane: virtual time of what the host itself does for runs on a backend with a virtual clock.
//
// All workers divide each operator among themselves, so that they are one lane, which does one
// thing at a time: what comes first is first. Shared by all runs; thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <mutex>

namespace leat::testing_support {

class HostLane {
  public:
    // When something ends that is there at `now_ns` and takes that long.
    int64_t occupy(int64_t now_ns, int64_t duration_ns) {
        const std::lock_guard lock(mutex_);
        end_ns_ = std::max(end_ns_, now_ns) + duration_ns;
        return end_ns_;
    }

  private:
    std::mutex mutex_;
    int64_t end_ns_ = 0;
};

}  // namespace leat::testing_support
