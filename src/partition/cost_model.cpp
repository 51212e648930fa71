#include "partition/cost_model.h"

#include "base/check.h"

namespace leat {

// Orders of magnitude of the machines of these years, no measurements.
DeviceRates default_rates(DeviceClass kind) {
    switch (kind) {
        case DeviceClass::kReference:
            return {0.5e9, 2e9};
        case DeviceClass::kCpuThread:
            return {30e9, 10e9};
        case DeviceClass::kIntegrated:
            return {500e9, 30e9};
        case DeviceClass::kDiscrete:
            return {5e12, 300e9};
        case DeviceClass::kOther:
            return {10e9, 10e9};
    }
    LEAT_CHECK(false, "device kind {}", int(kind));
    return {};
}

}  // namespace leat
