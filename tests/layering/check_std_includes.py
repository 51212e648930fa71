#!/usr/bin/env python3
"""Finds names of the standard library whose header a file has from no header of the project, itself included.

What another standard header brings along differs between releases of the library: what compiles with one need not with the next.
"""
import functools
import pathlib
import re
import sys

from check_layers import INCLUDE

# Names -> their header. Those that any of several headers must declare by the standard are not here.
NAMES = {
    'algorithm': r'std::(sort|stable_sort|partial_sort|nth_element|find_if|find_if_not|any_of|all_of|none_of|count_if|count|max_element|'
                 r'min_element|minmax_element|clamp|max|min|lower_bound|upper_bound|equal_range|binary_search|reverse|rotate|unique|'
                 r'remove_if|remove|replace|fill|fill_n|transform|copy_if|copy_n|generate|equal|lexicographical_compare|includes|'
                 r'set_difference|set_intersection|set_union|merge|partition_point|partition|stable_partition|is_sorted|shuffle|'
                 r'next_permutation|push_heap|pop_heap|make_heap|search|adjacent_find|mismatch|for_each)\s*\(',
    'array': r'std::array\s*<',
    'atomic': r'std::(atomic|atomic_ref)\s*<|std::memory_order',
    'charconv': r'std::(from_chars|to_chars)\b',
    'chrono': r'std::chrono::',
    'cmath': r'std::(isfinite|isnan|isinf|floor|ceil|round|nearbyint|lround|sqrt|exp|log|log2|pow|fabs|tanh|erf|fmod|ldexp|frexp|hypot)\s*\(',
    'condition_variable': r'std::condition_variable\b',
    'cstdint': r'(?<![\w:])(std::)?(u?int(8|16|32|64)_t|u?intptr_t)\b',
    'cstdlib': r'std::(getenv|abort|exit|strtol|strtod|strtoull|malloc|free|aligned_alloc)\b',
    'cstring': r'std::(memcpy|memset|memmove|memcmp|strlen|strcmp|strerror|strchr)\b',
    'deque': r'std::deque\s*<',
    'filesystem': r'std::filesystem\b',
    'fstream': r'std::(ifstream|ofstream|fstream)\b',
    'functional': r'std::(function\s*<|reference_wrapper\s*<|bind_front|greater\s*<|hash\s*<)',
    'limits': r'std::numeric_limits\b',
    'map': r'std::(multi)?map\s*<',
    'memory': r'std::(unique_ptr|shared_ptr|weak_ptr|make_unique|make_shared|enable_shared_from_this)\b',
    'mutex': r'std::(mutex|lock_guard|unique_lock|scoped_lock|once_flag|call_once)\b',
    'numeric': r'std::(accumulate|partial_sum|iota|gcd|lcm|reduce|inner_product|exclusive_scan|inclusive_scan)\s*\(',
    'optional': r'std::(optional\s*<|nullopt)',
    'queue': r'std::(queue|priority_queue)\s*<',
    'random': r'std::(mt19937|mt19937_64|minstd_rand|uniform_\w+_distribution|normal_distribution|random_device)\b',
    'set': r'std::(multi)?set\s*<',
    'span': r'std::(span\s*<|as_bytes|as_writable_bytes)',
    'sstream': r'std::(i|o)?stringstream\b',
    'string': r'std::(string\b|to_string|getline)',
    'string_view': r'std::string_view\b',
    'thread': r'std::(thread\b|this_thread)',
    'tuple': r'std::(tuple\s*<|tie\s*\(|make_tuple)',
    'unordered_map': r'std::unordered_map\s*<',
    'unordered_set': r'std::unordered_set\s*<',
    'utility': r'std::(exchange|swap|pair\s*<|as_const)\b',
    'variant': r'std::(variant\s*<|get_if|monostate|visit)',
    'vector': r'std::vector\s*<',
}
NAMES = {header: re.compile(names) for header, names in NAMES.items()}
# Headers that bring others by the standard's word, or are the C library's own.
BRINGS = {
    'stdint.h': {'cstdint'},
    'cinttypes': {'cstdint'},
    'inttypes.h': {'cstdint'},
    'string.h': {'cstring'},
    'string': {'string_view'},
    'map': {'utility'}, 'unordered_map': {'utility'}, 'tuple': {'utility'}, 'variant': {'utility'}, 'array': {'utility'},
}
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
FOLDERS = ('include', 'scheduler', 'src', 'tests', 'benchmarks', 'docs')


class Checker:
    def __init__(self, root):
        self.root = root
        self.places = [root / folder for folder in ('include', 'scheduler/include', 'scheduler/src', 'src', 'src/ops', 'tests', 'benchmarks')]

    @functools.lru_cache(maxsize=None)
    def text(self, path):
        return path.read_text()

    def find(self, target, beside):
        for folder in [beside.parent, *self.places]:
            if (folder / target).is_file():
                return (folder / target).resolve()
        return None

    @functools.lru_cache(maxsize=None)
    def headers(self, path):
        """The standard headers that this file includes, itself or by headers of the project."""
        found, seen, waiting = set(), set(), [path]
        while waiting:
            at = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            for _, target in INCLUDE.findall(self.text(at)):
                header = self.find(target, at)
                if header:
                    waiting.append(header)
                else:
                    found |= {target} | BRINGS.get(target, set())
        return found

    def check(self, path):
        text = self.text(path)
        headers = self.headers(path.resolve())
        code = NOT_CODE.sub(lambda match: re.sub(r'[^\n]', ' ', match.group(0)), text)
        for header, names in NAMES.items():
            if header not in headers and (match := names.search(code)):
                line = code.count('\n', 0, match.start()) + 1
                yield f'{path.relative_to(self.root)}:{line}: {match.group(0).strip()} without <{header}>'


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    checker = Checker(root)
    sources = [path for folder in FOLDERS for path in sorted((root / folder).rglob('*')) if path.suffix in ('.h', '.cpp')]
    errors = [error for path in sources for error in checker.check(path)]
    print(*errors, sep='\n', end='\n' if errors else '')
    print(f'{len(sources)} files, {len(errors)} names without their header')
    return 1 if errors or not sources else 0


if __name__ == '__main__':
    sys.exit(main())
