#!/usr/bin/env python3
"""libleat.so exports what library_exports.txt lists, and nothing else.
Arguments: the library, the list; --renew writes the list.

The list has what every compiler exports alike, at every level of optimization: functions and objects that one file defines.
Weak symbols are left out (inline functions, instantiated templates, and the tables and type names of classes without a first
virtual function in a source file): which of them are there depends on what the compiler inlined. Members of the private
classes called Impl are left out too: they have their outer class's visibility, and no header lets a program call them.
"""
import pathlib
import re
import subprocess
import sys

WEAK = 'VWuvw'
ABSOLUTE = 'A'  # names of versions

# Shorter to read.
SHORT = {
    'std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >': 'std::string',
    'std::basic_string_view<char, std::char_traits<char> >': 'std::string_view',
}


def shortened(name):
    for long, short in SHORT.items():
        name = name.replace(long, short)
    while '> >' in name:
        name = name.replace('> >', '>>')
    return name


def exported(library):
    lines = subprocess.run(['nm', '-D', '-C', '--defined-only', library], check=True, capture_output=True,
                           text=True).stdout.splitlines()
    names = set()
    for line in lines:
        _, kind, name = line.split(' ', 2)
        if kind not in WEAK + ABSOLUTE and not re.match(r'leat::(\w+::)*Impl::', name):
            names.add(shortened(name))
    return names


def main():
    library, path = sys.argv[1:3]
    now = exported(library)
    if sys.argv[3:] == ['--renew']:
        pathlib.Path(path).write_text(''.join(f'{name}\n' for name in sorted(now)))
        return 0
    listed = pathlib.Path(path).read_text().splitlines()
    failed = listed != sorted(set(listed))
    if failed:
        print(f'{path} is not sorted, or has a line twice')
    for what, names in [('exported, but not listed', now - set(listed)), ('listed, but not exported', set(listed) - now)]:
        for name in sorted(names):
            failed = True
            print(f'{what}: {name}')
    if failed:
        print('If that is meant, renew the list:')
        print(f'  python3 {sys.argv[0]} {library} {path} --renew')
    print(f'{len(now)} symbols looked at')
    return 1 if failed or not now else 0


if __name__ == '__main__':
    sys.exit(main())
