// Which steps must wait for which, from the bytes that they read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/byte_range.h"

namespace leat {

// Tells, step by step, which earlier steps each one must wait for: those that wrote what it reads
// (read after write), and that read or wrote what it writes (write after read, write after write),
// where no step in between makes the wait superfluous by writing the same bytes. This is what makes
// memory that a plan shares safe for steps that run at the same time. Ranges of different memories
// must have different addresses. Not thread-safe.
class StepHazards {
  public:
    // Of the step that comes next; reads before writes. Empty ranges touch nothing.
    void read(ByteRange range);
    void write(ByteRange range);
    // Ends that step: its waits, ascending, each once.
    std::vector<int32_t> end_step();

  private:
    // Who touched the bytes last.
    struct Segment {
        int64_t begin;
        int64_t end;
        int32_t writer;
        int32_t reader;  // since the write: index in readers_; -1: none
    };
    // Lists are shared by segments that were one: they only grow at the front.
    struct Reader {
        int32_t step;
        int32_t next;  // index in readers_; -1: none
    };

    void wait_for(int32_t other);
    void touch(Segment& segment);
    size_t split_at(int64_t position);

    int32_t step_ = 0;
    std::vector<Segment> segments_;  // disjoint, ascending; bytes that nobody touched are in none
    std::vector<Reader> readers_;
    std::vector<int32_t> waits_;      // of the step
    std::vector<int32_t> waited_by_;  // by step: the last one that waits for it
};

}  // namespace leat
