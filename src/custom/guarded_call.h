// Where exceptions of a program's callbacks end.
#pragma once

#include <utility>

#include "base/caught_exception.h"

namespace leat::custom {

// What the callback returns (a Status); else what it threw. `what` completes "... threw".
template <class Callback>
Status guarded(const char* what, Callback&& callback) {
    try {
        return std::forward<Callback>(callback)();
    } catch (...) {
        return caught_exception(what);
    }
}

}  // namespace leat::custom
