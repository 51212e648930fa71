#include "trace/trace_buffer.h"

#include <algorithm>

namespace leat {

int32_t trace_thread() {
    static std::atomic<int32_t> next{0};
    thread_local const int32_t kThread = next.fetch_add(1, std::memory_order_relaxed);
    return kThread;
}

TraceBuffer::TraceBuffer(int64_t capacity_events)
    : events_(std::make_unique<TraceEvent[]>(size_t(std::max<int64_t>(capacity_events, 0)))),
      capacity_(std::max<int64_t>(capacity_events, 0)) {}

void TraceBuffer::clear() {
    count_.store(0, std::memory_order_relaxed);
    dropped_.store(0, std::memory_order_relaxed);
}

}  // namespace leat
