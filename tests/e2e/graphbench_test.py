#!/usr/bin/env python3
"""graphbench from the outside: exit codes, formats, files. Usage: graphbench_test.py GRAPHBENCH [test name...]"""
import csv
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

GRAPHBENCH = sys.argv.pop(1)
SMALL = "gen:squeezenet1_1?size=64"
FAST = ["--min-time", "0.05", "--min-runs", "5", "--warmup", "1", "--quiet"]


def call(*arguments, environment=None):
    done = subprocess.run([GRAPHBENCH, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False, timeout=300, env={**os.environ, **(environment or {})})
    return done.returncode, done.stdout, done.stderr


class CommandLine(unittest.TestCase):
    def test_unknown_option_is_a_usage_error_with_a_suggestion(self):
        code, out, err = call("bench", SMALL, "--treads", "2")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("did you mean --threads?", err)

    def test_unknown_command_and_missing_target(self):
        self.assertEqual(call("bnech")[0], 2)
        self.assertIn("did you mean 'bench'", call("bnech")[2])
        self.assertEqual(call("bench")[0], 2)
        self.assertEqual(call()[0], 2)

    def test_unknown_network_file_and_backend(self):
        code, _, err = call("bench", "gen:resnet5", *FAST)
        self.assertEqual(code, 3)
        self.assertIn("resnet50", err)
        self.assertEqual(call("bench", "/does/not/exist.onnx")[0], 3)
        self.assertEqual(call("bench", SMALL, "--backend", "cpuu")[0], 6)

    def test_help_for_every_command(self):
        code, out, _ = call("--help")
        self.assertEqual(code, 0)
        commands = out.split("Commands:\n")[1].split("\n\n")[0].splitlines()
        self.assertGreater(len(commands), 10)
        for line in commands:
            self.assertEqual(call(line.split()[0], "--help")[0], 0, line)

    def test_a_file_that_is_not_onnx(self):
        with tempfile.NamedTemporaryFile(suffix=".onnx") as file:
            file.write(b"\x7fELF and more")
            file.flush()
            code, _, err = call("bench", file.name, *FAST)
            self.assertEqual(code, 3)
            self.assertIn(file.name, err)


class CompiledTarget(unittest.TestCase):
    """A file of `compile --save` in place of a model."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        # No extension: the content says what it is.
        cls.file = os.path.join(cls.folder.name, "squeezenet")
        code, _, err = call("compile", SMALL, "--save", cls.file, "--threads", "1", "-q")
        assert code == 0, err

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_run_gives_the_bytes_of_the_model(self):
        values = []
        for target, folder in ((SMALL, "model"), (self.file, "compiled")):
            folder = os.path.join(self.folder.name, folder)
            code, _, err = call("run", target, "--threads", "1", "--save", folder)
            self.assertEqual(code, 0, err)
            values.append([pathlib.Path(folder, name).read_bytes() for name in sorted(os.listdir(folder))])
        self.assertEqual(len(values[0]), 2)
        self.assertEqual(values[0], values[1])

    def test_bench_loads_and_does_not_compile(self):
        code, out, err = call("bench", self.file, *FAST, "--threads", "1", "--json", "-")
        self.assertEqual(code, 0, err)
        result = json.loads(out)
        self.assertEqual(result["phases"]["compile_ns"], 0)
        self.assertGreater(result["phases"]["load_ns"], 0)
        self.assertEqual(result["memory"]["packed_weights"], 0)
        self.assertGreater(result["target"]["params"], 1000000)
        code, out, err = call("profile", self.file, "--threads", "1", "--runs", "2", "-q")
        self.assertEqual(code, 0, err)
        self.assertIn("Conv", out)

    def test_inspect_shows_its_graph_plans_and_placement(self):
        code, out, err = call("inspect", self.file, "--threads", "1", "--memory", "--placement", "--json", "-")
        self.assertEqual(code, 0, err)
        result = json.loads(out)
        self.assertTrue(result["compiled"])
        self.assertIn("Conv", result["ops"])
        self.assertEqual(len(result["memory"]), 1)
        self.assertGreater(result["memory"][0]["planned_bytes"], 0)
        self.assertEqual(result["nodes"], sum(result["ops"].values()))
        model = json.loads(call("inspect", SMALL, "--json", "-")[1])
        self.assertFalse(model["compiled"])
        self.assertEqual(result["inputs"], model["inputs"])
        self.assertEqual(result["outputs"], ["'output' f32[1,1000]"])

    def test_what_only_compile_knows_is_an_error_that_says_so(self):
        for command, option in (("run", ["--device", "cpu"]), ("bench", ["--optimize", "off"]),
                                ("inspect", ["--memory-limit", "1GiB"]), ("inspect", ["--annotate", "x.onnx"]),
                                ("profile", ["--calibrate"]), ("bench", ["--divide", "off"]),
                                ("bench", ["--in-flight", "2"]), ("inspect", ["--dim", "batch=1..2"])):
            code, out, err = call(command, self.file, *option)
            self.assertEqual((code, out), (2, ""), err)
            self.assertIn(option[0] + " says how to compile", err)
        code, _, err = call("bench", self.file, *FAST, "--threads", "1", "--trace", os.path.join(self.folder.name, "t"))
        self.assertEqual(code, 2)
        self.assertIn("--trace", err)
        for command in (["compile", "--save", "x"], ["check", "--against", "reference"]):
            code, _, err = call(command[0], self.file, *command[1:])
            self.assertEqual(code, 2)
            self.assertIn("compiled", err)

    def test_constants_may_stay_in_the_model(self):
        with tempfile.TemporaryDirectory() as folder:
            model, copy, refer = (os.path.join(folder, name) for name in ("model.onnx", "copy", "refer"))
            self.assertEqual(call("gen", SMALL, "--save", model)[0], 0)
            self.assertEqual(call("compile", model, "--save", copy, "-q")[0], 0)
            self.assertEqual(call("compile", model, "--save", refer, "--weights", "refer", "-q")[0], 0)
            self.assertLess(os.path.getsize(refer), os.path.getsize(copy) - 4000000)
            self.assertEqual(call("run", refer, "-q")[0], 0)
            os.remove(model)
            self.assertEqual(call("run", copy, "-q")[0], 0)
            code, _, err = call("run", refer, "-q")
            self.assertEqual(code, 3)
            self.assertIn("its constants are in 'model.onnx'", err)

    def test_refusals_name_the_file(self):
        code, _, err = call("run", self.file, "--threads", "2", "-q")
        self.assertEqual(code, 3)
        self.assertIn("compiled for another number of threads", err)
        damaged = os.path.join(self.folder.name, "damaged")
        pathlib.Path(damaged).write_bytes(pathlib.Path(self.file).read_bytes()[:-1])
        code, _, err = call("inspect", damaged)
        self.assertEqual(code, 3)
        self.assertIn("cut short", err)
        self.assertIn(damaged, err)


class Bench(unittest.TestCase):
    def test_json_has_the_schema(self):
        code, out, _ = call("bench", SMALL, *FAST, "--threads", "1", "--json", "-", "--label", "run=a")
        self.assertEqual(code, 0)
        result = json.loads(out)
        self.assertEqual(result["schema"], 1)
        self.assertEqual(result["host"]["threads"], 1)
        self.assertEqual(result["labels"], {"run": "a"})
        for key in ("load_ns", "compile_ns", "prepare_ns", "first_run_ns"):
            self.assertGreater(result["phases"][key], 0, key)
        memory = result["memory"]
        self.assertGreaterEqual(memory["arena"], memory["arena_lower_bound"])
        self.assertGreater(memory["rss_peak"], memory["weights"])
        latency = result["latency_ns"]
        self.assertGreaterEqual(latency["n"], 5)
        self.assertLessEqual(latency["min"], latency["median"])
        self.assertIsNone(latency["percentiles"]["99.9"])
        self.assertEqual(latency["samples_needed"]["99.9"], 6620)
        self.assertIn("cpu", result["placement"]["devices"])
        self.assertIn("stable", result["verdict"])

    def test_screen_and_tables(self):
        code, out, _ = call("bench", SMALL, *FAST, "--histogram")
        self.assertEqual(code, 0)
        for word in ("load ", "first run", "planned", "lower bound", "RSS peak", "placement", "p99 n/a (need 662)"):
            self.assertIn(word, out)
        code, out, _ = call("bench", SMALL, "gen:squeezenet1_1?size=32", *FAST, "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(out)))
        self.assertEqual([row["target"] for row in rows], [SMALL, "gen:squeezenet1_1?size=32"])
        self.assertGreater(int(rows[0]["p50_ns"]), 0)
        _, out, _ = call("bench", SMALL, *FAST, "--format", "md")
        self.assertTrue(out.startswith("| target"))

    def test_exact_runs_samples_and_environment(self):
        with tempfile.TemporaryDirectory() as folder:
            samples = os.path.join(folder, "samples")
            code, out, _ = call("bench", SMALL, "--warmup", "0", "--json", "-", "--samples", samples,
                                environment={"GRAPHBENCH_RUNS": "7", "GRAPHBENCH_QUIET": "1"})
            self.assertEqual(code, 0)
            self.assertEqual(json.loads(out)["latency_ns"]["n"], 7)
            self.assertEqual(os.path.getsize(samples), 7 * 8)

    def test_missed_deadlines_are_counted(self):
        code, out, _ = call("bench", SMALL, "--runs", "5", "--warmup", "0", "--deadline", "0.000001", "--json", "-", "-q")
        self.assertEqual(code, 7)
        self.assertEqual(json.loads(out)["deadline"]["missed"], 5)

    def test_streams_are_counted_together(self):
        code, out, err = call("bench", SMALL, "--streams", "2", "--runs", "9", "--warmup", "1", "--json", "-", "-q")
        self.assertEqual(code, 0, err)
        result = json.loads(out)
        self.assertEqual((result["latency_ns"]["n"], result["warmup_runs"]), (9, 2))
        self.assertEqual((result["throughput"]["streams"], result["config"]["streams"]), (2, "2"))
        self.assertIn(" on 2 streams ", call("bench", SMALL, *FAST, "--streams", "2")[1])
        code, out, _ = call("bench", SMALL, SMALL, *FAST, "--format", "csv", environment={"GRAPHBENCH_STREAMS": "3"})
        self.assertEqual([row["streams"] for row in csv.DictReader(io.StringIO(out))], ["3", "3"])
        self.assertEqual(call("bench", SMALL, "--streams", "0")[0], 2)

    def test_several_requests_are_kept_in_flight(self):
        code, out, err = call("bench", SMALL, "--in-flight", "3", "--runs", "50", "--warmup", "4", "--json", "-", "-q")
        self.assertEqual(code, 0, err)
        result = json.loads(out)
        self.assertEqual((result["latency_ns"]["n"], result["warmup_runs"]), (50, 4))
        self.assertEqual(result["throughput"]["in_flight"], 3)
        # Little's law: as many as are in flight on average. One after the other they are 1 at most, whatever the
        # machine does meanwhile.
        self.assertGreater(result["latency_ns"]["mean"] * result["throughput"]["runs_per_s"], 1.1e9)
        code, out, _ = call("bench", SMALL, "--in-flight", "2", "--runs", "3", "--warmup", "0", "--deadline", "0.000001",
                            "--json", "-", "-q")
        self.assertEqual((code, json.loads(out)["deadline"]["missed"]), (7, 3))
        self.assertIn(", 2 in flight ", call("bench", SMALL, *FAST, "--in-flight", "2", "--memory-limit", "1GiB")[1])
        for option, word in (["--rate", "10"], "--rate"), (["--cold-cache", "all"], "--cold-cache"):
            code, _, err = call("bench", SMALL, *FAST, "--in-flight", "2", *option)
            self.assertEqual(code, 2)
            self.assertIn(word, err)

    def test_a_compiled_graph_keeps_as_many_in_flight_as_it_was_compiled_for(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "net.leat")
            self.assertEqual(call("compile", SMALL, "--save", file, "--in-flight", "2", "-q")[0], 0)
            code, out, err = call("bench", file, *FAST, "--json", "-", "-q")
            self.assertEqual(code, 0, err)
            self.assertEqual(json.loads(out)["throughput"]["in_flight"], 2)

    def test_repeat_takes_the_median_of_processes(self):
        code, out, err = call("bench", SMALL, *FAST, "--label", "it's=a b", "--json", "-",
                              environment={"GRAPHBENCH_REPEAT": "3", "GRAPHBENCH_RUNS": "5"})
        self.assertEqual(code, 0, err)
        result = json.loads(out)
        medians = result["repeat"]["medians"]
        self.assertEqual((result["repeat"]["processes"], len(medians), result["latency_ns"]["n"]), (3, 3, 5))
        self.assertEqual(result["latency_ns"]["median"], sorted(medians)[1])
        self.assertEqual(result["labels"], {"it's": "a b"})
        code, out, err = call("bench", SMALL, SMALL, *FAST, "--repeat", "2", "--format", "csv")
        self.assertEqual([row["processes"] for row in csv.DictReader(io.StringIO(out))], ["2", "2"], err)
        code, out, err = call("bench", SMALL, "--min-time", "100", "--repeat", "2", "--timeout", "3", "-q")
        self.assertEqual((code, out), (7, ""), err)
        self.assertIn("while measuring in process 1 of 2", err)
        self.assertEqual(call("bench", "gen:resnet5", *FAST, "--repeat", "2")[0], 3)

    def test_timeout_keeps_what_was_measured(self):
        code, out, err = call("bench", SMALL, "--min-time", "100", "--warmup", "1", "--streams", "2",
                              "--timeout", "5", "--json", "-", "-q")
        self.assertEqual(code, 7, err)
        self.assertIn(f"--timeout of 5 s passed while measuring '{SMALL}'", err)
        self.assertGreater(json.loads(out)["latency_ns"]["n"], 0)
        self.assertTrue(json.loads(out)["interrupted"])

    def test_timeout_says_what_took_too_long(self):
        for command in ("bench", "run"):
            code, out, err = call(command, "gen:resnet50", "--timeout", "0.01")
            self.assertEqual((code, out), (7, ""))
            self.assertRegex(err, "passed while (preparing|loading 'gen:resnet50')")
        self.assertEqual(call("run", SMALL, "--timeout", "250")[0], 0)

    def test_cool_down_and_timeout_after_the_first_target(self):
        code, out, err = call("bench", SMALL, SMALL, *FAST, "--interleave", "off", "--cool-down", "100",
                              "--timeout", "5", "--format", "csv")
        self.assertEqual(code, 7, err)
        self.assertIn("cooling down", err)
        self.assertEqual(len(out.splitlines()), 2, "the header and the first target" + out)

    def test_inspect_memory(self):
        with tempfile.TemporaryDirectory() as folder:
            svg = os.path.join(folder, "plan.svg")
            code, out, err = call("inspect", SMALL, "--memory", "--memory-dial", "--svg", svg)
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"memory: .* planned \(\d+ bytes\), lower bound .*, fragmentation \d")
            self.assertRegex(out, r"(?m)^  A \S+: .* steps \d+ to \d+$")
            self.assertIn("one after the other", out)
            plan = json.loads(call("inspect", SMALL, "--memory", "--json", "-")[1])["memory"][0]
            self.assertEqual(plan["planned_bytes"], max(b["offset_bytes"] + b["size_bytes"] for b in plan["buffers"]))
            self.assertGreaterEqual(plan["planned_bytes"], plan["lower_bound_bytes"])
            rectangles = [e for e in ElementTree.parse(svg).getroot() if e.tag.endswith("rect")]
            self.assertEqual(len(rectangles), 1 + len(plan["buffers"]))
            dial = json.loads(call("inspect", SMALL, "--memory-dial", "--json", "-")[1])["memory_dial"]
            sizes = [row["planned_bytes"] for row in dial]
            self.assertEqual(sizes, sorted(sizes, reverse=True))
            self.assertEqual((dial[0]["run_ahead"], dial[0]["added_waits"], dial[-1]["run_ahead"]), (0, 0, 1))

    def test_memory_limit(self):
        self.assertEqual(call("bench", SMALL, *FAST, "--memory-limit", "1MiB")[0], 5)

    def test_profile_and_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            code, out, _ = call("profile", SMALL, "--trace", trace, "--runs", "1", "--sort", "order")
            self.assertEqual(code, 0)
            self.assertIn("GFLOP/s", out)
            with open(trace, encoding="utf-8") as file:
                self.assertGreater(len(json.load(file)["traceEvents"]), 20)

    def test_bench_and_trace(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = os.path.join(folder, "trace.json")
            self.assertEqual(call("bench", SMALL, *FAST, "--trace", trace)[0], 0)
            with open(trace, encoding="utf-8") as file:
                events = json.load(file)["traceEvents"]
            self.assertGreater(sum("Conv" in event["name"] for event in events), 10)
            self.assertEqual(call("bench", SMALL, SMALL, *FAST, "--trace", trace)[0], 0)
            self.assertTrue(os.path.exists(trace + ".1"))
            self.assertEqual(call("bench", SMALL, *FAST, "--trace", trace, "--repeat", "2")[0], 2)


class Files(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = self.temporary.name
        self.model = os.path.join(self.folder, "suite", "net", "model.onnx")
        self.data = os.path.join(self.folder, "suite", "net", "test_data_set_0")
        os.makedirs(os.path.dirname(self.model))
        self.assertEqual(call("gen", "squeezenet1_1?size=64", "--save", self.model, "-q")[0], 0)
        self.assertEqual(call("run", self.model, "--save", self.data, "-q")[0], 0)

    def tearDown(self):
        self.temporary.cleanup()

    def test_stored_outputs_check_on_both_backends(self):
        for backend in ("cpu", "reference"):
            code, out, err = call("check", os.path.dirname(self.model), "--backend", backend, "--atol", "1e-4")
            self.assertEqual(code, 0, out + err)
        code, out, _ = call("check", self.model, "--against", "reference")
        self.assertEqual(code, 0, out)
        code, out, _ = call("check", self.model, "--threads-sweep", "1,2,3", "-q")
        self.assertEqual(code, 0, out)

    def test_another_input_does_not_match(self):
        call("run", self.model, "--save", os.path.join(self.folder, "other"), "--input", "input=random:5", "-q")
        os.replace(os.path.join(self.folder, "other", "output_0.pb"), os.path.join(self.data, "output_0.pb"))
        self.assertEqual(call("check", os.path.dirname(self.model))[0], 1)

    def test_conformance_counts_and_lists(self):
        passed = os.path.join(self.folder, "passed")
        code, out, _ = call("conformance", os.path.join(self.folder, "suite"), "--json", "-", "--list-passed", passed)
        self.assertEqual(code, 0)
        result = json.loads(out)
        self.assertEqual([result[key] for key in ("total", "passed", "failed", "unsupported")], [1, 1, 0, 0])
        with open(passed, encoding="utf-8") as file:
            self.assertEqual(file.read(), "net\n")
        os.remove(os.path.join(self.data, "output_0.pb"))
        code, out, _ = call("conformance", os.path.join(self.folder, "suite"), "--expected", passed)
        self.assertEqual(code, 1)
        self.assertIn("FAILED net", out)

    def test_conformance_lists_and_selects(self):
        suite = os.path.join(self.folder, "suite")
        shutil.copytree(os.path.join(suite, "net"), os.path.join(suite, "net2"))
        self.assertEqual(call("conformance", suite, "--list")[:2], (0, "net\nnet2\n"))
        self.assertEqual(call("conformance", suite, "--list", "--filter", "2")[:2], (0, "net2\n"))
        self.assertEqual(call("conformance", suite, "--list", "--only", "net")[:2], (0, "net\n"))
        code, out, err = call("conformance", suite, "--only", "ne")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("none of 2 tests has a name that --only selects", err)

    def test_conformance_side_by_side_gives_the_same_report(self):
        suite = os.path.join(self.folder, "suite")
        for i in range(4):
            shutil.copytree(os.path.join(suite, "net"), os.path.join(suite, f"net{i}"))
        os.remove(os.path.join(suite, "net1", "test_data_set_0", "output_0.pb"))
        reports = []
        for jobs in ("1", "3"):
            code, out, _ = call("conformance", suite, "--jobs", jobs, "--json", "-")
            self.assertEqual(code, 1)
            report = json.loads(out)
            for test in report["tests"]:
                del test["time_ns"]
            reports.append(report)
        self.assertEqual(reports[0], reports[1])
        self.assertEqual([test["name"] for test in reports[0]["tests"]], ["net", "net0", "net1", "net2", "net3"])
        code, _, err = call("conformance", suite, "--jobs", "2", "--isolate", "off")
        self.assertEqual(code, 2)
        self.assertIn("--jobs needs processes", err)

    def test_conformance_writes_junit_and_markdown(self):
        suite = os.path.join(self.folder, "suite")
        shutil.copytree(os.path.join(suite, "net"), os.path.join(suite, "bad"))
        os.remove(os.path.join(suite, "bad", "test_data_set_0", "output_0.pb"))
        junit, markdown = os.path.join(self.folder, "junit.xml"), os.path.join(self.folder, "table.md")
        self.assertEqual(call("conformance", suite, "--junit", junit, "--markdown", markdown)[0], 1)
        tests = ElementTree.parse(junit).getroot().find("testsuite")
        self.assertEqual([tests.get(key) for key in ("name", "tests", "failures", "skipped")], ["cpu", "2", "1", "0"])
        self.assertEqual([(test.get("name"), len(test)) for test in tests], [("bad", 1), ("net", 0)])
        self.assertIn("output", tests[0].find("failure").get("message"))
        with open(markdown, encoding="utf-8") as file:
            text = file.read()
        self.assertIn("| cpu | 2 | 1 | 1 | 0 | 0 |\n", text)
        self.assertIn("| bad | failed | ", text)

    def test_conformance_against_another_backend_names_the_node(self):
        suite = os.path.join(self.folder, "suite")
        code, out, err = call("conformance", suite, "--against", "reference")
        self.assertEqual(code, 0, out + err)
        # Not a bit of difference is allowed: the first convolution already sums in another order.
        code, out, _ = call("conformance", suite, "--against", "reference", "--rtol", "0", "--atol", "0")
        self.assertEqual(code, 1)
        self.assertRegex(out, r"it begins at node '[^']+' \(Conv\)")

    def test_conformance_says_what_it_does_not_run(self):
        suite = os.path.join(self.folder, "suite")
        code, out, err = call("conformance", suite, "--filter", "nosuch")
        self.assertEqual((code, out), (3, ""))
        self.assertIn("none of 1 tests has a name that --filter selects", err)
        code, out, _ = call("conformance", suite, "--expected", os.path.join(self.folder, "nosuch"))
        self.assertEqual((code, out), (3, ""))
        words = os.path.join(suite, "words")
        os.makedirs(words)
        shutil.copy(self.model, os.path.join(words, "model.onnx"))
        code, out, _ = call("conformance", suite)
        self.assertEqual(code, 0)
        self.assertIn("1 more are not runnable, without a model or without data: words\n", out)
        shutil.rmtree(words)

    def test_npy_round_trip(self):
        arrays = os.path.join(self.folder, "npy")
        self.assertEqual(call("run", self.model, "--save", arrays, "--save-format", "npy", "-q")[0], 0)
        code, out, err = call("run", self.model, "--input", f"input={arrays}/input_input.npy", "--json", "-")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["outputs"], json.loads(call("run", self.model, "--json", "-")[1])["outputs"])

    def test_compare_files_baseline_and_commands(self):
        base = os.path.join(self.folder, "base.json")
        self.assertEqual(call("bench", self.model, *FAST, "--json", base)[0], 0)
        code, out, _ = call("compare", base, base)
        self.assertEqual(code, 0, out)
        self.assertIn("1.000", out)
        with open(base, encoding="utf-8") as file:
            fast = json.load(file)
        fast["latency_ns"]["block_medians"] = [1000.0] * 20
        fast["latency_ns"]["median"] = 1000.0
        with open(base, "w", encoding="utf-8") as file:
            json.dump(fast, file)
        self.assertEqual(call("bench", self.model, *FAST, "--baseline", base)[0], 1)
        code, out, err = call("compare", "--exec", f"cat {base}", "--exec", f"cat {base}", "--rounds", "3", "--json", "-")
        self.assertEqual(code, 0, err)
        self.assertEqual(json.loads(out)["commands"][1]["ratio"], 1.0)
        self.assertEqual(call("compare", "--exec", "echo no", "--exec", "echo no")[0], 3)

    def test_json_names_the_model_by_its_sha256(self):
        code, out, err = call("bench", self.model, *FAST, "--json", "-")
        self.assertEqual(code, 0, err)
        with open(self.model, "rb") as file:
            self.assertEqual(json.loads(out)["target"]["sha256"], hashlib.sha256(file.read()).hexdigest())
        self.assertNotIn("sha256", json.loads(call("bench", SMALL, *FAST, "--json", "-")[1])["target"])

    def test_check_and_conformance_obey_a_timeout(self):
        for arguments in (["check", self.model], ["check", self.model, "--against", "reference"],
                          ["conformance", os.path.join(self.folder, "suite")]):
            code, out, err = call(*arguments, "--timeout", "0.001")
            self.assertEqual((code, out), (7, ""), arguments)
            self.assertIn("--timeout of 0.001 s passed while ", err)

    def test_compile_writes_a_file_that_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "net.leat")
            code, out, err = call("compile", SMALL, "--save", path, "--quiet", "--json", "-")
            self.assertEqual(code, 0, err)
            result = json.loads(out)
            self.assertEqual(result["file_bytes"], os.path.getsize(path))
            self.assertEqual(result["plans"], 1)
            self.assertGreater(result["mapped_weight_bytes"], 0)
            self.assertEqual(os.listdir(folder), ["net.leat"])
        self.assertEqual(call("compile", SMALL)[0], 2)

    def test_inspect(self):
        code, out, _ = call("inspect", self.model, "--placement", "--memory", "--passes")
        self.assertEqual(code, 0)
        for word in ("Conv", "'input' f32[1,3,64,64]", "placement", "lower bound"):
            self.assertIn(word, out)

    def test_config_file_is_dumped_and_read(self):
        config = os.path.join(self.folder, "config.json")
        self.assertEqual(call("bench", "--runs", "3", "--warmup", "0", "--dump-config", config)[0], 0)
        code, out, _ = call("bench", self.model, "--config", config, "--json", "-", "-q")
        self.assertEqual((code, json.loads(out)["latency_ns"]["n"]), (0, 3))


class Pins(unittest.TestCase):
    ON_SIM = ["--device", "sim,cpu"]

    def first_node(self):
        return re.search(r"(?m)^  (\S+) = Conv", call("inspect", SMALL, "--text")[1])[1]

    def test_the_result_is_the_same(self):
        node = self.first_node()
        for command, *rest in ["run"], ["check", "--against", "cpu", "--rtol", "1e-3", "--atol", "1e-4"]:
            code, out, err = call(command, SMALL, *self.ON_SIM, "--place", f"{node}=cpu", *rest)
            self.assertEqual(code, 0, out + err)
        code, out, _ = call("inspect", SMALL, *self.ON_SIM, "--place", f"{node}=cpu", "--placement")
        self.assertEqual(code, 0)
        self.assertRegex(out, r"placement: cpu 1/\d+ nodes, sim")

    def test_errors_say_what_there_was(self):
        for place, code, message in (
            ("Conv", 2, "--place is 'Conv'; needed: NODE=DEVICE"),
            ("=cpu", 2, "--place is '=cpu'"),
            ("nonesuch=cpu", 2, "no node 'nonesuch'. There are: "),
            (f"{self.first_node()}=cup", 2, "one of 'sim', 'cpu'"),
        ):
            found, out, err = call("run", SMALL, *self.ON_SIM, "--place", place)
            self.assertEqual((found, out), (code, ""), err)
            self.assertIn(message, err)
        code, _, err = call("run", SMALL, *self.ON_SIM, "--place", "a=cpu", "--place", "a=sim")
        self.assertEqual(code, 2)
        self.assertIn("--place pins 'a' to 'cpu' and to 'sim'", err)


class Calibration(unittest.TestCase):
    DEVICES = ["--device", "sim,cpu", "--threads", "1"]

    def test_what_was_measured_is_kept_and_shown(self):
        with tempfile.TemporaryDirectory() as folder:
            cache = {"XDG_CACHE_HOME": folder}
            profile = ["profile", SMALL, "--calibrate", *self.DEVICES, "--runs", "1"]
            code, out, err = call(*profile, environment=cache)
            self.assertEqual(code, 0, err)
            self.assertRegex(out, r"calibration: \d+ measured now, 0 kept from before, 0 not measured")
            for line in (r"(?m)^ +\d+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ % +\d+ +now +Conv\(", "link to it", "in sum: roofline"):
                self.assertRegex(out, line)
            self.assertEqual(len(os.listdir(os.path.join(folder, "leat", "costs"))), 2)
            result = json.loads(call(*profile, "--json", "-", environment=cache)[1])
            self.assertEqual([d["device"] for d in result["calibration"]["devices"]], ["sim", "cpu"])
            self.assertEqual(result["calibration"]["measured"], 0)
            self.assertGreater(result["calibration"]["kept"], 0)
            self.assertGreater(result["run_ns"], 0)
            for device in result["calibration"]["devices"]:
                self.assertEqual(device["measured_nodes"], sum(row["nodes"] for row in device["operators"]))
            self.assertIn("links", result["calibration"]["devices"][0])
            inspect = ["inspect", SMALL, *self.DEVICES, "--placement"]
            self.assertIn("calibrated operators", call(*inspect, environment=cache)[1])
            report = json.loads(call(*inspect, "--json", "-", environment=cache)[1])["placement_report"]
            self.assertTrue(report["is_calibrated"])
            running = [node for node in report["nodes"] if node.get("estimated_ns")]
            self.assertEqual({node["source"] for node in running}, {"measured"})
            self.assertEqual(report["devices"][0]["link_source"], "measured")

    def test_a_folder_that_cannot_be_written_is_no_error(self):
        with tempfile.NamedTemporaryFile() as file:
            code, out, err = call("profile", SMALL, "--calibrate", "--device", "cpu", "--runs", "1",
                                  environment={"XDG_CACHE_HOME": file.name})
            self.assertEqual(code, 0, err)
            self.assertIn("measured now", out)


class Placement(unittest.TestCase):
    ARGUMENTS = ["inspect", SMALL, "--device", "sim,cpu", "--place", "features.3.squeeze=cpu"]

    def test_every_node_has_its_reason(self):
        with tempfile.TemporaryDirectory() as folder:  # without what the user has measured
            nothing = {"XDG_CACHE_HOME": folder}
            code, out, err = call(*self.ARGUMENTS, "--placement", environment=nothing)
            self.assertEqual(code, 0, err)
            json_text = call(*self.ARGUMENTS, "--placement", "--json", "-", environment=nothing)[1]
        for line in ("not calibrated", r"(?m)^features.3.squeeze +Conv +cpu +- +[\d.]+ +pinned$",
                     r"(?m)^features.0 +Conv +sim +0 +[\d.]+ +the first of the list that takes it$"):
            self.assertRegex(out, line)
        report = json.loads(json_text)["placement_report"]
        self.assertEqual([device["device"] for device in report["devices"]], ["sim", "cpu"])
        running = [node for node in report["nodes"] if node["device"]]
        self.assertEqual(sum(device["nodes"] for device in report["devices"]), len(running))
        shares = [device["share"] for device in report["devices"]] + [report["moving_share"]]
        self.assertAlmostEqual(sum(shares), 1)
        for direction, key in ("to", "bytes_in"), ("from", "bytes_out"):
            moved = sum(value["bytes"] for value in report["moved"] if value[direction] == "sim")
            self.assertEqual(moved, report["devices"][0][key])
        self.assertFalse(report["is_calibrated"])

    def test_pictures(self):
        with tempfile.TemporaryDirectory() as folder:
            svg, dot = os.path.join(folder, "graph.svg"), os.path.join(folder, "graph.dot")
            code, out, err = call(*self.ARGUMENTS, "--dot", dot, "--svg", svg)
            self.assertEqual(code, 0, err)
            report = json.loads(call(*self.ARGUMENTS, "--placement", "--json", "-")[1])["placement_report"]
            running = sum(node["device"] is not None for node in report["nodes"])
            boxes = [e for e in ElementTree.parse(svg).getroot() if e.tag.endswith("}g")]
            self.assertEqual(len(boxes), running + 2, "the nodes, an input and an output")
            with open(dot, encoding="utf-8") as file:
                self.assertEqual(len(re.findall(r"(?m)^ +n\d+ \[", file.read())), running + 2)

    def test_one_picture_at_a_time(self):
        code, out, err = call("inspect", SMALL, "--placement", "--memory", "--svg", "none.svg")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("--svg draws one picture", err)


class Plan(unittest.TestCase):
    # Buffers 0 and 1 are alive together, and so are 1 and 2: 30 bytes.
    CHAIN = "id,lower,upper,size\nfirst,0,20,10\nsecond,10,3000000000,20\nthird,20,40,10\n"

    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def file(self, text):
        name = os.path.join(self.folder, "problem.csv")
        with open(name, "w", encoding="utf-8") as out:
            out.write(text)
        return name

    def plan(self, text, *options):
        return call("plan", self.file(text), *options)

    def test_json_and_the_lowest_plan(self):
        code, out, _ = self.plan(self.CHAIN, "--json", "-")
        result = json.loads(out)
        self.assertEqual(code, 0)
        self.assertEqual((result["buffers"], result["height_bytes"], result["bound_bytes"]), (3, 30, 30))
        self.assertIsNone(result["capacity_bytes"])
        self.assertTrue(result["proved"])
        self.assertGreaterEqual(result["nodes"], 0)

    def test_capacity_and_saved_offsets(self):
        saved = os.path.join(self.folder, "offsets.csv")
        code, out, _ = self.plan(self.CHAIN, "--capacity", "1KiB", "--save", saved)
        self.assertEqual(code, 0)
        self.assertIn("3 buffers: 30 bytes", out)
        with open(saved, encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual([row["id"] for row in rows], ["first", "second", "third"])
        places = {row["id"]: (int(row["offset"]), int(row["offset"]) + int(row["size"])) for row in rows}
        for a, b in (("first", "second"), ("second", "third")):
            self.assertTrue(places[a][1] <= places[b][0] or places[b][1] <= places[a][0], places)

    def test_a_capacity_below_the_bound_is_impossible(self):
        code, out, err = self.plan(self.CHAIN, "--capacity", "29")
        self.assertEqual((code, out), (5, ""))
        self.assertIn("impossible: 30 bytes are alive at once, 1 too many", err)
        code, out, _ = self.plan(self.CHAIN, "--capacity", "29", "--json", "-")
        self.assertEqual(code, 5)
        self.assertEqual((json.loads(out)["height_bytes"], json.loads(out)["proved"]), (None, True))

    def test_bad_files_are_named_with_line_and_need(self):
        for text, message in (
            ("", "no header"),
            ("id,lower,size\n", "no column 'upper'"),
            ("id,lower,upper,size\n0,1,2\n", ":2: 3 fields"),
            ("id,lower,upper,size\n0,1,2,3\n\n1,5,5,3\n", ":4: alive in [5, 5)"),
            ("id,lower,upper,size\n0,1,2,many\n", ":2: size is 'many'"),
            ("id,lower,upper,size\n0,-1,2,3\n", ":2: lower is '-1'"),
            ("id,lower,upper,size\n" + 3 * "0,1,2,9223372036854775807\n", "more than"),
        ):
            code, out, err = self.plan(text)
            self.assertEqual(out, "", text)
            self.assertIn(code, (3, 5), text)
            self.assertIn(message, err)
        self.assertEqual(call("plan", os.path.join(self.folder, "none.csv"))[0], 3)
        self.assertEqual(call("plan")[0], 2)

    def test_the_problems_of_minimalloc_fit(self):
        folder = os.path.join(os.environ.get("LEAT_TEST_DATA", ""), "data", "minimalloc")
        if not os.path.isdir(folder):
            self.skipTest("LEAT_TEST_DATA is unset: no problems of MiniMalloc")
        # Steps, not seconds; docs/measurements/packing.md has how many are needed.
        nodes = {"A": 1_000, "B": 1_000, "C": 1_000, "D": 20_000, "E": 200_000, "F": 40_000}
        for name, most in nodes.items():
            code, out, err = call("plan", os.path.join(folder, name + ".1048576.csv"), "--capacity", "1048576",
                                  "--nodes", str(most), "--json", "-")
            self.assertEqual(code, 0, err)
            self.assertLessEqual(json.loads(out)["height_bytes"], 1048576)


class Machine(unittest.TestCase):
    def test_devices_and_doctor(self):
        code, out, _ = call("devices", "--json", "-")
        self.assertEqual(code, 0)
        self.assertIn("cpu", [backend["name"] for backend in json.loads(out)["backends"]])
        self.assertIn(call("doctor")[0], (0, 9))

    def vulkan(self, *options, **environment):
        """The JSON of Vulkan, and what the text says after the table of memory nodes."""
        code, out, _ = call("devices", *options, "--json", "-", environment=environment)
        self.assertEqual(code, 0)
        code, text, _ = call("devices", *options, environment=environment)
        self.assertEqual(code, 0)
        report = json.loads(out)["vulkan"]
        self.assertEqual(list(report), ["available", "reason", "devices"])
        return report, text[text.index("\nVulkan ") + 1:]

    def test_devices_tell_of_vulkan(self):
        report, text = self.vulkan()
        self.assertEqual(report["available"], report["devices"] != [])
        self.assertEqual(report["available"], report["reason"] == "")
        if not report["available"]:
            self.assertEqual(text, f"Vulkan     {report['reason']}\n")
        for number, device in enumerate(report["devices"]):
            self.assertEqual(list(device), [
                "name", "kind", "used_by_default", "reason", "tier", "next_tier_needs", "identity",
                "timestamp_period_ns", "limits", "features", "memory", "queue_families", "cooperative_matrices",
                "extensions"])
            self.assertEqual(list(device["identity"]), [
                "api_version", "driver", "driver_id", "driver_version", "conformance", "vendor_id", "device_id",
                "device_uuid", "driver_uuid", "pipeline_cache_uuid", "pci"])
            self.assertNotEqual(device["reason"], "")
            self.assertGreater(device["limits"]["maxMemoryAllocationSize"], 0)
            self.assertIn(device["features"]["timelineSemaphore"], (True, False))
            self.assertNotEqual(device["memory"]["types"], [])
            self.assertNotEqual(device["queue_families"], [])
            self.assertEqual(device["used_by_default"] and device["kind"] == "CPU", False)
            rows = [line for line in text.splitlines() if line.startswith(f"vulkan:{number}")]
            used = "yes" if device["used_by_default"] else "no"
            for part in (device["name"], device["kind"], f"{used}: {device['reason']}", device["identity"]["driver"]):
                self.assertIn(part, rows[0])
            self.assertRegex(rows[1], rf": subgroups of {device['limits']['subgroupSize']}, .* queues \d+$")
            missing = device["next_tier_needs"]
            self.assertEqual(rows[2:], [f"vulkan:{number}: tier {device['tier'] + 1} needs {missing}"] if missing else [])

    def test_devices_without_the_vulkan_backend_say_how_to_build_it(self):
        with tempfile.TemporaryDirectory() as folder:
            report, text = self.vulkan("--backend-path", folder)
        self.assertEqual((report["available"], report["devices"]), (False, []))
        self.assertEqual(text, f"Vulkan     {report['reason']}\n")
        if report["reason"].startswith("not built: "):
            return  # configured without Vulkan
        self.assertIn(f"nothing at {folder}/leat_vulkan.so", report["reason"])
        build, target = re.search(r"; this builds it: ninja -C (\S+) (\S+)$", report["reason"]).groups()
        self.assertTrue(os.path.realpath(GRAPHBENCH).startswith(os.path.realpath(build) + os.sep))
        subprocess.run(["ninja", "-C", build, "-t", "query", target], check=True, stdout=subprocess.DEVNULL)
        # And it is looked for where that builds it.
        if os.path.exists(os.path.join(build, target)):
            self.assertNotIn("not found", self.vulkan()[0]["reason"])
        else:
            self.assertIn(f"nothing at {os.path.join(build, target)}", self.vulkan()[0]["reason"])

    def test_devices_without_a_vulkan_loader_or_driver_say_so(self):
        if re.match("not (built|found)", self.vulkan()[0]["reason"]):
            self.skipTest("there is no Vulkan backend")
        with tempfile.TemporaryDirectory() as folder:
            pathlib.Path(folder, "libvulkan.so.1").write_text("no library", encoding="utf-8")
            cases = (({"LD_LIBRARY_PATH": folder}, "no Vulkan loader"),
                     ({"VK_DRIVER_FILES": "/no/driver.json", "VK_ICD_FILENAMES": "/no/driver.json"}, "no Vulkan driver"))
            for environment, reason in cases:
                report, text = self.vulkan(**environment)
                self.assertEqual((report["available"], report["devices"]), (False, []))
                self.assertIn(reason, report["reason"])
                self.assertEqual(text, f"Vulkan     {report['reason']}\n")

    def test_numa_matrix_has_every_pair_of_nodes(self):
        code, out, _ = call("devices", "--numa-matrix", "--buffer", "8MiB", "--json", "-")
        self.assertEqual(code, 0)
        result = json.loads(out)
        nodes = result["memory_nodes"]
        readers = [node["numa_node"] for node in nodes if node["has_cpus"]]
        matrix = result["numa_matrix"]
        self.assertEqual(sorted((pair["memory_node"], pair["reader_node"]) for pair in matrix["pairs"]),
                         sorted((node["numa_node"], reader) for node in nodes for reader in readers))
        for pair in matrix["pairs"]:
            self.assertGreater(pair["thread_gb_per_s"], 0)
            self.assertGreater(pair["latency_ns"], 0)
        self.assertEqual([row["placement"] for row in matrix["weights"]],
                         ["home", "interleave", "replicate", "partition"])

    def test_run_tells_where_pages_are(self):
        for numa in ("on", "off", "all", "shards"):
            code, out, _ = call("run", SMALL, "--numa", numa, "--json", "-")
            self.assertEqual(code, 0)
            activations = [part for part in json.loads(out)["pages"]["memory"] if part["memory"] == "activations"]
            self.assertEqual(len(activations), 1)
            self.assertEqual(activations[0]["absent"], 0)


if __name__ == "__main__":
    unittest.main()
