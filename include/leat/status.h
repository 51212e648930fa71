// Errors of leat: Status and Result<T>. Nothing throws across the API and nothing aborts on bad
// input. One exception: where memory runs out, functions that return neither Status nor Result may
// throw std::bad_alloc, and so may copying a Status or asking for its message.
//
// A message names the file, the node, the value found, the value needed and what the user can do.
// Thread safety: values; distinct objects may be used concurrently.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "leat/export.h"

namespace leat {

enum class StatusCode : uint8_t {
    kOk,
    kInvalidArgument,  // the caller passed something that can never work
    kNotFound,         // a file, name or device does not exist
    kParse,            // a file is not what it claims to be
    kUnsupported,      // valid, but not implemented by the chosen backend
    kPlacement,        // a placement rule (fallback, pin) cannot be met
    kOutOfMemory,      // allocation failed or a memory limit cannot be met
    kDeviceLost,       // a device stopped answering; the Runtime stays usable
    kTimeout,          // a deadline passed
    kCancelled,        // a stop token was triggered
    kUserException,    // user code threw; what() is in the message
    kVersionMismatch,  // a plugin or a saved file belongs to another version
    kBusy,             // the object is in use
    kInternal,         // a broken invariant of leat: our bug
};

// Name of a code in snake case, for example "invalid_argument".
LEAT_API std::string_view name_of(StatusCode code);

// Success, or one error. Success costs a null pointer.
class [[nodiscard]] LEAT_API Status {
  public:
    Status() = default;
    Status(StatusCode code, std::string text);
    // An error without any text, for where there is no memory for one: allocates nothing, and
    // with_... adds nothing to it. `code` is not kOk.
    static Status bare(StatusCode code) noexcept;
    Status(const Status& other);
    Status(Status&&) noexcept;
    Status& operator=(const Status& other);
    Status& operator=(Status&&) noexcept;
    ~Status();

    bool ok() const { return detail_ == nullptr; }
    explicit operator bool() const { return ok(); }
    StatusCode code() const;

    // Everything in one line: "code: file: node 'name' (Op): text; found X; needed Y; hint".
    std::string message() const;

    // The parts; empty where they do not apply.
    const std::string& text() const;
    const std::string& file() const;
    // With its kind and operator: "node 'y' (Gather)", "input 'x'".
    const std::string& node() const;
    const std::string& found() const;
    const std::string& needed() const;
    const std::string& hint() const;

    // Adds a part and returns the status, so that errors are written as one expression. No effect
    // on success. A file or node that is already set stays: the innermost context is the exact one.
    Status&& with_file(std::string_view file) &&;
    Status&& with_node(std::string_view node) &&;
    // What the node is in: "node 'l' (Loop), body, iteration 3, node 'y' (Add)". The innermost one
    // comes last.
    Status&& within(std::string_view around) &&;
    Status&& with_found(std::string found) &&;
    Status&& with_needed(std::string needed) &&;
    Status&& with_hint(std::string hint) &&;

  private:
    struct Detail {
        StatusCode code;
        std::string text;
        std::string file;
        std::string node;
        std::string found;
        std::string needed;
        std::string hint;
        bool is_bare = false;  // shared by all bare statuses of the code, and never deleted
    };
    struct Release {
        void operator()(Detail* detail) const noexcept;
    };
    using DetailPtr = std::unique_ptr<Detail, Release>;
    static DetailPtr copy_of(const DetailPtr& detail);
    bool takes_parts() const { return detail_ != nullptr && !detail_->is_bare; }

    DetailPtr detail_;
};

namespace detail {
// Ends the process with the status' message: value() on an error is a bug of the caller.
[[noreturn]] LEAT_API void fail_value_access(const Status& status);
}  // namespace detail

// A T, or the Status that says why there is none.
template <class T>
class [[nodiscard]] Result {
  public:
    // NOLINTBEGIN(google-explicit-constructor): functions return a value or an error as it is
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Status error) : state_(std::in_place_index<1>, std::move(error)) {}
    // NOLINTEND(google-explicit-constructor)

    bool ok() const { return state_.index() == 0; }
    explicit operator bool() const { return ok(); }

    // The value. Calling it on an error ends the process and prints the error.
    T& value() & { return *checked(std::get_if<0>(&state_)); }
    const T& value() const& { return *checked(std::get_if<0>(&state_)); }
    T&& value() && { return std::move(*checked(std::get_if<0>(&state_))); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    // The error; a success Status where there is none.
    Status error() const& { return ok() ? Status() : *std::get_if<1>(&state_); }
    Status error() && { return ok() ? Status() : std::move(*std::get_if<1>(&state_)); }

  private:
    template <class U>
    U* checked(U* value) const {
        if (value == nullptr) {
            detail::fail_value_access(*std::get_if<1>(&state_));
        }
        return value;
    }
    std::variant<T, Status> state_;
};

}  // namespace leat
