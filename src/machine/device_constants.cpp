#include "machine/device_constants.h"

#include <cstring>

#include "leat/plugin_backend.h"
#include "machine/device_flight.h"

namespace leat {

Status ConstantCopies::upload(const PackedOnDevice& to, std::span<const std::byte> from) {
    if (from.empty()) {
        return {};
    }
    if (std::byte* mapped = to.slab->mapped(); mapped != nullptr) {
        std::memcpy(mapped + to.offset_bytes, from.data(), from.size());
        return to.slab->flush(to.offset_bytes, int64_t(from.size()));
    }
    LeatCopy& copy = waiting_.emplace_back(plugin::made<LeatCopy>());
    copy.from_host = from.data();
    copy.to = {to.slab->handle(), to.offset_bytes};
    copy.bytes = int64_t(from.size());
    return {};
}

Status ConstantCopies::download(const PackedOnDevice& from, std::span<std::byte> to) {
    if (to.empty()) {
        return {};
    }
    if (const std::byte* mapped = from.slab->mapped(); mapped != nullptr) {
        LEAT_RETURN_IF_ERROR(from.slab->flush(from.offset_bytes, int64_t(to.size())));
        std::memcpy(to.data(), mapped + from.offset_bytes, to.size());
        return {};
    }
    LeatCopy& copy = waiting_.emplace_back(plugin::made<LeatCopy>());
    copy.from = {from.slab->handle(), from.offset_bytes};
    copy.to_host = to.data();
    copy.bytes = int64_t(to.size());
    return {};
}

Status ConstantCopies::finish() {
    if (waiting_.empty()) {
        return {};
    }
    DeviceFlight flight(backend_, int(waiting_.size()));
    const auto submit_all = [&]() -> Status {
        for (const LeatCopy& copy : waiting_) {
            const Result<LeatPoint> point =
                flight.submit(queue_, {}, "copy constants",
                              [&](const LeatSubmission& submission, LeatError* error) {
                                  return backend_->api().submit_copy(backend_->handle(),
                                                                     &submission, &copy, error);
                              });
            LEAT_RETURN_IF_ERROR(point.error());
        }
        return {};
    };
    Status status = flight.fly_and_wait("copy constants", submit_all);
    waiting_.clear();
    return status;
}

}  // namespace leat
