#!/usr/bin/env python3
"""Prints unicode_groups.cpp: Unicode's general categories, as this Python's unicodedata has them, and its scripts, as the
perl beside it has them, which has to know the same Unicode.

python3 src/ops/strings/unicode_groups.py > src/ops/strings/unicode_groups.cpp
"""
import subprocess, sys, unicodedata

LAST = 0x10ffff
# A row is a number: where a run of characters begins, and the group's number in the low bits.
CATEGORY_BITS, SCRIPT_BITS = 5, 8
PERL = r'''
use Unicode::UCD qw(charprop charblocks prop_invmap);
print Unicode::UCD::UnicodeVersion(), "\n";
my ($starts, $scripts, $format, $default) = prop_invmap("Script");
print "$starts->[$_] $scripts->[$_]\n" for 0 .. $#$starts;
'''


def runs_of(group_of):
    runs = []
    for code in range(LAST + 1):
        group = group_of(code)
        if not runs or runs[-1][1] != group:
            runs.append((code, group))
    return runs


def scripts():
    lines = subprocess.run(['perl', '-e', PERL], check=True, capture_output=True, text=True).stdout.splitlines()
    if lines[0] != unicodedata.unidata_version:
        sys.exit(f'perl knows Unicode {lines[0]}, Python {unicodedata.unidata_version}')
    runs = []
    for line in lines[1:]:
        start, script = line.split()
        if int(start) <= LAST and (not runs or runs[-1][1] != script):
            runs.append((int(start), script))
    return runs


def rows(runs, names, bits):
    numbers = [start << bits | names.index(group) for start, group in runs]
    texts = [f'{number:#x},' for number in numbers]
    lines, line = [], ''
    for text in texts:
        if len(line) + 1 + len(text) > 116:
            lines.append(line)
            line = ''
        line += (' ' if line else '') + text
    return '\n'.join('    ' + line for line in lines + [line])


def name_rows(names):
    lines, line = [], ''
    for name in names:
        text = f'"{name}",'
        if len(line) + 1 + len(text) > 116:
            lines.append(line)
            line = ''
        line += (' ' if line else '') + text
    return '\n'.join('    ' + line for line in lines + [line])


category_runs = runs_of(lambda code: unicodedata.category(chr(code)))
script_runs = scripts()
# RE2 has no name for what is not assigned: its row has none either.
categories = sorted({group for _, group in category_runs} - {'Cn'}) + ['Cn']
script_names = sorted({group for _, group in script_runs} - {'Unknown'}) + ['Unknown']

print(f"""\
// Generated: python3 src/ops/strings/unicode_groups.py. Unicode {unicodedata.unidata_version}.
#include <span>

#include "ops/strings/character_classes.h"

namespace leat {{
namespace {{

// Names by number. The last one is of what has none.
// clang-format off
constexpr std::string_view kCategories[] = {{
{name_rows(categories)}
}};
constexpr std::string_view kScripts[] = {{
{name_rows(script_names)}
}};
// A number for each run of characters, ascending: the first one, and the group's number below it.
constexpr unsigned kCategoryBits = {CATEGORY_BITS};
constexpr uint32_t kCategoryRuns[] = {{
{rows(category_runs, categories, CATEGORY_BITS)}
}};
constexpr unsigned kScriptBits = {SCRIPT_BITS};
constexpr uint32_t kScriptRuns[] = {{
{rows(script_runs, script_names, SCRIPT_BITS)}
}};
// clang-format on

struct RunTable {{
    std::span<const uint32_t> runs;
    std::span<const std::string_view> names;
    unsigned bits;
}};

// is_wanted: of a group's name. True if there is such a group.
template <class IsWanted>
bool add_runs(const RunTable& table, const IsWanted& is_wanted, CharacterClass& to) {{
    bool found = false;
    for (size_t i = 0; i < table.runs.size(); ++i) {{
        const uint32_t run = table.runs[i];
        const size_t group = run & ((1U << table.bits) - 1);
        if (group + 1 < table.names.size() && is_wanted(table.names[group])) {{
            const bool is_last = i + 1 == table.runs.size();
            to.add(run >> table.bits,
                   is_last ? kLastCharacter : (table.runs[i + 1] >> table.bits) - 1);
            found = true;
        }}
    }}
    return found;
}}

}}  // namespace

bool add_category(std::string_view name, CharacterClass& to) {{
    // "L" are all whose names begin so.
    const auto is_wanted = [name](std::string_view category) {{
        return category == name || (name.size() == 1 && category[0] == name[0]);
    }};
    return add_runs({{kCategoryRuns, kCategories, kCategoryBits}}, is_wanted, to);
}}

bool add_script(std::string_view name, CharacterClass& to) {{
    const auto is_wanted = [name](std::string_view script) {{ return script == name; }};
    return add_runs({{kScriptRuns, kScripts, kScriptBits}}, is_wanted, to);
}}

}}  // namespace leat""")
