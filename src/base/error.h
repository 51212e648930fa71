// Short ways to make and pass on a Status.
#pragma once

#include <fmt/core.h>

#include <utility>

#include "leat/status.h"

namespace leat {

// A status with this text; a bare one where there is no memory for it.
Status format_error(StatusCode code, fmt::string_view format, fmt::format_args args) noexcept;

// Never throws: errors are also made where nothing catches, and where memory has run out.
template <class... Args>
Status make_error(StatusCode code, fmt::format_string<Args...> format, Args&&... args) noexcept {
    return format_error(code, format, fmt::make_format_args(args...));
}
template <class... Args>
Status invalid_argument(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
}
template <class... Args>
Status not_found(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(StatusCode::kNotFound, format, std::forward<Args>(args)...);
}
template <class... Args>
Status parse_error(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(StatusCode::kParse, format, std::forward<Args>(args)...);
}
template <class... Args>
Status unsupported(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(StatusCode::kUnsupported, format, std::forward<Args>(args)...);
}
template <class... Args>
Status out_of_memory(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(StatusCode::kOutOfMemory, format, std::forward<Args>(args)...);
}
template <class... Args>
Status internal_error(fmt::format_string<Args...> format, Args&&... args) {
    return make_error(StatusCode::kInternal, format, std::forward<Args>(args)...);
}

}  // namespace leat

#define LEAT_CONCAT_INNER(a, b) a##b
#define LEAT_CONCAT(a, b) LEAT_CONCAT_INNER(a, b)

// Returns the status from the enclosing function unless it is ok. A plain `if`, not a do-while:
// every branch has braces here, and the linter counts a macro's nesting as its user's.
#define LEAT_RETURN_IF_ERROR(expression)                        \
    if (::leat::Status status_ = (expression); !status_.ok()) { \
        return status_;                                         \
    }

// NOLINTBEGIN(bugprone-macro-parentheses): a declaration cannot be in parentheses
// LEAT_ASSIGN_OR_RETURN(auto x, f()): x is the value of the Result f(), or its error is returned.
#define LEAT_ASSIGN_OR_RETURN(declaration, expression) \
    LEAT_ASSIGN_OR_RETURN_INNER(LEAT_CONCAT(result_, __LINE__), declaration, expression)
#define LEAT_ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
    auto result = (expression);                                      \
    if (!result.ok()) {                                              \
        return std::move(result).error();                            \
    }                                                                \
    declaration = std::move(result).value()
// NOLINTEND(bugprone-macro-parentheses)
