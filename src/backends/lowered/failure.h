// Errors of leat as those of the ABI, and back.
#pragma once

#include <utility>

#include "leat/plugin_backend.h"
#include "leat/status.h"

namespace leat::lowered {

// What the host makes of a backend's code.
StatusCode status_code(LeatCode code);

// Throws the status as a plugin::Error unless it is ok.
void throw_if(const Status& status);

template <class T>
T value_or_throw(Result<T> result) {
    throw_if(result.error());
    return *std::move(result);
}

}  // namespace leat::lowered
