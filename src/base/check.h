// LEAT_CHECK: a broken invariant, that is a bug of leat. Input from outside never reaches one.
#pragma once

#include <fmt/format.h>

#include <string>

#include "leat/export.h"

namespace leat::detail {
[[noreturn]] LEAT_API void check_failed(const char* file,
                                        int line,
                                        const char* condition,
                                        const std::string& message);
}  // namespace leat::detail

// LEAT_CHECK(a == b, "a is {}, b is {}", a, b): ends the process with the text if the condition is
// false.
#define LEAT_CHECK(condition, ...)                                       \
    do {                                                                 \
        if (!(condition)) [[unlikely]] {                                 \
            ::leat::detail::check_failed(__FILE__, __LINE__, #condition, \
                                         ::fmt::format(__VA_ARGS__));    \
        }                                                                \
    } while (false)
