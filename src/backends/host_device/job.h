// What a submission asks of a device on the host.
#pragma once

#include <cstdint>
#include <functional>

#include "backends/queues/work.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

class HostInstance;

struct Job {
    enum class Kind : uint8_t { kCopy, kFill, kRun };

    Kind kind = Kind::kCopy;
    std::function<void()> call;  // on the queue's thread; throws where it fails
    // Of a copy or a fill.
    int32_t from_domain = LEAT_HOST_DOMAIN;
    int32_t to_domain = LEAT_HOST_DOMAIN;
    int64_t bytes = 0;
    // Of a run; null otherwise.
    const HostInstance* instance = nullptr;
    LeatProfile* profile = nullptr;
};

}  // namespace leat::host_device
