// Where std::bad_alloc ends: the entry points of the public API make it a Status.
#pragma once

#include <new>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace leat {

// What `function` returns, a Status or a Result; out_of_memory where it throws std::bad_alloc.
// `action` completes "no memory left to ...". Costs nothing where nothing is thrown, and needs no
// memory where none is left. Whatever `function` has begun it must undo itself, by destructors.
template <class Function>
std::invoke_result_t<Function> catch_bad_alloc(const char* action, Function&& function) {
    try {
        return std::forward<Function>(function)();
    } catch (const std::bad_alloc&) {
        return out_of_memory("no memory left to {}: free some, or use smaller shapes", action);
    }
}

// A copy; a bare one of its code where there is no memory for more.
inline Status copy_or_bare(const Status& status) noexcept {
    try {
        return status;
    } catch (const std::bad_alloc&) {
        return Status::bare(status.code());
    }
}

}  // namespace leat
