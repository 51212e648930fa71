#!/usr/bin/env python3
"""Compares leat's outputs for the networks of the zoo with ONNX Runtime's, from the same files and inputs.

For each network, `graphbench gen` writes the ONNX file, `graphbench run` stores inputs and outputs of each
backend, and the ONNX Runtime runner compares: relative tolerance 1e-3, absolute 1e-5 of the largest element of
each output. Prints a Markdown table; exit code 1 when an output differs.

    check_zoo.py --graphbench build/benchmarks/graphbench/graphbench [--only TEXT]
"""
import argparse
import json
import os
import sys
import tempfile

from compare_all import HERE, ZOO, call


def check(arguments, spec, model, backend, work):
    """One row: network, backend, outputs, largest difference relative to the output's largest element, verdict."""
    data = os.path.join(work, backend)
    code, _, error = call([arguments.graphbench, "run", model, "--backend", backend, "--save", data, "-q"])
    if code:
        return [spec, backend, "", "", error]
    code, text, error = call([sys.executable, os.path.join(HERE, "onnxruntime_runner.py"), model, "--inputs", data,
                              "--expect", data, "--runs", "1", "--json", "-"])
    if not text:
        return [spec, backend, "", "", error.splitlines()[-1] if error else f"exit code {code}"]
    checks = json.loads(text)["outputs"]
    worst = max(record.get("max_absolute", 0) / (record.get("largest") or 1) for record in checks)
    same = bool(checks) and code == 0 and all(record["matches"] for record in checks)
    return [spec, backend, str(len(checks)), f"{worst:.1e}", "same" if same else "differs"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphbench", required=True)
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="networks whose name contains TEXT")
    arguments = parser.parse_args()
    print("| network | backend | outputs | largest difference / largest element | verdict |\n|---|---|---:|---:|---|")
    failed = False
    for spec in ZOO:
        if arguments.only and not any(text in spec for text in arguments.only):
            continue
        with tempfile.TemporaryDirectory() as work:
            model = os.path.join(work, "model.onnx")
            code, _, error = call([arguments.graphbench, "gen", spec, "--save", model, "-q"])
            if code:
                sys.exit(f"{spec}: {error}")
            for backend in ("cpu", "reference"):
                row = check(arguments, spec, model, backend, work)
                failed |= row[-1] != "same"
                print("| " + " | ".join(row) + " |", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
