// Numbers to text and back.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "base/float_formats.h"
#include "base/trimmed.h"
#include "ops/cast/cast.h"

namespace leat {
namespace {

// Decimal digits d1 d2 ... dn and the exponent of d1: 0.0123 is {"123", -2}.
struct Digits {
    std::string digits;
    int exponent = 0;
};

Digits split_scientific(std::string_view text) {  // "1.23e-02", of a positive number
    Digits result;
    const size_t e = text.find('e');
    for (const char c : text.substr(0, e)) {
        if (c != '.') {
            result.digits.push_back(c);
        }
    }
    const bool negative = text[e + 1] == '-';
    std::from_chars(text.data() + e + 2, text.data() + text.size(), result.exponent);
    result.exponent = negative ? -result.exponent : result.exponent;
    return result;
}

template <class T>
Digits shortest_digits(T magnitude) {
    std::array<char, 40> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), magnitude,
                                   std::chars_format::scientific);
    return split_scientific({buffer.data(), size_t(end.ptr - buffer.data())});
}

// The fewest digits that round to the same half-precision number; 5 always do.
Digits shortest_half_digits(float magnitude) {
    const uint16_t bits = to_float16(magnitude).bits;
    std::array<char, 40> buffer{};
    for (int precision = 0; precision < 5; ++precision) {
        char* const begin = buffer.data();
        const auto end = std::to_chars(begin, begin + buffer.size(), magnitude,
                                       std::chars_format::scientific, precision);
        float parsed = 0;
        std::from_chars(begin, end.ptr, parsed);
        if (to_float16(parsed).bits == bits) {
            Digits digits = split_scientific({begin, size_t(end.ptr - begin)});
            while (digits.digits.size() > 1 && digits.digits.back() == '0') {
                digits.digits.pop_back();
            }
            return digits;
        }
    }
    return shortest_digits(magnitude);
}

// numpy's choice: positional from 1e-4 to 1e16, always with a point; else scientific, two exponent
// digits.
std::string layout_digits(bool negative, const Digits& number) {
    const auto& [digits, exponent] = number;
    std::string text = negative ? "-" : "";
    if (exponent < -4 || exponent >= 16) {
        text += digits[0];
        if (digits.size() > 1) {
            text += "." + digits.substr(1);
        }
        return text + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
    }
    if (exponent < 0) {
        return text + "0." + std::string(size_t(-exponent - 1), '0') + digits;
    }
    const auto whole = size_t(exponent) + 1;
    if (digits.size() <= whole) {
        return text + digits + std::string(whole - digits.size(), '0') + ".0";
    }
    return text + digits.substr(0, whole) + "." + digits.substr(whole);
}

std::string real_to_string(DType dtype, double value) {
    if (std::isnan(value)) {
        return "nan";
    }
    const bool negative = std::signbit(value);
    if (std::isinf(value)) {
        return negative ? "-inf" : "inf";
    }
    const double magnitude = std::fabs(value);
    if (magnitude == 0) {
        return negative ? "-0.0" : "0.0";
    }
    const Digits digits = dtype == DType::kFloat64   ? shortest_digits(magnitude)
                          : dtype == DType::kFloat16 ? shortest_half_digits(float(magnitude))
                                                     : shortest_digits(float(magnitude));
    return layout_digits(negative, digits);
}

bool equals_ignoring_case(std::string_view a, std::string_view lower_case) {
    return std::equal(a.begin(), a.end(), lower_case.begin(), lower_case.end(), [](char x, char y) {
        return (x >= 'A' && x <= 'Z' ? char(x - 'A' + 'a') : x) == y;
    });
}

// The whole of `text` as a T. A number beyond T's range parses as infinity or zero, which
// from_chars leaves unset: strtod's rule.
template <class T>
bool parse(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
}

bool parse_double(std::string_view text, double& value) {
    if (parse(text, value)) {
        return true;
    }
    double sink = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), sink);
    if (error != std::errc::result_out_of_range || end != text.data() + text.size()) {
        return false;
    }
    const size_t e = text.find_first_of("eE");
    const bool tiny = e != std::string_view::npos && e + 1 < text.size() && text[e + 1] == '-';
    value = std::copysign(tiny ? 0.0 : HUGE_VAL, text.front() == '-' ? -1.0 : 1.0);
    return true;
}

}  // namespace

std::string element_to_string(DType dtype, const std::byte* data, int64_t index) {
    if (dtype == DType::kString) {
        return reinterpret_cast<const std::string*>(data)[index];
    }
    if (dtype == DType::kBool) {
        return load_integer(dtype, data, index) != 0 ? "True" : "False";
    }
    if (contains(kFloatTypes | kSmallFloatTypes, dtype)) {
        return real_to_string(dtype, load_real(dtype, data, index));
    }
    const int64_t value = load_integer(dtype, data, index);
    return dtype == DType::kUint64 ? std::to_string(uint64_t(value)) : std::to_string(value);
}

bool string_to_element(std::string_view text,
                       DType dtype,
                       std::byte* data,
                       int64_t index,
                       const NarrowOptions& options) {
    text = trimmed(text);
    if (!text.empty() && text.front() == '+') {
        text.remove_prefix(1);
        if (!text.empty() && (text.front() == '-' || text.front() == '+')) {
            return false;
        }
    }
    if (dtype == DType::kBool &&
        (equals_ignoring_case(text, "true") || equals_ignoring_case(text, "false"))) {
        store_integer(dtype, data, index, text.size() == 4 ? 1 : 0);
        return true;
    }
    if (float narrow = 0; dtype == DType::kFloat32 && parse(text, narrow)) {
        store_real(dtype, data, index, double(narrow));  // rounded once
        return true;
    }
    if (!contains(kFloatTypes | kSmallFloatTypes, dtype)) {
        int64_t integer = 0;
        uint64_t natural = 0;
        if (parse(text, integer) || parse(text, natural)) {
            store_integer(dtype, data, index, integer != 0 ? integer : int64_t(natural));
            return true;
        }
    }
    double value = 0;
    if (!parse_double(text, value)) {
        return false;
    }
    store_real(dtype, data, index, value, options);
    return true;
}

}  // namespace leat
