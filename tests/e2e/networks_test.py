#!/usr/bin/env python3
"""Runs `graphbench conformance` over a folder of networks: networks_test.py GRAPHBENCH BACKEND FOLDER

Reads FOLDER under $LEAT_TEST_DATA/models. All networks must pass. Exits with 77 (skipped) where LEAT_TEST_DATA is unset.
"""
import json
import os
import pathlib
import subprocess
import sys

SKIPPED = 77


def main():
    graphbench, backend, folder = sys.argv[1:]
    data = os.environ.get('LEAT_TEST_DATA')
    if not data:
        print('LEAT_TEST_DATA is not set: skipped')
        return SKIPPED
    models = pathlib.Path(data) / 'models' / folder
    command = [graphbench, 'conformance', str(models), '--backend', backend, '--json', '-']
    result = subprocess.run(command, capture_output=True, text=True)
    try:
        report = json.loads(result.stdout)
    except json.JSONDecodeError:
        sys.exit(f'exit {result.returncode}, no JSON:\n{result.stdout[-500:]}{result.stderr[-2000:]}')
    assert report['total'] == report['passed'] + report['failed'] == len(report['tests']), report
    wrong = 0
    for test in report['tests']:
        if test['status'] != 'passed':
            wrong += 1
            print(f"{test['name']}: {test['status']}: {test.get('reason')}")
    print(f"{report['total']} networks, {report['passed']} passed, {wrong} not as expected")
    return 1 if wrong or report['passed'] == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
