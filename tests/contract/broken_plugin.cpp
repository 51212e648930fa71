// Shared objects that must not become backends: each is this file with another LEAT_BROKEN_...
#include <new>
#include <stdexcept>

#include "leat/plugin_backend.h"

namespace {

class BrokenBackend final : public leat::plugin::Backend {
  public:
    static constexpr const char* kName = "broken";
    static constexpr const char* kLibraryVersion = "1";
    static void check_available(const LeatHostApi* /*host*/) {
        throw leat::plugin::Error(kLeatUnsupported, "there is no such machine");
    }
    static const LeatSettingInfo* setting(int32_t /*index*/) { return nullptr; }
    BrokenBackend(const LeatHostApi* /*host*/, const LeatSettings* /*settings*/) {
        throw std::runtime_error("it does not start");
    }
};

[[maybe_unused]] LeatBackendApi broken_table() {
    LeatBackendApi api = leat::plugin::Plugin<BrokenBackend>::kApi;
#if defined(LEAT_BROKEN_SIZE)
    api.header.struct_bytes -= 8;
#elif defined(LEAT_BROKEN_NEEDS_LATER)
    api.header.version = 9;
    api.min_host_version = 7;
#elif defined(LEAT_BROKEN_NULL_ENTRY)
    api.create = nullptr;
#elif defined(LEAT_BROKEN_VERSION)
    api.header.version = 0;
#endif
    return api;
}

}  // namespace

#if defined(LEAT_BROKEN_NO_SYMBOL)
extern "C" __attribute__((visibility("default"))) int leat_backend_inquiry() {
    return 1;
}
#else
extern "C" __attribute__((visibility("default"))) const LeatBackendApi* leat_backend_query(
    const LeatHostApi* /*host*/, uint32_t /*version*/) {
#if defined(LEAT_BROKEN_THROWS)
    throw std::runtime_error("out of the entry point");
#elif defined(LEAT_BROKEN_NO_MEMORY)
    throw std::bad_alloc();
#elif defined(LEAT_BROKEN_THROWS_A_NUMBER)
    throw 7;
#elif defined(LEAT_BROKEN_NO_TABLE)
    return nullptr;
#else
    static const LeatBackendApi kTable = broken_table();
    return &kTable;
#endif
}
#endif
