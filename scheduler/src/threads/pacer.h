// Pacer: lets a worker leave its core between two tasks, instead of being thrown off it in one.
//
// Where another process wants the same core, the system interrupts a worker in the middle of a task
// for milliseconds, and everything that follows the task stands still. A worker that has lately
// been interrupted therefore gives the core up by itself at the end of a segment, shortly before
// its turn ends, with nothing in its hands that others could do. Linux begins and ends turns
// at its clock's ticks. One for each thread; not thread-safe.
#pragma once

#include <cstdint>

namespace leat::scheduler {

class Pacer {
  public:
    // At the end of each segment. True: give away what you hold, call rest(), go on.
    bool wants_rest() {
        if (--segments_left_ > 0) [[likely]] {
            return false;
        }
        return look();
    }
    // Lets another thread have the core.
    void rest();

  private:
    bool look();
    void space_looks(int64_t passed_ns, int64_t wanted_ns);
    bool was_interrupted();
    bool is_turn_over_before(int64_t now_ns, int64_t next_look_ns);

    int64_t segments_left_ = 1;
    int64_t segments_a_look_ = 1;
    int64_t looked_ns_ = 0;
    int64_t turn_began_ns_ = 0;  // as far as known
    int64_t contended_until_ns_ = 0;
    int64_t interruptions_ = -1;  // of this thread so far; -1: not read yet
};

}  // namespace leat::scheduler
