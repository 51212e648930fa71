#!/usr/bin/env python3
"""Prints case_mappings.cpp: Unicode's simple case mappings, as this Python's unicodedata has them.

python3 src/ops/string_normalizer/case_mappings.py > src/ops/string_normalizer/case_mappings.cpp
"""
import unicodedata


def simple_lower(letter):
    # str.lower() is the full mapping; what U+0130 has beyond its simple one is a dot that combines.
    return letter.lower()[0]


def simple_upper(letter):
    # Where the full mapping has several characters, the simple one is the title case if that has one character
    # (Greek with an iota below), or none (sharp s, ligatures).
    for mapped in (letter.upper(), letter.title()):
        if len(mapped) == 1:
            return mapped
    return letter


def ranges_of(mapping):
    """[first, last, step, delta]: every step-th code from first to last maps to itself plus delta."""
    ranges = []
    for code in range(0x110000):
        is_surrogate = 0xD800 <= code < 0xE000
        delta = 0 if is_surrogate else ord(mapping(chr(code))) - code
        if delta == 0:
            continue
        if ranges and ranges[-1][3] == delta:
            first, last, step, _ = ranges[-1]
            gap = code - last
            if gap == step or (first == last and gap <= 2):
                ranges[-1] = [first, code, gap, delta]
                continue
        ranges.append([code, code, 1, delta])
    return ranges


def table(name, ranges):
    rows = "".join(f"    {{0x{first:04x}, 0x{last:04x}, {step}, {delta}}},\n" for first, last, step, delta in ranges)
    return f"constexpr CaseRange {name}[] = {{\n{rows}}};\n"


print(f"""\
// Generated: python3 src/ops/string_normalizer/case_mappings.py. Unicode {unicodedata.unidata_version}.
#include "ops/string_normalizer/case_mappings.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

namespace leat {{
namespace {{

// Every step-th code from first to last maps to itself plus delta. Ascending.
struct CaseRange {{
    char32_t first;
    char32_t last;
    int step;
    int delta;
}};

// clang-format off
{table("kLowerCase", ranges_of(simple_lower))}
{table("kUpperCase", ranges_of(simple_upper))}\
// clang-format on

char32_t mapped_by(std::span<const CaseRange> ranges, char32_t code) {{
    const auto after =
        std::upper_bound(ranges.begin(), ranges.end(), code,
                         [](char32_t c, const CaseRange& range) {{ return c < range.first; }});
    if (after == ranges.begin()) {{
        return code;
    }}
    const CaseRange& range = *std::prev(after);
    const bool is_in = code <= range.last && (code - range.first) % char32_t(range.step) == 0;
    return is_in ? char32_t(int32_t(code) + range.delta) : code;
}}

}}  // namespace

char32_t to_lower_case(char32_t code) {{
    return mapped_by(kLowerCase, code);
}}

char32_t to_upper_case(char32_t code) {{
    return mapped_by(kUpperCase, code);
}}

}}  // namespace leat""")
