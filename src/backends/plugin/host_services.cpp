#include "backends/plugin/host_services.h"

#include <new>
#include <utility>

#include "base/monotonic_clock.h"
#include "leat/plugin_backend.h"

namespace leat {

HostServices::HostServices(std::string cache_directory, Log log, ParallelFor parallel_for)
    : cache_directory_(std::move(cache_directory)),
      log_(std::move(log)),
      parallel_for_(std::move(parallel_for)),
      api_(plugin::made<LeatHostApi>()) {
    api_.host = this;
    api_.parallel_for = [](void* host, int64_t count, void (*body)(void*, int64_t), void* user) {
        const auto& services = *static_cast<const HostServices*>(host);
        if (services.parallel_for_) {
            services.parallel_for_(count, [body, user](int64_t i) { body(user, i); });
            return;
        }
        for (int64_t i = 0; i < count; ++i) {
            body(user, i);
        }
    };
    api_.log = [](void* host, int32_t level, const char* text) {
        const auto& services = *static_cast<const HostServices*>(host);
        if (services.log_ && text != nullptr) {
            services.log_(level, text);
        }
    };
    api_.monotonic_ns = [](void* /*host*/) { return leat::monotonic_ns(); };
    api_.cache_directory = [](void* host) -> const char* {
        const auto& services = *static_cast<const HostServices*>(host);
        return services.cache_directory_.empty() ? nullptr : services.cache_directory_.c_str();
    };
    api_.allocate = [](void* /*host*/, int64_t bytes, int64_t alignment) -> void* {
        return bytes < 0 ? nullptr
                         : ::operator new(size_t(bytes), std::align_val_t(size_t(alignment)),
                                          std::nothrow);
    };
    api_.deallocate = [](void* /*host*/, void* memory, int64_t /*bytes*/, int64_t alignment) {
        ::operator delete(memory, std::align_val_t(size_t(alignment)));
    };
}

}  // namespace leat
