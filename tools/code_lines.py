#!/usr/bin/env python3
"""Code lines of the product (src, scheduler, include, benchmarks/graphbench), without blanks and comments, at revisions of git.

code_lines.py REVISION...        by folder
code_lines.py --log FROM..TO     what each commit added
"""
import collections, re, subprocess, sys

FOLDERS = ['src', 'scheduler', 'include', 'benchmarks/graphbench']
# A raw string comes first where it begins: its R stands before the quote that would begin a plain one.
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|R"([^(]*)\(.*?\)\1"', re.S)
known = {}


def git(*words, given=None):
    return subprocess.run(['git', *words], input=given, capture_output=True, check=True).stdout


def code_lines(text):
    def kept(match):
        comment = match[0].startswith(('//', '/*'))
        return '\n' * match[0].count('\n') if comment else match[0]
    return sum(1 for line in HIDDEN.sub(kept, text).splitlines() if line.strip())


def count(revision):
    rows = [line.split('\t') for line in git('ls-tree', '-r', revision, '--', *FOLDERS).decode().splitlines()]
    blobs = [(meta.split()[2], name) for meta, name in rows if name.endswith(('.h', '.cpp'))]
    wanted = sorted({blob for blob, _ in blobs} - known.keys())
    data, at = git('cat-file', '--batch', given='\n'.join(wanted).encode() + b'\n') if wanted else b'', 0
    for blob in wanted:
        begin = data.index(b'\n', at) + 1
        at = begin + int(data[at:begin].split()[2]) + 1
        known[blob] = code_lines(data[begin:at - 1].decode())
    lines = collections.Counter()
    for blob, name in blobs:
        parts = name.split('/')
        lines['/'.join(parts[:2]) if parts[0] in ('src', 'benchmarks') else parts[0]] += known[blob]
    return lines


def main(words):
    if words[:1] == ['--log'] and len(words) == 2:
        before = sum(count(words[1].split('..')[0]).values())
        for revision in git('rev-list', '--reverse', words[1]).decode().split():
            lines = sum(count(revision).values())
            print(f'{lines - before:+6d} {lines:7d}  ' + git('log', '-1', '--format=%h %s', revision).decode().strip())
            before = lines
        return 0
    if not words or words[0].startswith('-'):
        print(__doc__)
        return 2
    tables = [count(word) for word in words]
    print(f'{"":28}' + ''.join(f'{word[:12]:>13}' for word in words))
    for folder in sorted(set().union(*tables)):
        print(f'{folder:28}' + ''.join(f'{table[folder]:13}' for table in tables))
    print(f'{"all":28}' + ''.join(f'{sum(table.values()):13}' for table in tables))
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
