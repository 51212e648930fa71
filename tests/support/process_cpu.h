// Processor time of this process, of all its threads.
#pragma once

#include <cstdint>
#include <ctime>

namespace leat {

inline int64_t process_cpu_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace leat
