#include "calibrate/link_timing.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "base/error.h"
#include "base/monotonic_clock.h"
#include "leat/plugin_backend.h"
#include "machine/device_flight.h"

namespace leat {
namespace {

// From what a scalar takes to beyond caches.
constexpr std::array<int64_t, 5> kSizesBytes = {
    int64_t{4} << 10, int64_t{64} << 10, int64_t{512} << 10, int64_t{4} << 20, int64_t{16} << 20};
constexpr int kRuns = 9;
// Each copy is of other bytes than the one before, which the caches hold. A multiple of a page.
constexpr int64_t kStrideBytes = (int64_t{1} << 20) + (int64_t{68} << 10);

class LinkTiming {
  public:
    explicit LinkTiming(const DevicePlace& place)
        : place_(place),
          device_(*place.backend),
          flight_(place.backend, 2),
          to_host_(kSizesBytes.back()) {}

    Result<MeasuredLinks> run() {
        const LeatDeviceInfo& info = device_.device(place_.number);
        if (info.domain_count == 0) {
            return not_found("device '{}' has no memory domain", place_.label);
        }
        const LeatDomainInfo& domain = *info.domains[0];
        // One half for each direction.
        LEAT_ASSIGN_OR_RETURN(slab_,
                              DeviceSlab::allocate(place_.backend, domain, 2 * kSizesBytes.back()));
        from_host_.assign(size_t(kSizesBytes.back()), std::byte{1});
        LEAT_RETURN_IF_ERROR(choose_queues(info));
        // The system gives pages where they are touched first.
        LEAT_RETURN_IF_ERROR(copy(kSizesBytes.back(), true));
        LEAT_RETURN_IF_ERROR(copy(kSizesBytes.back(), false));
        MeasuredLinks links;
        LEAT_ASSIGN_OR_RETURN(links.to_device, measure(true));
        LEAT_ASSIGN_OR_RETURN(links.from_device, measure(false));
        LEAT_ASSIGN_OR_RETURN(links.contention, measure_contention());
        return links;
    }

  private:
    // Copies go to queues of their own where there are some; the two directions to different ones
    // if possible.
    Status choose_queues(const LeatDeviceInfo& info) {
        std::vector<int32_t> queues;
        for (const uint32_t kind : {uint32_t(kLeatQueueCopy), uint32_t(kLeatQueueCompute)}) {
            for (int32_t i = 0; i < info.queue_count; ++i) {
                const LeatQueueInfo& queue = *info.queues[i];
                const bool is_new =
                    std::find(queues.begin(), queues.end(), queue.queue) == queues.end();
                if ((uint32_t(queue.kinds) & kind) != 0 && is_new) {
                    queues.push_back(queue.queue);
                }
            }
        }
        if (queues.empty()) {
            return not_found("device '{}' has no queue", place_.label);
        }
        queue_to_device_ = queues.front();
        queue_from_device_ = queues.size() > 1 ? queues[1] : queues.front();
        return {};
    }

    // Where the next copy of so many bytes begins.
    int64_t next_offset(int64_t bytes) {
        offset_ = (offset_ + kStrideBytes) % (kSizesBytes.back() - bytes + kSizesBytes.front());
        return std::min(offset_, kSizesBytes.back() - bytes);
    }

    // In a flight.
    Status submit(int64_t bytes, bool is_to_device) {
        const int64_t offset = next_offset(bytes);
        auto copy = plugin::made<LeatCopy>();
        copy.bytes = bytes;
        if (is_to_device) {
            copy.from_host = from_host_.data() + offset;
            copy.to = {slab_->handle(), offset};
        } else {
            copy.from = {slab_->handle(), kSizesBytes.back() + offset};
            copy.to_host = to_host_.data() + offset;
        }
        return flight_
            .submit(is_to_device ? queue_to_device_ : queue_from_device_, {}, "copy",
                    [&](const LeatSubmission& submission, LeatError* error) {
                        return device_.api().submit_copy(device_.handle(), &submission, &copy,
                                                         error);
                    })
            .error();
    }

    Status copy(int64_t bytes, bool is_to_device) {
        std::byte* mapped = slab_->mapped();
        if (mapped == nullptr) {
            return copy_by_queue(bytes, is_to_device);
        }
        const int64_t offset = next_offset(bytes);
        if (is_to_device) {
            std::memcpy(mapped + offset, from_host_.data() + offset, size_t(bytes));
            return slab_->flush(offset, bytes);
        }
        const int64_t from = kSizesBytes.back() + offset;
        LEAT_RETURN_IF_ERROR(slab_->flush(from, bytes));
        std::memcpy(to_host_.data() + offset, mapped + from, size_t(bytes));
        return {};
    }

    Status copy_by_queue(int64_t bytes, bool is_to_device) {
        return flight_.fly_and_wait("copy", [&] { return submit(bytes, is_to_device); });
    }

    static Result<double> median_ns(const std::function<Status()>& action) {
        LEAT_RETURN_IF_ERROR(action());
        std::vector<double> times;
        for (int run = 0; run < kRuns; ++run) {
            const int64_t begin = monotonic_ns();
            LEAT_RETURN_IF_ERROR(action());
            times.push_back(double(std::max<int64_t>(monotonic_ns() - begin, 1)));
        }
        return quartiles_of(times).median;
    }

    Result<LinkRates> measure(bool is_to_device) {
        std::vector<CopySample> samples;
        for (const int64_t bytes : kSizesBytes) {
            LEAT_ASSIGN_OR_RETURN(const double ns,
                                  median_ns([&] { return copy(bytes, is_to_device); }));
            samples.push_back({bytes, ns});
        }
        const std::optional<LinkRates> link = fit_link(samples);
        if (!link) {
            return unsupported("copies {} '{}' take no longer for more bytes",
                               is_to_device ? "to" : "from", place_.label);
        }
        return *link;
    }

    Result<double> measure_contention() {
        constexpr int64_t kBytes = kSizesBytes.back();
        double alone_ns = 0;
        for (const bool is_to_device : {true, false}) {
            LEAT_ASSIGN_OR_RETURN(const double ns,
                                  median_ns([&] { return copy_by_queue(kBytes, is_to_device); }));
            alone_ns = std::max(alone_ns, ns);
        }
        const auto copy_both = [&]() -> Status {
            LEAT_RETURN_IF_ERROR(submit(kBytes, true));
            return submit(kBytes, false);
        };
        LEAT_ASSIGN_OR_RETURN(const double both_ns,
                              median_ns([&] { return flight_.fly_and_wait("copy", copy_both); }));
        return both_ns / alone_ns;
    }

    const DevicePlace& place_;
    DeviceBackend& device_;
    std::shared_ptr<DeviceSlab> slab_;
    DeviceFlight flight_;
    std::vector<std::byte> from_host_;
    std::vector<std::byte> to_host_;
    int64_t offset_ = 0;
    int32_t queue_to_device_ = 0;
    int32_t queue_from_device_ = 0;
};

}  // namespace

Result<MeasuredLinks> measure_links(const DevicePlace& place) {
    return LinkTiming(place).run();
}

}  // namespace leat
