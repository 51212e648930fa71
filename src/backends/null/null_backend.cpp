// The smallest backend: it is available, has no device and answers everything else with
// "unimplemented". Copy this folder to begin one (docs/backends.md).
#include "leat/plugin_backend.h"

namespace {

class NullBackend final : public leat::plugin::Backend {
  public:
    static constexpr const char* kName = "null";
    static constexpr const char* kLibraryVersion = LEAT_VERSION;

    // Throw an Error with the reason where the machine lacks what the backend needs.
    static void check_available(const LeatHostApi* /*host*/) {}
    // Name, default and description of each setting; null beyond the last.
    static const LeatSettingInfo* setting(int32_t /*index*/) { return nullptr; }

    NullBackend(const LeatHostApi* /*host*/, const LeatSettings* /*settings*/) {}
};

}  // namespace

LEAT_BACKEND_PLUGIN(NullBackend)
