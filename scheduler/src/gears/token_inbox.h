// TokenInbox: what threads from outside, or other workers, leave for a run: numbers of points that
// moved, of tasks that only the calling thread may run.
//
// Any number of producers; one consumer at a time. The links between entries belong to the user of
// the class, so that nothing is allocated: an entry must not be put in again before it was taken.
// Memory ordering: what a producer wrote before put() is visible to the consumer after take_all();
// put() and has_any() are sequentially consistent, so that of a producer who puts and then looks
// for sleepers, and a sleeper who says that it sleeps and then looks here, one sees the other.
#pragma once

#include <atomic>
#include <cstdint>

namespace leat::scheduler {

class TokenInbox {
  public:
    static constexpr uint32_t kNone = UINT32_MAX;

    // `link` is the link of `entry`.
    void put(uint32_t entry, uint32_t& link) {
        uint32_t head = head_.load(std::memory_order_relaxed);
        do {
            link = head;
        } while (!head_.compare_exchange_weak(head, entry, std::memory_order_seq_cst,
                                              std::memory_order_relaxed));
    }
    bool has_any() const { return head_.load(std::memory_order_seq_cst) != kNone; }
    // The newest entry; its link leads to the next, the last one's to kNone. Nobody else may touch
    // these links any more. kNone if there is nothing.
    uint32_t take_all() { return head_.exchange(kNone, std::memory_order_acquire); }

  private:
    alignas(64) std::atomic<uint32_t> head_{kNone};
};

}  // namespace leat::scheduler
