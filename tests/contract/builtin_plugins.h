// The built-in backends over the C ABI (docs/backends.md), so that the contract is tested on them
// too: tables, with a device on the host that runs the kernels of Backend::prepare.
#pragma once

#include <string_view>

#include "backends/backend.h"
#include "leat/plugin.h"

namespace leat {

// Of one of builtin_backends().
const LeatBackendApi& host_backend_api(const Backend& backend);

// By name; null if no built-in backend is called so.
const LeatBackendApi* find_builtin_plugin(std::string_view name);

}  // namespace leat
