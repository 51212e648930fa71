"""What the peers' runners share: options, measuring, and a result in graphbench's JSON (schema 1).

A runner gives a class with:
    __init__(model, threads)   loads and compiles
    inputs                     list of (name, shape with None for unknown, numpy dtype)
    output_names
    bind(arrays)               takes one array for each input
    run()                      one execution, nothing else
    outputs()                  arrays of the last run
    tool                       {"name": ..., "version": ...}
"""
import argparse
import json
import os
import resource
import statistics
import sys
import time

import numpy as np

from tensor_file import read_tensor


def parse_arguments(name):
    parser = argparse.ArgumentParser(description=f"Measures {name}; prints graphbench's JSON.")
    parser.add_argument("model", help="model.onnx, or a folder in the ONNX test layout")
    parser.add_argument("--inputs", metavar="DIR", help="input_N.pb files; default: test_data_set_0, else random")
    parser.add_argument("--expect", metavar="DIR", help="output_N.pb files to compare with; exit 1 on a mismatch")
    parser.add_argument("--threads", type=int, default=0, help="0: the peer's own choice")
    parser.add_argument("--runs", type=int, default=0, help="exactly so many")
    parser.add_argument("--min-time", type=float, default=3.0, metavar="S")
    parser.add_argument("--min-runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rtol", type=float, default=1e-3)
    parser.add_argument("--atol", type=float, help="default: 1e-5 of the largest expected element")
    parser.add_argument("--json", default="-", metavar="FILE|-")
    return parser.parse_args()


def read_numbered(folder, stem):
    arrays = []
    while os.path.exists(path := os.path.join(folder, f"{stem}_{len(arrays)}.pb")):
        arrays.append(read_tensor(path))
    return arrays


def random_inputs(declared, seed):
    generator = np.random.default_rng(seed)
    arrays = []
    for name, shape, dtype in declared:
        if any(extent is None for extent in shape):
            sys.exit(f"the shape of input '{name}' is {shape}: give --inputs")
        if np.issubdtype(dtype, np.floating):
            arrays.append(generator.uniform(-1, 1, shape).astype(dtype))
        elif "mask" in name:
            arrays.append(np.ones(shape, dtype))
        else:
            arrays.append(generator.integers(0, 2, shape).astype(dtype))
    return arrays


def timed(function):
    begin = time.perf_counter_ns()
    result = function()
    return result, time.perf_counter_ns() - begin


def warm_up(run):
    """As graphbench: until the median of 10 runs is within 2 % of that of the 10 before, at most 2 s."""
    times, end = [], time.monotonic() + 2
    while time.monotonic() < end:
        times.append(timed(run)[1])
        if len(times) >= 20 and len(times) % 10 == 0:
            if abs(statistics.median(times[-10:]) / statistics.median(times[-20:-10]) - 1) <= 0.02:
                break
    return len(times)


def measure(run, arguments):
    samples, begin = [], time.monotonic()
    while True:
        samples.append(timed(run)[1])
        if arguments.runs:
            if len(samples) >= arguments.runs:
                return samples
        elif len(samples) >= arguments.min_runs and time.monotonic() - begin >= arguments.min_time:
            return samples


def samples_needed(percentile):
    if percentile <= 50:
        return 1
    if percentile <= 90:
        return int(np.ceil(1 + (percentile - 50) / 40 * 63 - 1e-9))
    return int(np.ceil((6.4 if percentile <= 95 else 6.62) / (1 - percentile / 100) - 1e-6))


def latency(samples):
    values = np.array(samples, dtype=np.float64)
    middle = float(np.median(values))
    half = len(values) // 2
    first = float(np.median(values[:half])) if half else middle
    ranks = (50, 90, 95, 99, 99.9)
    return {
        "n": len(samples), "min": int(values.min()), "max": int(values.max()), "mean": float(values.mean()),
        "stddev": float(values.std(ddof=1)) if len(values) > 1 else 0.0, "median": middle,
        "mad": float(np.median(np.abs(values - middle))),
        "drift": float(np.median(values[half:])) / first - 1,
        "percentiles": {f"{rank:g}": float(np.percentile(values, rank)) if len(values) >= samples_needed(rank) else None
                        for rank in ranks},
        "block_medians": [float(np.median(block)) for block in np.array_split(values, min(20, len(values)))],
    }


def compare(names, got, wanted, arguments):
    """A record for each output: does it match, and by how much not."""
    records = []
    for name, have, want in zip(names, got, wanted):
        record = {"output": name, "matches": have.shape == want.shape and have.dtype == want.dtype}
        if not record["matches"]:
            record["reason"] = f"is {have.dtype}{have.shape}, expected {want.dtype}{want.shape}"
        elif want.dtype == object:
            record["matches"] = bool((have == want).all())
        elif want.size:
            a, b = have.astype(np.float64), want.astype(np.float64)
            largest = float(np.abs(b[np.isfinite(b)]).max(initial=0))
            atol = arguments.atol if arguments.atol is not None else 1e-5 * largest
            record["matches"] = bool(np.allclose(a, b, rtol=arguments.rtol, atol=atol, equal_nan=True))
            record["largest"] = largest
            record["max_absolute"] = float(np.nanmax(np.abs(a - b)))
        records.append(record)
    return records


def main(name, session_class):
    arguments = parse_arguments(name)
    model = arguments.model
    folder = model if os.path.isdir(model) else None
    if folder:
        model = os.path.join(folder, "model.onnx")
        first = os.path.join(folder, "test_data_set_0")
        arguments.inputs = arguments.inputs or (first if os.path.isdir(first) else None)
    session, load_ns = timed(lambda: session_class(model, arguments.threads))
    arrays = (read_numbered(arguments.inputs, "input") if arguments.inputs
              else random_inputs(session.inputs, arguments.seed))
    session.bind(arrays)
    _, first_run_ns = timed(session.run)
    checks = []
    if arguments.expect:
        checks = compare(session.output_names, session.outputs(), read_numbered(arguments.expect, "output"), arguments)
    warmup_runs = warm_up(session.run)
    before, begin = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns()
    samples = measure(session.run, arguments)
    after, wall_ns = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter_ns() - begin
    user_ns, sys_ns = (int(1e9 * (getattr(after, k) - getattr(before, k))) for k in ("ru_utime", "ru_stime"))
    result = {
        "schema": 1, "tool": session.tool, "host": {"cores": os.cpu_count(), "threads": arguments.threads},
        "config": {key: value for key, value in vars(arguments).items() if value is not None},
        "target": {"name": arguments.model},
        "phases": {"load_ns": load_ns, "compile_ns": 0, "prepare_ns": 0, "first_run_ns": first_run_ns},
        "memory": {"rss_peak": after.ru_maxrss * 1024},
        "warmup_runs": warmup_runs, "timed_ns": wall_ns, "latency_ns": latency(samples),
        "throughput": {"runs_per_s": len(samples) * 1e9 / wall_ns},
        "cpu": {"user_ns": user_ns, "sys_ns": sys_ns, "cores": (user_ns + sys_ns) / wall_ns},
        "outputs": checks,
    }
    text = json.dumps(result, indent=2) + "\n"
    if arguments.json == "-":
        sys.stdout.write(text)
    else:
        with open(arguments.json, "w", encoding="utf-8") as file:
            file.write(text)
    bad = [check for check in checks if not check["matches"]]
    for check in bad:
        print(f"{name}: output differs: {check}", file=sys.stderr)
    sys.exit(1 if bad else 0)
