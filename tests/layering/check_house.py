#!/usr/bin/env python3
"""Holds the house rules of src and scheduler: files that one can read, folders that one can overlook, one name for one type."""
import collections
import pathlib
import re
import sys

MOST_LINES = 600
MOST_FILES = 45
SUFFIXES = ('.h', '.cpp')
# In this order: what hides braces and names, then what opens and closes a scope.
HIDDEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#(?:\\\n|[^\n])*', re.S | re.M)
TOKEN = re.compile(r'\b(?:inline\s+)?namespace\s+((?:\w+(?:\s*::\s*\w+)*)?)\s*\{'
                   r'|\b(?:enum\s+(?:class\s+|struct\s+)?|class\s+|struct\s+|union\s+)(?:alignas\([^)]*\)\s*)?(\w+)(?:\s+final)?'
                   r'(?:\s*:\s*[^;{}()]*)?\s*\{'
                   r'|[{}]')


def types_of(text):
    """(namespace, name) of each type that a named namespace has; none of anonymous ones, of Highway's targets, or inside of a type."""
    found, scopes = [], []  # a scope is the name of a namespace, '' if nobody outside sees into it, None if it is none
    for match in TOKEN.finditer(HIDDEN.sub(' ', text)):
        if match[0] == '}':
            if scopes:
                scopes.pop()
        elif match[1] is not None:
            name = re.sub(r'\s', '', match[1])
            scopes.append('' if 'HWY_NAMESPACE' in name else name)
        else:
            if match[2] and all(scopes):
                found.append(('::'.join(scopes), match[2]))
            scopes.append(None)
    return found


def check(root):
    errors = []
    files = [p for folder in ('src', 'scheduler') for p in sorted((root / folder).rglob('*')) if p.is_file()]
    for folder, count in sorted(collections.Counter(p.parent for p in files).items()):
        if count > MOST_FILES:
            errors.append(f'{folder.relative_to(root)}: {count} files, at most {MOST_FILES}: divide it where a reader would')
    places = collections.defaultdict(lambda: collections.defaultdict(set))
    for path in files:
        if path.suffix not in SUFFIXES:
            continue
        text = path.read_text()
        lines = text.count('\n')
        if lines > MOST_LINES:
            errors.append(f'{path.relative_to(root)}: {lines} lines, at most {MOST_LINES}')
        if 'include' not in path.relative_to(root).parts:
            for namespace, name in types_of(text):
                places[name][namespace].add(str(path.relative_to(root)))
    for name, namespaces in sorted(places.items()):
        if len(namespaces) > 1:
            where = ', '.join(f'{namespace} ({min(paths)})' for namespace, paths in sorted(namespaces.items()))
            errors.append(f'{name}: one name for types of several namespaces: {where}')
    return len(files), errors


def main():
    count, errors = check(pathlib.Path(sys.argv[1]))
    for error in errors:
        print(error)
    print(f'{count} files, {len(errors)} breaches')
    return 1 if errors or count == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
