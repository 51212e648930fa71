#!/usr/bin/env python3
"""Command lines of graphbench with the exit code and the message that each has to give: command_lines.txt.

Usage: command_lines_test.py GRAPHBENCH LINES [TEXT...]   only lines that contain a TEXT
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

# Of each line: most take a few hundredths of a second. Sanitizers and busy machines are slower.
LIMIT_S = 60
TINY = "gen:bert_base?layers=1,width=64,tokens=8,vocab=100"


def read_lines(file):
    lines = []
    for number, line in enumerate(pathlib.Path(file).read_text(encoding="utf-8").splitlines(), 1):
        if line and not line.startswith("#"):
            code, pattern, command = line.split(" | ", 2)
            assert pattern == "-" or pattern[:5] in ("out: ", "err: "), f"{file}:{number}: {pattern}"
            lines.append((number, int(code), pattern, command))
    return lines


# ONNX files as bytes: https://onnx.ai/onnx/repo-docs/IR.html, onnx.proto.
def varint(value):
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + varint(value // 128)


def number(field, value):
    return varint(field * 8) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field * 8 + 2) + varint(len(value)) + value


def tensor(extents, raw, name=""):
    return b"".join(number(1, extent) for extent in extents) + number(2, 1) + data(8, name) + data(9, raw)


def value_info(name, extents):
    dims = b"".join(data(1, data(2, e) if isinstance(e, str) else number(1, e)) for e in extents)
    return data(1, name) + data(2, data(1, number(1, 1) + data(2, dims)))


def model(op, inputs, infos, output, initializer=b""):
    node = b"".join(data(1, name) for name in inputs) + data(2, "y") + data(3, "n") + data(4, op)
    graph = data(1, node) + data(2, "g") + initializer + b"".join(data(11, i) for i in infos) + data(12, output)
    return number(1, 8) + data(7, graph) + data(8, number(2, 13))


def write_layout(folder, op, wanted):
    """A test in the ONNX layout: y = op(x) of two floats, 1 and -1; c has a value of its own and no reader."""
    stored = folder / "test_data_set_0"
    stored.mkdir(parents=True)
    floats = {1: b"\x00\x00\x80\x3f", -1: b"\x00\x00\x80\xbf", 0: bytes(4)}
    (folder / "model.onnx").write_bytes(model(op, ["x"], [value_info("x", [2])], value_info("y", [2])))
    (stored / "input_0.pb").write_bytes(tensor([2], floats[1] + floats[-1], "x"))
    (stored / "output_0.pb").write_bytes(tensor([2], floats[1] + floats[wanted], "y"))


def npy(descr, elements=b""):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + elements


def write_results(folder, base):
    """Variants of base.json, which is what bench wrote."""
    def variant(name, change):
        result = json.loads(base)
        change(result)
        (folder / name).write_text(json.dumps(result), encoding="utf-8")

    def latency(**fields):
        return lambda result: result["latency_ns"].update(fields)

    def block(index, value):
        return lambda result: result["latency_ns"]["block_medians"].__setitem__(index, value)

    variant("zeros.json", latency(median=0, block_medians=[0, 0]))
    variant("nulls.json", block(0, None))
    variant("texts.json", block(1, "7"))
    variant("negative.json", block(2, -1))
    variant("infinite.json", latency(median=float("inf")))
    (folder / "huge.json").write_text(re.sub('"median": [0-9.]+', '"median": 1e999', base), encoding="utf-8")
    variant("noblocks.json", latency(block_medians=[]))
    variant("nolatency.json", lambda result: result.pop("latency_ns"))
    variant("noname.json", lambda result: result["target"].pop("name"))
    variant("noconfig.json", lambda result: result.pop("config"))
    variant("schema.json", lambda result: result.update(schema=99))
    variant("fast.json", latency(median=1, block_medians=[1] * 5))
    variant("other.json", lambda result: result.update(target={"name": "default.onnx", "sha256": "00"}))
    zeros = json.loads((folder / "zeros.json").read_text(encoding="utf-8"))
    (folder / "two.json").write_text(json.dumps([json.loads(base), zeros]), encoding="utf-8")
    for name, targets in ("two_targets.json", ("a", "b")), ("other_pair.json", ("c", "d")):
        pair = [{**json.loads(base), "target": {"name": target}} for target in targets]
        (folder / name).write_text(json.dumps({"results": pair}), encoding="utf-8")


def write_files(folder, shell):
    write_layout(folder / "stored", "Relu", 0)
    open_input = value_info("c", ["m"])
    (folder / "stored" / "model.onnx").write_bytes(
        model("Relu", ["x"], [value_info("x", [2]), open_input], value_info("y", [2]),
              data(5, tensor([1], bytes(4), "c"))))
    write_layout(folder / "wrong", "Relu", 1)
    write_layout(folder / "unsupported", "Nope", 0)
    write_layout(folder / "suite" / "stored", "Relu", 0)
    write_layout(folder / "suite" / "wrong", "Relu", 1)
    (folder / "empty").mkdir()
    (folder / "default.onnx").write_bytes(
        model("Add", ["x", "c"], [value_info("x", [1]), open_input], value_info("y", ["m"]),
              data(5, tensor([1], bytes(4), "c"))))
    (folder / "text.npy").write_bytes(npy("<U5", bytes(20)))
    (folder / "objects.npy").write_bytes(npy("|O", bytes(8)))
    (folder / "one.npy").write_bytes(npy("<f4", bytes(4)))
    (folder / "big.npy").write_bytes(npy(">f4", bytes(4)))
    (folder / "one.npz").write_bytes(b"PK")
    (folder / "cut.so").write_bytes(b"\x7fELF" + bytes([2, 1, 1]) + bytes(9) + (3).to_bytes(2, "little") + (62).to_bytes(2, "little")
                                    + bytes(12) + (64).to_bytes(8, "little") + bytes(14) + (56).to_bytes(2, "little")
                                    + (1).to_bytes(2, "little") + bytes(6))
    (folder / "plan.csv").write_text("id,lower,upper,size\na,0,20,10\nb,10,30,20\nc,20,40,10\n", encoding="utf-8")
    for name, text in (("bad", '{"runs": "x"}'), ("typo", '{"rusn": 3}'), ("broken", "{"), ("array", "[]"),
                       ("odd", '{"runs": null}'), ("flag", '{"quiet": "no"}'),
                       ("baseline", '{"baseline": "fast.json"}')):
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    for command in ("graphbench bench $T $N --json base.json", "graphbench compile $T --save net.leat"):
        done = shell(command)
        assert done.returncode == 0, done.stderr
    write_results(folder, (folder / "base.json").read_text(encoding="utf-8"))


def problem_of(code, pattern, done):
    """Empty: the line did what it has to."""
    streams = {"out": done.stdout, "err": done.stderr}
    if done.returncode != code:
        return f"exit code {done.returncode}, wanted {code}"
    if pattern == "-":
        return "" if not any(streams.values()) else "it says something"
    if not re.search(pattern[5:], streams[pattern[:3]], re.MULTILINE):
        return f"std{pattern[:3]} does not match {pattern[5:]}"
    return ""


def main():
    graphbench, lines, *texts = sys.argv[1:]
    begin = time.monotonic()
    failed = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "bin").mkdir()
        os.symlink(os.path.realpath(graphbench), folder / "bin" / "graphbench")
        environment = {key: value for key, value in os.environ.items() if not key.startswith("GRAPHBENCH_")}
        environment.update(PATH=f"{folder}/bin:{environment['PATH']}", T=TINY, D=TINY + ",batch=0",
                           S="gen:squeezenet1_1?size=32", N="--runs 5 --warmup 1 --threads 1 --quiet")

        def shell(command):
            return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, timeout=LIMIT_S,
                                  encoding="utf-8", errors="replace")

        write_files(folder, shell)
        chosen = [line for line in read_lines(lines) if not texts or any(text in line[3] for text in texts)]
        for line, code, pattern, command in chosen:
            try:
                done = shell(command)
                problem = problem_of(code, pattern, done)
            except subprocess.TimeoutExpired as late:
                done, problem = late, f"it did not end within {LIMIT_S} s"
            left = [str(path) for path in folder.rglob("*.leattmp")]
            if left:
                problem = f"it leaves {left}"
            if problem:
                failed.append(line)
                print(f"{lines}:{line}: {problem}\n  {command}\n  stdout: {done.stdout}\n  stderr: {done.stderr}")
    print(f"{len(chosen)} command lines, {len(failed)} of them wrong, {time.monotonic() - begin:.1f} s")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
