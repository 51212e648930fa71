#!/usr/bin/env python3
"""Repeats open_sizes on exported models, beside ONNX Runtime: open_sizes.py OPEN_SIZES EXPORTS [--rounds N] [--tokens N] [--parts A,B].

EXPORTS is a folder with gpt2_kv, ssdlite320_detector, bert_mini, llama_gqa_kv, lstm_gru_tagger and whisper_mini. Parts:
    tokens    gpt2_kv, one more token in each run; its past is what the run before gave (ONNX Runtime: that OrtValue). Ratio of the
              medians of a token's time, one and two threads, in turns.
    detector  ssdlite320_detector, other detections in each run: share of planning.
    small     a detector of few operators in its second half, 10,000 runs: share of planning, memory.
    shapes    10,000 random shapes of every input of five exports, the largest of all first: resident memory.
Needs for tokens: pip install onnxruntime numpy.
"""
import argparse
import json
import os
import statistics
import subprocess
import time

LAYERS = range(4)
PAST = [f'{kind}{layer}' for layer in LAYERS for kind in 'kv']
GROW = [option for name in PAST for option in ('--grow', f'past_{name}=present_{name}')]
# Extents that follow from others, by model; LO..HI is drawn in each run.
SHAPES = {'bert_mini': ['--dim', 'b=1..4', '--dim', 's=1..96', '--below', 'ids=1000', '--ones', 'mask'],
          'gpt2_kv': ['--dim', 's11=1..2', '--dim', 's27=1..4', '--dim', 's12=0..120', '--dim', 's64=s12+s27', '--dim', 's31=s11',
                      '--below', 'ids=5000', '--ones', 'mask'],
          'llama_gqa_kv': ['--dim', 's11=1..2', '--dim', 's27=1..4', '--dim', 's12=0..120', '--dim', 's74=s12', '--dim', 's64=s12+s27',
                           '--dim', 's31=s11', '--below', 'ids=4000', '--ones', 'mask'],
          'lstm_gru_tagger': ['--dim', 'b=1..4', '--dim', 's=1..64'],
          'whisper_mini': ['--dim', 's31=s11', '--dim', 's11=1..2', '--dim', 's74=1..40']}


def leat(program, model, *options):
    done = subprocess.run([program, model, *map(str, options)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def onnxruntime_tokens(model, tokens, threads):
    """Median nanoseconds of a token."""
    import numpy
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model, options, providers=['CPUExecutionProvider'])
    shapes = {i.name: i.shape for i in session.get_inputs()}
    outputs = [o.name for o in session.get_outputs()]
    generator = numpy.random.default_rng(1)
    value = onnxruntime.OrtValue.ortvalue_from_numpy
    past = {f'past_{name}': value(numpy.zeros([1, shapes[f'past_{name}'][1], 0, shapes[f'past_{name}'][3]], numpy.float32))
            for name in PAST}
    times = []
    for token in range(tokens):
        feeds = {'ids': value(generator.integers(0, 5000, [1, 1])), 'mask': value(numpy.ones([1, token + 1], numpy.int64)),
                 'pos': value(numpy.zeros([1, 1], numpy.int64)), **past}
        start = time.perf_counter_ns()
        results = session.run_with_ort_values(outputs, feeds)
        times.append(time.perf_counter_ns() - start)
        by_name = dict(zip(outputs, results))
        past = {f'past_{name}': by_name[f'present_{name}'] for name in PAST}
    return statistics.median(times)


def measure_tokens(program, exports, rounds, tokens):
    model = os.path.join(exports, 'gpt2_kv/model.onnx')
    own_options = ['--runs', tokens, '--dim', 's11=1', '--dim', 's27=1', '--dim', 's31=s11', '--dim', 's64=s12+s27', '--grown', 's12',
                   '--ones', 'mask', '--below', 'ids=5000', *GROW]
    for threads in 1, 2:
        ratios, own, peer, shares = [], [], [], []
        for number in range(rounds):
            def run_own():
                report = leat(program, model, *own_options, '--threads', threads)
                own.append(report['median_ns'])
                shares.append(report['planning_share'])

            def run_peer():
                peer.append(onnxruntime_tokens(model, tokens, threads))
            for run in (run_own, run_peer) if number % 2 == 0 else (run_peer, run_own):
                run()
            ratios.append(own[-1] / peer[-1])
        print(f'gpt2_kv, {tokens} tokens, {threads} threads: leat {statistics.median(own) / 1e3:.0f} us a token, '
              f'ONNX Runtime {statistics.median(peer) / 1e3:.0f} us, ratio {statistics.median(ratios):.3f} '
              f'({min(ratios):.3f}..{max(ratios):.3f}), bar 0.75; planning {100 * statistics.median(shares):.1f} %', flush=True)


def measure_detector(program, exports, rounds, runs):
    model = os.path.join(exports, 'ssdlite320_detector/model.onnx')
    for threads in 1, 2:
        reports = [leat(program, model, '--runs', runs, '--threads', threads, '--seed', number + 1) for number in range(rounds)]
        share = [report['planning_share'] for report in reports]
        print(f'ssdlite320_detector, {runs} runs, {threads} threads: {statistics.median(r["median_ns"] for r in reports) / 1e6:.2f} ms a '
              f'run, planning {100 * statistics.median(share):.1f} % ({100 * min(share):.1f}..{100 * max(share):.1f}), bar 10; plans '
              f'made and dropped, KiB resident, bytes of the pool and of slabs after each tenth:', flush=True)
        for report in reports:
            print(f'    {report["plans_made"]}, {report["plans_dropped"]}: {report["kib_pool_slabs"]}', flush=True)


def measure_small(program, runs):
    for threads in 1, 2:
        report = leat(program, 'detector', '--runs', runs, '--threads', threads)
        print(f'small detector, {runs} runs, {threads} threads: {report["median_ns"] / 1e6:.2f} ms a run, planning '
              f'{100 * report["planning_share"]:.2f} %, bar 5; plans {report["plans_made"]} made, {report["plans_dropped"]} dropped; '
              f'KiB resident, bytes of the pool and of slabs after each tenth: {report["kib_pool_slabs"]}', flush=True)


def measure_shapes(program, exports, runs):
    for name, options in SHAPES.items():
        report = leat(program, os.path.join(exports, name, 'model.onnx'), '--runs', runs, *options)
        resident = [kib for kib, *_ in report['kib_pool_slabs']]
        print(f'{name}, {runs} random shapes: plans {report["plans_made"]} made, {report["plans_dropped"]} dropped; KiB resident after '
              f'each tenth {resident}; slabs {sorted({slabs for *_, slabs in report["kib_pool_slabs"]})} bytes', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('open_sizes')
    parser.add_argument('exports')
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--tokens', type=int, default=1000)
    parser.add_argument('--runs', type=int, default=300, help='of the detector in a round')
    parser.add_argument('--shapes', type=int, default=10000, help='runs of the parts small and shapes')
    parser.add_argument('--parts', default='tokens,detector,small,shapes')
    arguments = parser.parse_args()
    parts = arguments.parts.split(',')
    if 'tokens' in parts:
        measure_tokens(arguments.open_sizes, arguments.exports, arguments.rounds, arguments.tokens)
    if 'detector' in parts:
        measure_detector(arguments.open_sizes, arguments.exports, arguments.rounds, arguments.runs)
    if 'small' in parts:
        measure_small(arguments.open_sizes, arguments.shapes)
    if 'shapes' in parts:
        measure_shapes(arguments.open_sizes, arguments.exports, arguments.shapes)


if __name__ == '__main__':
    main()
