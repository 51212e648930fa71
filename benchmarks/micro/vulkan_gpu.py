#!/usr/bin/env python3
"""What leat's Vulkan kernels reach on a GPU, as shares of what CUDA's libraries or its data sheet say of an H200:

    4.3 TB/s copied (read and written), 67 TFLOP/s in f32 without tensor cores, 788 TFLOP/s in f16 and bf16 (8192^3)

    vulkan_gpu.py build/benchmarks/graphbench/graphbench build/benchmarks/micro/vulkan_gpu [--device 0]
                  [--capabilities FILE.json] [--json FILE.json] [--small]

First come the device's capabilities, as `graphbench devices --json` has them, into --capabilities. Then the rates: copies and
element-wise operators on tensors of 256 MiB, products of 4096^3 (f32) and 8192^3, 1,000 dispatches that need each other. On
another GPU --bandwidth, --f32-peak and --f16-peak name its own numbers. With --small all sizes are so small that a CPU device
is done in a minute: that only shows that everything runs.
"""
import argparse
import json
import subprocess
import sys

SMALL = {'--bytes': 1 << 20, '--f32-side': 64, '--f16-side': 64, '--dispatches': 50, '--repeats': 2, '--rounds': 2}
# Case of vulkan_gpu -> the peak that it has a share of, and the least share that is wanted.
SHARES = {
    'copy': ('bandwidth', 0.85),
    'relu f32': ('bandwidth', 0.85),
    'add f32': ('bandwidth', 0.85),
    'gemm f32': ('f32_peak', 0.60),
    'gemm f16': ('f16_peak', 0.35),
    'gemm bf16': ('f16_peak', 0.35),
}
MOST_US_A_DISPATCH = 3.0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('graphbench')
    parser.add_argument('vulkan_gpu')
    parser.add_argument('--device', default='0', help='as in vulkan:NAME: a number or name~TEXT')
    parser.add_argument('--capabilities', help='where the dump goes')
    parser.add_argument('--json', help='where all figures go')
    parser.add_argument('--bandwidth', type=float, default=4.3, help='TB/s')
    parser.add_argument('--f32-peak', type=float, default=67, help='TFLOP/s')
    parser.add_argument('--f16-peak', type=float, default=788, help='TFLOP/s')
    parser.add_argument('--small', action='store_true')
    return parser.parse_args()


def output_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f'vulkan_gpu.py: {command[0]} ended with {done.returncode}')
    return json.loads(done.stdout)


def row_of(case, peaks):
    """Figures of a case: its rate, its unit, the peak, the share and whether that is enough."""
    row = {'name': case['name'], 'us': case['us'], 'unit': 'us', 'rate': case['us']}
    if case['name'] == 'dispatch':
        return row | {'peak': None, 'share': None, 'bar': MOST_US_A_DISPATCH, 'is_met': case['us'] <= MOST_US_A_DISPATCH}
    peak_name, bar = SHARES[case['name']]
    row['unit'] = 'TB/s' if peak_name == 'bandwidth' else 'TFLOP/s'
    row['rate'] = (case['bytes'] or case['operations']) / case['us'] * 1e-6
    row['peak'] = peaks[peak_name]
    row['share'] = row['rate'] / row['peak']
    return row | {'bar': bar, 'is_met': row['share'] >= bar}


def print_table(rates, rows):
    print(f"{rates['device']}, {rates['driver']}\n")
    print('| case | rate | of | share | bar | met |\n|---|---:|---:|---:|---:|---|')
    for row in rows:
        share = '' if row['share'] is None else f"{100 * row['share']:.1f} %"
        peak = '' if row['peak'] is None else f"{row['peak']:g}"
        bar = f"{row['bar']:g} us" if row['share'] is None else f"{100 * row['bar']:.0f} %"
        print(f"| {row['name']} | {row['rate']:.3f} {row['unit']} | {peak} | {share} | {bar} | {'yes' if row['is_met'] else 'no'} |")


def main():
    arguments = parse_arguments()
    if arguments.capabilities:
        dump = output_of([arguments.graphbench, 'devices', '--json', '-'])
        with open(arguments.capabilities, 'w') as file:
            json.dump(dump, file, indent=1)
    command = [arguments.vulkan_gpu, '--device', arguments.device]
    for option, value in (SMALL if arguments.small else {}).items():
        command += [option, str(value)]
    rates = output_of(command)
    rows = [row_of(case, vars(arguments)) for case in rates['cases']]
    print_table(rates, rows)
    if arguments.small:
        print('\nSizes of --small: these rates mean nothing.')
    if arguments.json:
        with open(arguments.json, 'w') as file:
            json.dump({'device': rates['device'], 'driver': rates['driver'], 'is_small': arguments.small, 'cases': rows},
                      file, indent=1)


if __name__ == '__main__':
    main()
