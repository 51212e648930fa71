// Where exceptions of a program's callbacks end.
#pragma once

#include <exception>
#include <new>
#include <utility>

#include "base/error.h"

namespace leat::custom {

// What the callback returns (a Status); else what it threw. `what` completes "... threw".
template <class Callback>
Status guarded(const char* what, Callback&& callback) {
    try {
        return std::forward<Callback>(callback)();
    } catch (const std::bad_alloc&) {
        return out_of_memory("{} found no memory left", what);
    } catch (const std::exception& failure) {
        return make_error(StatusCode::kUserException, "{} threw: {}", what, failure.what());
    } catch (...) {
        return make_error(StatusCode::kUserException,
                          "{} threw something that is no std::exception", what);
    }
}

}  // namespace leat::custom
