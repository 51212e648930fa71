#include "trace/chrome_trace.h"

#include <fmt/core.h>

#include <iterator>

namespace leat {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

bool is_continuation(unsigned char byte) {
    return (byte & 0xC0) == 0x80;
}

// Bytes of the UTF-8 character at the start of `text`; 0 where there is none (RFC 3629: no
// overlong forms, no surrogates, nothing above U+10FFFF).
size_t utf8_length(std::string_view text) {
    const auto byte = [&](size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    const unsigned char lead = byte(0);
    if (lead < 0x80) {
        return 1;
    }
    const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4) {
        return 0;
    }
    for (size_t i = 1; i < length; ++i) {
        if (!is_continuation(byte(i))) {
            return 0;
        }
    }
    const bool is_overlong = (lead == 0xE0 && byte(1) < 0xA0) || (lead == 0xF0 && byte(1) < 0x90);
    const bool is_surrogate = lead == 0xED && byte(1) >= 0xA0;
    const bool is_too_large = lead == 0xF4 && byte(1) >= 0x90;
    return is_overlong || is_surrogate || is_too_large ? 0 : length;
}

// Chrome's unit is the microsecond; three decimals keep the nanoseconds.
std::string microseconds(int64_t ns) {
    const int64_t whole = ns / 1000;
    const int64_t rest = ns % 1000;
    return fmt::format("{}{}.{:03}", ns < 0 && whole == 0 ? "-" : "", whole,
                       rest < 0 ? -rest : rest);
}

}  // namespace

std::string json_string(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text.front());
        const size_t length = utf8_length(text);
        if (length == 0) {
            out += kReplacement;
        } else if (first == '"' || first == '\\') {
            out += '\\';
            out += char(first);
        } else if (first < 0x20 || first == 0x7F) {
            fmt::format_to(std::back_inserter(out), "\\u{:04x}", unsigned(first));
        } else {
            out += text.substr(0, length);
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    out += '"';
    return out;
}

ChromeTrace::ChromeTrace(std::string_view process_name) {
    fmt::format_to(std::back_inserter(events_),
                   R"({{"name":"process_name","ph":"M","pid":1,"args":{{"name":{}}}}})",
                   json_string(process_name));
}

void ChromeTrace::name_thread(int32_t thread, std::string_view name) {
    fmt::format_to(std::back_inserter(events_),
                   ",\n"
                   R"({{"name":"thread_name","ph":"M","pid":1,"tid":{},"args":{{"name":{}}}}})",
                   thread, json_string(name));
}

void ChromeTrace::add(std::string_view name,
                      std::string_view category,
                      int32_t thread,
                      int64_t begin_ns,
                      int64_t end_ns,
                      std::string_view detail) {
    const std::string args =
        detail.empty() ? "" : fmt::format(R"(,"args":{{"detail":{}}})", json_string(detail));
    fmt::format_to(std::back_inserter(events_),
                   ",\n"
                   R"({{"name":{},"cat":{},"ph":"X","pid":1,"tid":{},"ts":{},"dur":{}{}}})",
                   json_string(name), json_string(category), thread, microseconds(begin_ns),
                   microseconds(end_ns - begin_ns), args);
}

void ChromeTrace::add_arrow(
    std::string_view name, int32_t from_thread, int64_t from_ns, int32_t to_thread, int64_t to_ns) {
    const int64_t id = arrows_++;
    const auto add_end = [&](std::string_view phase, int32_t thread, int64_t at_ns) {
        fmt::format_to(std::back_inserter(events_),
                       ",\n"
                       R"({{"name":{},"cat":"flow",{},"id":{},"pid":1,"tid":{},"ts":{}}})",
                       json_string(name), phase, id, thread, microseconds(at_ns));
    };
    add_end(R"("ph":"s")", from_thread, from_ns);
    add_end(R"("ph":"f","bp":"e")", to_thread, to_ns);
}

void ChromeTrace::add_counters(std::string_view name,
                               int64_t at_ns,
                               std::span<const std::pair<std::string, int64_t>> counters) {
    std::string args;
    for (const auto& [counter, value] : counters) {
        fmt::format_to(std::back_inserter(args), "{}{}:{}", args.empty() ? "" : ",",
                       json_string(counter), value);
    }
    fmt::format_to(std::back_inserter(events_),
                   ",\n"
                   R"({{"name":{},"ph":"C","pid":1,"ts":{},"args":{{{}}}}})",
                   json_string(name), microseconds(at_ns), args);
}

void ChromeTrace::add_note(std::string_view key, std::string_view text) {
    fmt::format_to(std::back_inserter(notes_), "{}{}:{}", notes_.empty() ? "" : ",",
                   json_string(key), json_string(text));
}

std::string ChromeTrace::json() const {
    std::string out = "{\"traceEvents\":[\n";
    out += events_;
    out += "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{";
    out += notes_;
    out += "}}\n";
    return out;
}

}  // namespace leat
