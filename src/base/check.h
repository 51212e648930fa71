// LEAT_CHECK: a broken invariant, that is a bug of leat. Input from outside never reaches one.
#pragma once

#include <fmt/core.h>

namespace leat::detail {

// Ends the process with the place, the condition and the text.
[[noreturn]] void fail_check(const char* file,
                             int line,
                             const char* condition,
                             fmt::string_view format,
                             fmt::format_args args);

// Out of line in each caller: a check costs a compare and a jump where it holds.
template <class... Args>
[[noreturn, gnu::noinline, gnu::cold]] void check_failed(const char* file,
                                                         int line,
                                                         const char* condition,
                                                         fmt::format_string<Args...> format,
                                                         Args&&... args) {
    fail_check(file, line, condition, format, fmt::make_format_args(args...));
}

}  // namespace leat::detail

// LEAT_CHECK(a == b, "a is {}, b is {}", a, b): ends the process with the text if the condition is
// false.
#define LEAT_CHECK(condition, ...)                                                     \
    do {                                                                               \
        if (!(condition)) [[unlikely]] {                                               \
            ::leat::detail::check_failed(__FILE__, __LINE__, #condition, __VA_ARGS__); \
        }                                                                              \
    } while (false)
