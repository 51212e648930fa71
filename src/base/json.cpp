#include "base/json.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <optional>

namespace leat {
namespace {

constexpr int kMaxDepth = 200;  // of the reader's recursion

void write_string(std::string& out, std::string_view text) {
    out += '"';
    for (char c : text) {
        switch (c) {
            case '"':
                out += "\\\"";
                break;
            case '\\':
                out += "\\\\";
                break;
            case '\n':
                out += "\\n";
                break;
            case '\t':
                out += "\\t";
                break;
            default:
                if (uint8_t(c) < 0x20) {
                    out += fmt::format("\\u{:04x}", uint8_t(c));
                } else {
                    out += c;
                }
        }
    }
    out += '"';
}

void append_utf8(std::string& out, uint32_t code) {
    if (code < 0x80) {
        out += char(code);
    } else if (code < 0x800) {
        out += char(0xc0 | (code >> 6));
        out += char(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += char(0xe0 | (code >> 12));
        out += char(0x80 | ((code >> 6) & 0x3f));
        out += char(0x80 | (code & 0x3f));
    } else {
        out += char(0xf0 | (code >> 18));
        out += char(0x80 | ((code >> 12) & 0x3f));
        out += char(0x80 | ((code >> 6) & 0x3f));
        out += char(0x80 | (code & 0x3f));
    }
}

// Recursive descent over the text; the first failure is kept and ends everything.
class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    Result<Json> document() {
        Json value = read_value(0);
        skip_space();
        if (error_.empty() && position_ != text_.size()) {
            fail("text after the value");
        }
        if (!error_.empty()) {
            return Status(StatusCode::kParse, error_);
        }
        return value;
    }

  private:
    void fail(std::string_view what) {
        if (!error_.empty()) {
            return;
        }
        int line = 1;
        size_t line_start = 0;
        for (size_t i = 0; i < position_ && i < text_.size(); ++i) {
            if (text_[i] == '\n') {
                ++line;
                line_start = i + 1;
            }
        }
        error_ =
            fmt::format("JSON: {} at line {}, column {}", what, line, position_ - line_start + 1);
        position_ = text_.size();
    }
    void skip_space() {
        while (position_ < text_.size() &&
               std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
            ++position_;
        }
    }
    bool take(char c) {
        skip_space();
        if (position_ < text_.size() && text_[position_] == c) {
            ++position_;
            return true;
        }
        return false;
    }
    bool take_word(std::string_view word) {
        if (text_.substr(position_, word.size()) != word) {
            return false;
        }
        position_ += word.size();
        return true;
    }

    Json read_value(int depth) {
        skip_space();
        if (depth > kMaxDepth || position_ >= text_.size()) {
            fail(depth > kMaxDepth ? "nesting too deep" : "unexpected end");
            return {};
        }
        switch (text_[position_]) {
            case '{':
                return read_object(depth);
            case '[':
                return read_array(depth);
            case '"':
                return Json(read_string());
            default:
                return read_scalar();
        }
    }

    Json read_object(int depth) {
        ++position_;
        Json::Object members;
        if (take('}')) {
            return Json(std::move(members));
        }
        do {
            skip_space();
            if (position_ >= text_.size() || text_[position_] != '"') {
                fail("expected a name in quotes");
                return {};
            }
            std::string key = read_string();
            if (!take(':')) {
                fail("expected ':'");
                return {};
            }
            members.emplace_back(std::move(key), read_value(depth + 1));
        } while (take(','));
        if (!take('}')) {
            fail("expected ',' or '}'");
        }
        return Json(std::move(members));
    }

    Json read_array(int depth) {
        ++position_;
        Json::Array items;
        if (take(']')) {
            return Json(std::move(items));
        }
        do {
            items.push_back(read_value(depth + 1));
        } while (take(','));
        if (!take(']')) {
            fail("expected ',' or ']'");
        }
        return Json(std::move(items));
    }

    Json read_scalar() {
        if (take_word("true")) {
            return Json(true);
        }
        if (take_word("false")) {
            return Json(false);
        }
        if (take_word("null")) {
            return {};
        }
        size_t end = text_.find_first_not_of("+-.0123456789eE", position_);
        std::string_view word = text_.substr(position_, end - position_);
        const char* last = word.data() + word.size();
        int64_t integer = 0;
        if (auto [p, e] = std::from_chars(word.data(), last, integer);
            e == std::errc() && p == last && !word.empty()) {
            position_ += word.size();
            return Json(integer);
        }
        double real = 0;
        if (auto [p, e] = std::from_chars(word.data(), last, real);
            e == std::errc() && p == last && !word.empty()) {
            position_ += word.size();
            return Json(real);
        }
        fail("not a value");
        return {};
    }

    std::optional<uint32_t> read_hex4() {
        std::string_view digits = text_.substr(position_, 4);
        uint32_t code = 0;
        auto [p, e] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
        if (digits.size() != 4 || e != std::errc() || p != digits.data() + 4) {
            fail("bad \\u escape");
            return std::nullopt;
        }
        position_ += 4;
        return code;
    }

    void read_escape(std::string& out) {
        static constexpr std::string_view kFrom = "\"\\/bfnrt";
        static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
        if (position_ >= text_.size()) {
            fail("unexpected end");
            return;
        }
        char c = text_[position_++];
        if (size_t at = kFrom.find(c); at != std::string_view::npos) {
            out += kTo[at];
            return;
        }
        std::optional<uint32_t> code = c == 'u' ? read_hex4() : std::nullopt;
        if (!code) {
            fail("bad escape");
            return;
        }
        if (*code >= 0xd800 && *code < 0xdc00 && take_word("\\u")) {
            std::optional<uint32_t> low = read_hex4();
            code = 0x10000 + ((*code - 0xd800) << 10) + (low.value_or(0xdc00) & 0x3ff);
        }
        append_utf8(out, *code);
    }

    std::string read_string() {
        ++position_;
        std::string out;
        while (position_ < text_.size() && text_[position_] != '"') {
            if (text_[position_] == '\\') {
                ++position_;
                read_escape(out);
            } else {
                out += text_[position_++];
            }
        }
        if (position_ >= text_.size()) {
            fail("unterminated string");
        } else {
            ++position_;
        }
        return out;
    }

    std::string_view text_;
    size_t position_ = 0;
    std::string error_;
};

}  // namespace

bool Json::boolean(bool fallback) const {
    const bool* value = std::get_if<bool>(&value_);
    return value == nullptr ? fallback : *value;
}

int64_t Json::integer(int64_t fallback) const {
    if (const double* real = std::get_if<double>(&value_)) {
        return std::fabs(*real) < 9e18 ? int64_t(*real) : fallback;
    }
    const int64_t* value = std::get_if<int64_t>(&value_);
    return value == nullptr ? fallback : *value;
}

double Json::number(double fallback) const {
    if (const int64_t* integer = std::get_if<int64_t>(&value_)) {
        return double(*integer);
    }
    const double* value = std::get_if<double>(&value_);
    return value == nullptr ? fallback : *value;
}

std::string Json::text(std::string_view fallback) const {
    const std::string* value = std::get_if<std::string>(&value_);
    return value == nullptr ? std::string(fallback) : *value;
}

const Json::Array& Json::items() const {
    static const Array kEmpty;
    const Array* value = std::get_if<Array>(&value_);
    return value == nullptr ? kEmpty : *value;
}

const Json::Object& Json::members() const {
    static const Object kEmpty;
    const Object* value = std::get_if<Object>(&value_);
    return value == nullptr ? kEmpty : *value;
}

const Json& Json::operator[](std::string_view key) const {
    static const Json kNull;
    for (const auto& [name, value] : members()) {
        if (name == key) {
            return value;
        }
    }
    return kNull;
}

Json& Json::set(std::string_view key, Json value) {
    if (is_null()) {
        value_ = Object{};
    }
    if (auto* object = std::get_if<Object>(&value_)) {
        for (auto& [name, old] : *object) {
            if (name == key) {
                old = std::move(value);
                return *this;
            }
        }
        object->emplace_back(std::string(key), std::move(value));
    }
    return *this;
}

void Json::push(Json value) {
    if (is_null()) {
        value_ = Array{};
    }
    if (auto* array = std::get_if<Array>(&value_)) {
        array->push_back(std::move(value));
    }
}

void Json::write(std::string& out, int indent, int depth) const {
    auto new_line = [&](int level) {
        if (indent >= 0) {
            out += '\n';
            out.append(size_t(indent) * size_t(level), ' ');
        }
    };
    if (is_null()) {
        out += "null";
    } else if (is_bool()) {
        out += boolean() ? "true" : "false";
    } else if (is_int()) {
        out += fmt::format("{}", integer());
    } else if (is_number()) {
        // JSON has no NaN and no infinity.
        out += std::isfinite(number()) ? fmt::format("{}", number()) : "null";
    } else if (is_string()) {
        write_string(out, text());
    } else if (is_array()) {
        out += '[';
        bool flat = items().empty() || (!items()[0].is_object() && !items()[0].is_array());
        for (size_t i = 0; i < items().size(); ++i) {
            out += i == 0 ? "" : flat ? ", " : ",";
            if (!flat) {
                new_line(depth + 1);
            }
            items()[i].write(out, indent, depth + 1);
        }
        if (!flat) {
            new_line(depth);
        }
        out += ']';
    } else {
        out += '{';
        for (size_t i = 0; i < members().size(); ++i) {
            out += i == 0 ? "" : ",";
            new_line(depth + 1);
            write_string(out, members()[i].first);
            out += indent >= 0 ? ": " : ":";
            members()[i].second.write(out, indent, depth + 1);
        }
        if (!members().empty()) {
            new_line(depth);
        }
        out += '}';
    }
}

std::string Json::dump(int indent) const {
    std::string out;
    write(out, indent, 0);
    return out;
}

Result<Json> Json::parse(std::string_view text) {
    return Reader(text).document();
}

}  // namespace leat
