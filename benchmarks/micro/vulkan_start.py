#!/usr/bin/env python3
"""What the first run of a network costs on a Vulkan device, beyond a steady one: with empty caches and in a later process.

Each round runs `graphbench bench` in processes of their own, whose start is
compile + prepare + first run - median of the runs after it:
    cold        leat's cache and Mesa's are empty folders
    leat warm   only leat's cache was filled before (SPIR-V, the driver's VkPipelineCache)
    mesa warm   only Mesa's
    warm        both
The table has medians over the rounds; the last line compares with the bars (cold <= 6 s, warm <= 10 % of cold).
Mesa's cache means nothing to other drivers, which may have one of their own that this cannot empty.

    vulkan_start.py build/benchmarks/graphbench/graphbench [--device vulkan:0] [--target gen:resnet50] [--rounds 5]
"""
import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

PHASES = ['compile', 'prepare', 'first run', 'steady', 'start']


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('graphbench')
    parser.add_argument('--device', default='vulkan:0')
    parser.add_argument('--target', default='gen:resnet50')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--runs', type=int, default=5, help='steady runs of each process')
    parser.add_argument('--backend-path', help='where leat_vulkan.so is (of the build that graphbench is in)')
    return parser.parse_args()


def measure(arguments, leat_cache, mesa_cache):
    """Milliseconds of each phase, of one process with these folders."""
    build = pathlib.Path(arguments.graphbench).resolve().parents[2]
    command = [arguments.graphbench, 'bench', arguments.target, '--device', arguments.device, '--fallback', 'forbid',
               '--backend-path', arguments.backend_path or str(build / 'src/backends/plugins'),
               '--backend-setting', f'vulkan.cache_dir={leat_cache}',
               '--warmup', '0', '--runs', str(arguments.runs), '--quiet', '--json', '-']
    environment = dict(os.environ, MESA_SHADER_CACHE_DIR=mesa_cache)
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode not in (0, 9):
        sys.exit(f'vulkan_start.py: graphbench ended with {done.returncode}')
    result = json.loads(done.stdout)
    times = [result['phases'][name] * 1e-6 for name in ('compile_ns', 'prepare_ns', 'first_run_ns')]
    steady = result['latency_ns']['median'] * 1e-6
    return dict(zip(PHASES, times + [steady, sum(times) - steady]))


def run_round(arguments, rows):
    """A cold process fills both caches; the others get copies of what they may have."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder)
        for name in ('leat', 'mesa'):
            (path / name).mkdir()
            (path / f'no {name}').mkdir()
        rows['cold'].append(measure(arguments, path / 'leat', str(path / 'mesa')))
        for name in ('leat', 'mesa'):
            shutil.copytree(path / name, path / f'copied {name}')
        rows['leat warm'].append(measure(arguments, path / 'copied leat', str(path / 'no mesa')))
        rows['mesa warm'].append(measure(arguments, path / 'no leat', str(path / 'copied mesa')))
        rows['warm'].append(measure(arguments, path / 'leat', str(path / 'mesa')))


def main():
    arguments = parse_arguments()
    rows = {name: [] for name in ('cold', 'leat warm', 'mesa warm', 'warm')}
    for _ in range(arguments.rounds):
        run_round(arguments, rows)
    print(f'{arguments.target} on {arguments.device}, ms, medians of {arguments.rounds} rounds\n')
    print('| caches | ' + ' | '.join(PHASES) + ' |\n|---|' + '---:|' * len(PHASES))
    starts = {}
    for name, measured in rows.items():
        medians = [statistics.median(one[phase] for one in measured) for phase in PHASES]
        starts[name] = medians[-1]
        print(f'| {name} | ' + ' | '.join(f'{median:.0f}' for median in medians) + ' |')
    share = starts['warm'] / starts['cold']
    print(f"\ncold {starts['cold'] / 1000:.2f} s (bar 6), warm {100 * share:.0f} % of it (bar 10)")


if __name__ == '__main__':
    main()
