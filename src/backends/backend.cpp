#include "backends/backend.h"

#include <array>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"

namespace leat {

std::span<const Backend* const> builtin_backends() {
    static const std::array<const Backend*, 2> kBackends = {&cpu_backend(), &reference_backend()};
    return kBackends;
}

Result<const Backend*> find_backend(std::string_view name) {
    std::string known;
    for (const Backend* backend : builtin_backends()) {
        if (backend->name() == name) {
            return backend;
        }
        known += (known.empty() ? "" : ", ") + std::string(backend->name());
    }
    return not_found("no backend is called '{}'", name).with_needed("one of: " + known);
}

}  // namespace leat
