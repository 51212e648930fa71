#!/usr/bin/env python3
"""Compile time and memory of large graphs, by the number of nodes, and beside ONNX Runtime's session creation.

    compile_time.py --program BUILD/benchmarks/micro/compile_time [--before OTHER] [--sizes 1000,10000,30000,100000]
                    [--threads 1,2] [--rounds 5] [--families chain,fan,ladder,recurrence] [--limit-s 60] [--no-peer] [--json FILE]

Each measurement is a process of its own; a round has one of each, and rounds follow one another, so that a disturbance meets
all alike. Medians of user CPU seconds and of all CPU seconds (of all threads), and of the growth of the peak of resident memory.
Exponents are the slopes of log(seconds) over log(nodes) from 10,000 nodes on, by least squares. User seconds are counted in the
system's ticks, so those of 10,000 nodes are a few ticks, more or less; all CPU seconds are exact. --before: the program of another build, in the same
rounds. What takes longer than --limit-s is stopped, and not tried again at this size or above. The peer is measured where
Python finds onnxruntime: user CPU of InferenceSession(file) with as many threads, imports and start left out.
"""
import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

PEER = """
import resource, sys, json, time
import onnxruntime
def kib(field):
    for line in open('/proc/self/status'):
        if line.startswith(field):
            return int(line.split()[1])
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = int(sys.argv[2])
options.log_severity_level = 3
before = kib('VmRSS:')
cpu = time.process_time()
start = resource.getrusage(resource.RUSAGE_SELF).ru_utime
session = onnxruntime.InferenceSession(sys.argv[1], options, providers=['CPUExecutionProvider'])
end = resource.getrusage(resource.RUSAGE_SELF).ru_utime
print(json.dumps({'user_s': end - start, 'cpu_s': time.process_time() - cpu, 'peak_kib': kib('VmHWM:') - before}))
"""

TIMES = ('user_s', 'cpu_s')


def has_peer():
    return subprocess.run([sys.executable, '-c', 'import onnxruntime'], capture_output=True).returncode == 0


def measure(command, limit_s):
    """None: it was stopped, or failed, which is told."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit_s)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        print(f'{command[0]}: {done.stderr.strip()}', file=sys.stderr)
        return None
    return json.loads(done.stdout.strip().splitlines()[-1])


def exponent(points):
    """Of user_s ~ nodes^e, by least squares; None with fewer than two points."""
    logs = [(math.log(nodes), math.log(max(seconds, 1e-4))) for nodes, seconds in points]
    if len(logs) < 2:
        return None
    mean_x = sum(x for x, _ in logs) / len(logs)
    mean_y = sum(y for _, y in logs) / len(logs)
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def numbers(text):
    return [int(word) for word in text.split(',')]


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--program', required=True)
    parser.add_argument('--before')
    parser.add_argument('--sizes', type=numbers, default=[1000, 10000, 30000, 100000])
    parser.add_argument('--threads', type=numbers, default=[1, 2])
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--families', default='chain,fan,ladder,recurrence')
    parser.add_argument('--limit-s', type=float, default=60)
    parser.add_argument('--no-peer', action='store_true')
    parser.add_argument('--json')
    return parser.parse_args()


def run_rounds(own, cases, runners):
    """Lists of results by (runner, case); empty where something was stopped."""
    results = {(name, case): [] for name in runners for case in cases}
    stopped = set()  # (runner, family, threads)
    for round_number in range(own.rounds):
        for case in cases:
            family, _, threads = case
            for name, command_of in runners.items():
                if (name, family, threads) in stopped and not results[name, case]:
                    continue
                result = measure(command_of(case), own.limit_s)
                if result is None:
                    stopped.add((name, family, threads))
                else:
                    results[name, case].append(result)
        print(f'round {round_number + 1} of {own.rounds}', file=sys.stderr, flush=True)
    return results


def median(results, field):
    found = [result[field] for result in results if field in result]
    return statistics.median(found) if found else None


def table(own, families, runners, results):
    def text(value, digits):
        return '-' if value is None else f'{value:.{digits}f}'

    rows = []
    print('| graph | threads | nodes | ' + ' | '.join(f'{name} user s | CPU s | KiB a node' for name in runners) + ' |')
    print('|---|---|---|' + '---|---|---|' * len(runners))
    for family in families:
        for threads in own.threads:
            points = {(name, field): [] for name in runners for field in TIMES}
            for size in own.sizes:
                cells = []
                for name in runners:
                    found = results[name, (family, size, threads)]
                    times = {field: median(found, field) for field in TIMES}
                    peak_kib = median(found, 'peak_kib')
                    for field, seconds in times.items():
                        if seconds is not None and size >= 10000:
                            points[name, field].append((size, seconds))
                    cells += [text(seconds, 4) for seconds in times.values()]
                    cells.append(text(None if peak_kib is None else peak_kib / size, 2))
                    rows.append({'family': family, 'threads': threads, 'nodes': size, 'runner': name, **times,
                                 'peak_kib': peak_kib, 'rounds': found})
                print(f'| {family} | {threads} | {size} | ' + ' | '.join(cells) + ' |')
            cells = []
            for name in runners:
                cells += [text(exponent(points[name, field]), 2) for field in TIMES] + ['']
            print(f'| {family} | {threads} | exponent | ' + ' | '.join(cells) + ' |', flush=True)
    return rows


def main():
    own = options()
    families = own.families.split(',')
    with tempfile.TemporaryDirectory() as folder:
        def model(case):
            return str(pathlib.Path(folder) / f'{case[0]}-{case[1]}.onnx')

        runners = {}
        if own.before:
            runners['before'] = lambda case: [own.before, 'compile', model(case), str(case[2])]
        runners['leat'] = lambda case: [own.program, 'compile', model(case), str(case[2])]
        if not own.no_peer and has_peer():
            runners['ONNX Runtime'] = lambda case: [sys.executable, '-c', PEER, model(case), str(case[2])]
        cases = [(family, size, threads) for family in families for size in own.sizes for threads in own.threads]
        for case in cases:
            subprocess.run([own.program, 'write', case[0], str(case[1]), model(case)], check=True)
        rows = table(own, families, runners, run_rounds(own, cases, runners))
    if own.json:
        pathlib.Path(own.json).write_text(json.dumps(rows, indent=1) + '\n')


if __name__ == '__main__':
    main()
