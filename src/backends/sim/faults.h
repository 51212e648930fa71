// Faults that sim's settings plan: what a device that fails would do.
//
// Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "backends/queues/queues.h"
#include "leat/plugin_backend.h"

namespace leat::sim {

class Faults {
  public:
    // Throws an Error that names a value which is none.
    explicit Faults(const LeatSettings* settings);

    // At the begin of every entry; throws where this call of it is to fail.
    void enter(const char* entry);
    const queues::SubmissionFaults& of_submissions() const { return of_submissions_; }
    int64_t memory_limit_bytes() const { return memory_limit_bytes_; }  // 0: none

  private:
    std::string failing_entry_;
    int64_t failing_call_ = 0;  // 1 is the first; 0: each
    std::atomic<int64_t> calls_{0};
    queues::SubmissionFaults of_submissions_;
    int64_t memory_limit_bytes_ = 0;
};

}  // namespace leat::sim
