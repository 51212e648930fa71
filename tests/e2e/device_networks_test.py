#!/usr/bin/env python3
"""Runs `graphbench check` on networks on a device:
device_networks_test.py GRAPHBENCH PLUGIN DEVICES [BACKEND.NAME=VALUE...] FOLDER...

With these settings of backends. Reads each FOLDER under $LEAT_TEST_DATA/models. Exits with 77 (skipped) where LEAT_TEST_DATA is unset, or the machine has no
such device.
"""
import os
import pathlib
import subprocess
import sys

SKIPPED = 77
DEVICE_MISSING = 6


def main():
    graphbench, plugin, devices, *words = sys.argv[1:]
    folders = [word for word in words if '=' not in word]
    settings = [f'--backend-setting={word}' for word in words if '=' in word]
    data = os.environ.get('LEAT_TEST_DATA')
    if not data:
        print('LEAT_TEST_DATA is not set: skipped')
        return SKIPPED
    failed = 0
    for folder in folders:
        command = [graphbench, 'check', str(pathlib.Path(data) / 'models' / folder), '--device', devices,
                   '--fallback', 'warn', '--backend-path', plugin, *settings]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode == DEVICE_MISSING:
            print(result.stderr)
            return SKIPPED
        if result.returncode != 0:
            failed += 1
            print(f'{folder}: exit {result.returncode}\n{result.stdout[-1500:]}{result.stderr[-1500:]}')
    print(f'{len(folders)} networks on {devices}, {failed} failed')
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
