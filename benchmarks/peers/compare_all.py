#!/usr/bin/env python3
"""Measures leat and its peers in turn on the zoo and on folders of models, and writes a Markdown table.

For each network and number of threads: `--rounds` rounds, in each of which every tool runs alone for about
`--seconds` and gives its median (or minimum); the order turns round in every second round. The ratio of a round
is leat's time over the peer's; the table shows the median ratio and its spread. With more than one thread, a probe
of the machine's parallel capacity comes before each round, and the round waits (or says that it did not)
until the machine gives the threads.

    compare_all.py --graphbench build/benchmarks/graphbench/graphbench --zoo --models DIR... --out table.md

Devices other than the CPU: `--device vulkan:0 --peers ncnn_vulkan,leat@cpu` compares leat there with ncnn and
with leat on the CPU.
"""
import argparse
import datetime
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ZOO = ["resnet50", "mobilenet_v2", "squeezenet1_1", "vit_b16", "bert_base?tokens=128", "gpt2?tokens=128",
       "gpt2_decode?cached=512"]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphbench", required=True)
    parser.add_argument("--zoo", action="store_true", help="the networks of the zoo")
    parser.add_argument("--models", nargs="*", default=[], metavar="DIR", help="folders (of folders) with model.onnx")
    parser.add_argument("--only", action="append", default=[], metavar="TEXT", help="networks whose name contains TEXT")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--peers", default="onnxruntime,openvino", help="also leat@DEVICE")
    parser.add_argument("--device", default="cpu", help="of leat")
    parser.add_argument("--graphbench-option", action="append", default=[], metavar="OPTION",
                        help="for each of leat's runs, such as --graphbench-option=--backend-path=FOLDER")
    parser.add_argument("--statistic", choices=["median", "min"], default="median", help="of a tool's runs in a round")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--min-capacity", type=float, default=0.85, help="share of the threads that must be there")
    parser.add_argument("--capacity-wait", type=float, default=60, metavar="S")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--work", help="folder for generated files; default: a temporary one")
    parser.add_argument("--out", default="-", help="Markdown file")
    parser.add_argument("--json", help="every round's medians")
    return parser.parse_args()


