// The entries of a backend that its queues answer alone.
#pragma once

#include "backends/queues/queues.h"
#include "leat/plugin_backend.h"

namespace leat::queues {

class QueuedBackend : public plugin::Backend {
  public:
    int64_t open_submissions() final { return queues().open_submissions(); }
    uint64_t timeline_value(int32_t queue) final { return queues().value(queue); }
    bool is_reached(LeatPoint point) final { return queues().is_reached(point); }
    void on_reached(LeatPoint point, LeatReached callback, void* user) final {
        queues().on_reached(point, callback, user);
    }
    void fail(int32_t queue, LeatCode code) final {
        queues().fail(queue, {code, "the host failed the queue"});
    }
    void forget_failures(int32_t queue, uint64_t value) final {
        queues().forget_failures(queue, value);
    }
    void cancel(uint64_t request) final { queues().cancel(request); }

  private:
    // A member of the derived class, and its last one: threads of the queues use the others.
    virtual Queues& queues() = 0;
};

}  // namespace leat::queues
