#include "backends/vulkan/plugin/submitted_work.h"

#include <utility>

#include "backends/vulkan/plugin/failure.h"
#include "base/transformed.h"

namespace leat::vulkan {
namespace {

class SubmittedWork final : public queues::Work {
  public:
    SubmittedWork(std::unique_ptr<vulkan::VulkanWork> work, LazyDevice& device, QueueRole role)
        : work_(std::move(work)), device_(device), role_(role) {}

    // With fences the device keeps no waits for other queues.
    queues::Start start() const override {
        if (!work_->is_recorded()) {
            return queues::Start::kWhenIdle;
        }
        return device_.settings().uses_fences ? queues::Start::kAfterWaits
                                              : queues::Start::kWaitsThere;
    }
    bool is_ready() const override { return work_->is_ready(); }

    uint64_t run(std::span<const queues::DevicePoint> waits) override {
        OpenDevice& device = device_.open();
        throw_if(device.device->lost());
        return work_->run(transformed(waits, [&](queues::DevicePoint wait) {
            return Queue::Wait{device.queue_of(role_of(wait.queue)).queue.get(), wait.point};
        }));
    }

    void on_ended(uint64_t point, const Ended& ended) override {
        OpenDevice& device = device_.open();
        device.waiter->on_reached(device.queue_of(role_).queue, point,
                                  [this, ended](const Status& status) {
                                      ended(queues::caught([&] {
                                          throw_if(status);
                                          work_->finish();
                                      }));
                                  });
    }

    void await(uint64_t point) override {
        constexpr int64_t kSliceNs = 1'000'000'000;
        Queue& queue = *device_.open().queue_of(role_).queue;
        for (bool is_reached = false; !is_reached;) {
            Result<bool> waited = queue.wait(point, kSliceNs);
            throw_if(waited.error());
            is_reached = *waited;
        }
        work_->finish();
    }

    void lose_device() override { throw_if(device_.open().device->lose()); }

  private:
    std::unique_ptr<vulkan::VulkanWork> work_;
    LazyDevice& device_;
    QueueRole role_;
};

}  // namespace

std::unique_ptr<queues::Work> submitted(std::unique_ptr<VulkanWork> work,
                                        LazyDevice& device,
                                        QueueRole role) {
    return std::make_unique<SubmittedWork>(std::move(work), device, role);
}

}  // namespace leat::vulkan
