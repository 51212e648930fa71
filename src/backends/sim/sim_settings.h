// What sim's settings say, apart from the faults that they plan (faults.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/plugin_backend.h"
#include "ops/roofline.h"

namespace leat::sim {

enum class Mode : uint8_t {
    kCompute,  // true results, no claim about time
    kTimed,    // results of a recording, and the time that the settings' rates say
    kVirtual,  // true results, and the same times on a clock that nobody waits for
};

struct SimSettings {
    // Throws an Error that names setting, value and what was needed.
    explicit SimSettings(const LeatSettings* settings);

    Mode mode = Mode::kCompute;
    std::string record;  // file that runs are added to; empty: none
    std::string replay;  // file that runs come from; empty: none
    int32_t devices = 1;
    int32_t compute_queues = 1;  // of each device; the same below
    int32_t copy_queues = 1;
    std::vector<DeviceRates> rates;  // by device
    std::vector<LinkRates> links;    // by device
    bool is_link_exclusive = false;
    bool is_host_memory = false;  // the devices' memory is the host's own
    bool is_mappable = true;
    double time_scale = 1;
    double median_op_ns = 0;  // 0: time_scale is what it is
};

}  // namespace leat::sim
