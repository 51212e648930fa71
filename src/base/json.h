// A JSON value, its writer and its reader: what graphbench prints, compares and takes as
// configuration.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "leat/status.h"

namespace leat {

// Objects keep the order of insertion. Integers stay integers (nanoseconds and bytes exceed 2^53
// late, but a reader that sees "1e+09" for a count is confused now).
class Json {
  public:
    using Array = std::vector<Json>;
    using Object = std::vector<std::pair<std::string, Json>>;

    Json() = default;
    // NOLINTBEGIN(google-explicit-constructor): values are written as they are
    Json(bool value) : value_(value) {}
    Json(int value) : value_(int64_t{value}) {}
    Json(int64_t value) : value_(value) {}
    Json(double value) : value_(value) {}
    Json(const char* value) : value_(std::string(value)) {}
    Json(std::string value) : value_(std::move(value)) {}
    Json(std::string_view value) : value_(std::string(value)) {}
    // NOLINTEND(google-explicit-constructor)
    static Json array() { return Json(Array{}); }
    static Json object() { return Json(Object{}); }
    explicit Json(Array value) : value_(std::move(value)) {}
    explicit Json(Object value) : value_(std::move(value)) {}

    bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
    bool is_bool() const { return std::holds_alternative<bool>(value_); }
    bool is_int() const { return std::holds_alternative<int64_t>(value_); }
    bool is_number() const { return is_int() || std::holds_alternative<double>(value_); }
    bool is_string() const { return std::holds_alternative<std::string>(value_); }
    bool is_array() const { return std::holds_alternative<Array>(value_); }
    bool is_object() const { return std::holds_alternative<Object>(value_); }

    // The value, or `fallback` when the kind is another.
    bool boolean(bool fallback = false) const;
    int64_t integer(int64_t fallback = 0) const;
    double number(double fallback = 0) const;
    std::string text(std::string_view fallback = {}) const;
    // Elements; empty when the kind is another.
    const Array& items() const;
    const Object& members() const;

    // Member access: a null value where there is none, so that lookups chain.
    const Json& operator[](std::string_view key) const;
    // Sets or replaces a member; turns null into an object.
    Json& set(std::string_view key, Json value);
    // Appends an element; turns null into an array.
    void push(Json value);

    // indent < 0: one line.
    std::string dump(int indent = 2) const;
    // Errors: parse, with line and column.
    static Result<Json> parse(std::string_view text);

  private:
    void write(std::string& out, int indent, int depth) const;
    std::variant<std::nullptr_t, bool, int64_t, double, std::string, Array, Object> value_ =
        nullptr;
};

// The array of what `make` says of each.
template <class Range, class Make = std::identity>
Json json_list(const Range& range, const Make& make = {}) {
    Json list = Json::array();
    for (const auto& each : range) {
        list.push(make(each));
    }
    return list;
}

}  // namespace leat
