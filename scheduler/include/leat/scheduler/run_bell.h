// RunBell: lets one thread wait for several runs at once.
//
//   seen = bell.events();
//   ... RunHandle::work() of each run: nothing is left to do now ...
//   bell.wait(seen, most);   // until something of any of them can go on
//
// Memory ordering: what a thread wrote before ring() is visible to who has seen the new number by
// events(). Who reads the number before it looks for work misses nothing.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "leat/export.h"

namespace leat::scheduler {

// Thread-safe. Outlives the runs that ring it, and what signals their points.
class LEAT_API RunBell {
  public:
    uint32_t events() const { return events_.load(std::memory_order_seq_cst); }
    // Sleeps until events() differs from `seen`, or for `most`; may wake for no reason.
    void wait(uint32_t seen, std::chrono::nanoseconds most);
    void ring();

  private:
    std::atomic<uint32_t> events_{0};
    std::atomic<int> sleepers_{0};
};

}  // namespace leat::scheduler
