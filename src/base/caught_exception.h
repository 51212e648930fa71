// Where exceptions of a program's code end: what was thrown, as a Status.
#pragma once

#include <exception>
#include <new>
#include <string_view>

#include "base/error.h"

namespace leat {

// For a catch block. `subject`, for example "task 3", did it; empty: who catches names it as the
// node. Needs no memory where none is left.
inline Status caught_exception(std::string_view subject) noexcept {
    const std::string_view space = subject.empty() ? "" : " ";
    try {
        throw;
    } catch (const std::bad_alloc&) {
        return out_of_memory("{}{}found no memory left", subject, space);
    } catch (const std::exception& error) {
        return make_error(StatusCode::kUserException, "{}{}threw: {}", subject, space,
                          error.what());
    } catch (...) {
        return make_error(StatusCode::kUserException,
                          "{}{}threw something that is no std::exception", subject, space);
    }
}

}  // namespace leat