def call(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout, done.stderr.strip()


class Bench:
    def __init__(self, arguments, work):
        self.arguments = arguments
        self.work = work
        self.leat = "leat@" + arguments.device
        self.peers = [peer for peer in arguments.peers.split(",") if peer]
        self.threads = [int(count) for count in arguments.threads.split(",")]
        self.versions = {}
        self.checked = set()

    def say(self, text):
        print(f"{datetime.datetime.now():%H:%M:%S} {text}", file=sys.stderr, flush=True)

    def targets(self):
        """(name, model path, folder of inputs and outputs)."""
        wanted = ZOO if self.arguments.zoo else []
        for spec in wanted:
            if self.selected(spec):
                yield self.generate(spec)
        for root in self.arguments.models:
            for folder, _, files in sorted(os.walk(root)):
                data = os.path.join(folder, "test_data_set_0")
                name = f"{os.path.basename(os.path.normpath(root))}/{os.path.relpath(folder, root)}"
                if "model.onnx" in files and os.path.isdir(data) and self.selected(name):
                    yield name.removesuffix("/."), os.path.join(folder, "model.onnx"), data

    def selected(self, name):
        return not self.arguments.only or any(text in name for text in self.arguments.only)

    def generate(self, spec):
        stem = os.path.join(self.work, spec.replace("?", "_").replace("=", "").replace(",", "_"))
        model, data = stem + ".onnx", stem + "_data"
        for command in ([self.arguments.graphbench, "gen", spec, "--save", model, "-q"],
                        [self.arguments.graphbench, "run", model, "--save", data, "-q"]):
            code, _, error = call(command)
            if code:
                self.say(f"{spec}: {error}")
        return spec, model, data

    def capacity(self, threads):
        """What the machine gives of `threads` threads, after waiting for it; 1 thread is always given."""
        if threads == 1:
            return 1.0
        end = time.monotonic() + self.arguments.capacity_wait
        best = 0.0
        while True:
            _, text, _ = call([self.arguments.graphbench, "doctor", "--threads", str(threads), "--json", "-", "-q"])
            best = max(best, json.loads(text)["parallel_capacity"]) if text else best
            if best >= self.arguments.min_capacity * threads or time.monotonic() > end:
                return best
            time.sleep(1)

    def time_of(self, tool, model, data, threads):
        """Median or minimum in ns, or a reason (str). A peer's outputs are compared with the stored ones once."""
        common = [model, "--inputs", data, "--threads", str(threads), "--min-time", str(self.arguments.seconds),
                  "--min-runs", "5", "--json", "-"]
        if tool.startswith("leat@"):
            command = [self.arguments.graphbench, "bench", *common, "--device", tool.removeprefix("leat@"),
                       *self.arguments.graphbench_option, "-q"]
        else:
            command = [self.arguments.python, os.path.join(HERE, f"{tool}_runner.py"), *common]
            if (tool, model) not in self.checked:
                command += ["--expect", data]
        code, text, error = call(command)
        if code:
            return (error.splitlines() or [f"exit code {code}"])[-1][:200]
        self.checked.add((tool, model))
        result = json.loads(text)
        self.versions[tool] = result["tool"]["version"]
        return result["latency_ns"][self.arguments.statistic]

    def measure(self, name, model, data, threads):
        tools = [self.leat, *self.peers]
        times, capacities, failed = {tool: [] for tool in tools}, [], {}
        for index in range(self.arguments.rounds):
            capacities.append(self.capacity(threads))
            for tool in tools if index % 2 == 0 else reversed(tools):
                if tool in failed:
                    continue
                time_ns = self.time_of(tool, model, data, threads)
                if isinstance(time_ns, str):
                    failed[tool] = time_ns
                    self.say(f"{name}, {threads} threads, {tool}: {time_ns}")
                else:
                    times[tool].append(time_ns)
        row = {"network": name, "threads": threads, "times_ns": times, "capacity": capacities, "failed": failed}
        self.say(f"{name}, {threads} threads: " + ", ".join(
            f"{tool} {self.summary(of_tool) / 1e6:.2f} ms" for tool, of_tool in times.items() if of_tool))
        return row

    def summary(self, times):
        """Of a tool's rounds."""
        return min(times) if self.arguments.statistic == "min" else statistics.median(times)


def ratio_cells(ours, theirs):
    ratios = [a / b for a, b in zip(ours, theirs)]
    if not ratios:
        return ["", ""]
    return [f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}..{max(ratios):.2f}"]


def markdown(rows, bench):
    peers = bench.peers
    cpu = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(":")[1].strip() for line in file if line.startswith("model name")), cpu)
    versions = ", ".join(f"{tool} {version}" for tool, version in bench.versions.items())
    lines = [f"Machine: {cpu}, {os.cpu_count()} CPUs, {platform.system()} {platform.release()}. {versions}.",
             f"Date: {datetime.date.today()}. {bench.arguments.rounds} rounds of {bench.arguments.seconds} s a tool, "
             f"in turns, the {bench.arguments.statistic} of each; a ratio is leat's time over the peer's (below 1: leat is faster), median of rounds and "
             "(least..most). Capacity: the least share of a thread that the machine gave each, by probe.", ""]
    header = ["network", "threads", f"{bench.leat} ms"]
    for peer in peers:
        header += [f"{peer} ms", "ratio", "spread"]
    header.append("capacity")
    lines += ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    for row in rows:
        times = row["times_ns"]
        ours = times[bench.leat]
        cells = [row["network"], str(row["threads"]), f"{bench.summary(ours) / 1e6:.2f}" if ours else "fails"]
        for peer in peers:
            theirs = times[peer]
            cells.append(f"{bench.summary(theirs) / 1e6:.2f}" if theirs else "fails")
            cells += ratio_cells(ours, theirs)
        cells.append(f"{min(row['capacity']) / row['threads']:.2f}")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    arguments = parse_arguments()
    with tempfile.TemporaryDirectory() as temporary:
        work = arguments.work or temporary
        os.makedirs(work, exist_ok=True)
        bench = Bench(arguments, work)
        rows = []
        for name, model, data in bench.targets():
            for threads in bench.threads:
                rows.append(bench.measure(name, model, data, threads))
                if arguments.json:
                    with open(arguments.json, "w", encoding="utf-8") as file:
                        json.dump(rows, file, indent=1)
            if arguments.work is None and model.startswith(temporary):
                os.remove(model)
        text = markdown(rows, bench)
        if arguments.out == "-":
            sys.stdout.write(text)
        else:
            with open(arguments.out, "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
