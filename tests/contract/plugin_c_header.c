// The headers are C99: this file only has to compile, as C and without a warning.
#include "leat/plugin.h"
#include "leat/plugin_clock.h"

int leat_plugin_header_is_c(const LeatBackendApi* api);

int leat_plugin_header_is_c(const LeatBackendApi* api) {
    return api->header.version == LEAT_PLUGIN_VERSION && sizeof(LeatHeader) == 16;
}
