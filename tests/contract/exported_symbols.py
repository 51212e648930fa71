#!/usr/bin/env python3
"""A backend's shared object exports one symbol. Arguments: the files."""
import subprocess
import sys


def exported(path):
    lines = subprocess.run(['nm', '-D', '--defined-only', '--format=posix', path],
                           check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[0] for line in lines]


def main():
    paths = sys.argv[1:]
    failed = False
    for path in paths:
        symbols = exported(path)
        if symbols != ['leat_backend_query']:
            print(f'{path} exports {len(symbols)} symbols: {symbols[:10]}')
            failed = True
    print(f'{len(paths)} files looked at')
    return 1 if failed or not paths else 0


if __name__ == '__main__':
    sys.exit(main())
