#!/usr/bin/env python3
"""graphbench with the custom operators of a shared object, on ONNX files written here: what they compute, and how
conformance and check go on where they crash, hang or fail as they should.

Usage: graphbench_operators_test.py GRAPHBENCH OPERATORS.so
"""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import unittest

GRAPHBENCH, OPERATORS = (str(pathlib.Path(argument).resolve()) for argument in sys.argv[1:3])


def varint(value):
    out = b""
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def number_field(number, value):
    return varint(number << 3) + varint(value)


def value_info(name):
    shape = field(1, number_field(1, 2))
    return field(1, name) + field(2, field(1, number_field(1, 1) + field(2, shape)))


def model_of(op):
    """x [2] --> acme.<op> --> y, by the field numbers of onnx.proto."""
    node = field(1, "x") + field(2, "y") + field(3, op.lower()) + field(4, op) + field(7, "acme")
    graph = field(1, node) + field(2, "g") + field(11, value_info("x")) + field(12, value_info("y"))
    opsets = [("", 13), ("acme", 1)]
    return number_field(1, 8) + field(7, graph) + b"".join(
        field(8, field(1, domain) + number_field(2, version)) for domain, version in opsets)


def tensor(values):
    return number_field(1, len(values)) + number_field(2, 1) + field(9, struct.pack(f"<{len(values)}f", *values))


class Operators(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = pathlib.Path(self.folder.name) / "model.onnx"
        self.model.write_bytes(model_of("Scale"))

    def graphbench(self, command, *options, **where):
        return subprocess.run([GRAPHBENCH, command, self.model, *options], capture_output=True, text=True, check=False, **where)

    def test_run_uses_the_operators(self):
        done = self.graphbench("run", "--input", "x=ones", "--operators", OPERATORS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"output +y .*mean 2\b")

    def test_a_name_without_a_slash_is_in_the_current_folder(self):
        operators = pathlib.Path(OPERATORS)
        done = self.graphbench("run", "--input", "x=ones", "--operators", operators.name, cwd=operators.parent)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_check_compares_backends(self):
        done = self.graphbench("check", "--against", "reference", "--operators", OPERATORS)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_without_them_the_message_says_how(self):
        done = self.graphbench("run")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("acme.Scale", done.stderr)
        self.assertIn("--operators FILE.so", done.stderr)

    def test_a_file_that_is_not_there_is_named(self):
        done = self.graphbench("run", "--operators", "/nowhere/none.so")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("/nowhere/none.so", done.stderr)


class Suite(unittest.TestCase):
    """Folders of tests of which some end their process."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name) / "suite"

    def add(self, name, op, given, wanted=None, **files):
        """A test; `files`: contents by stem."""
        test = self.folder / name
        (test / "test_data_set_0").mkdir(parents=True)
        (test / "model.onnx").write_bytes(model_of(op))
        (test / "test_data_set_0" / "input_0.pb").write_bytes(tensor(given))
        if wanted is not None:
            (test / "test_data_set_0" / "output_0.pb").write_bytes(tensor(wanted))
        for stem, text in files.items():
            (test / f"{stem}.txt").write_text(text, encoding="utf-8")
        return test

    def command(self, command, folder, *options):
        return [GRAPHBENCH, command, folder, "--operators", OPERATORS, "--threads", "1", *options]

    def call(self, *arguments):
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True, check=False, timeout=100)
        return done.returncode, done.stdout, done.stderr

    def statuses(self, *options):
        code, out, err = self.call("conformance", self.folder, "--json", "-", *options)
        result = json.loads(out)
        self.assertEqual(code, 1 if result["failed"] else 0, err)
        return {test["name"]: (test["status"], test.get("reason", "")) for test in result["tests"]}, result

    def test_a_test_that_ends_its_process_has_failed_and_the_next_go_on(self):
        self.add("a_good", "Fatal", [9, 1], [9, 1])
        self.add("b_aborts", "Fatal", [1, 1], [1, 1])
        self.add("c_bad_address", "Fatal", [2, 1], [2, 1])
        self.add("d_hangs", "Fatal", [3, 1], [3, 1])
        self.add("e_exits", "Fatal", [4, 1], [4, 1])
        self.add("f_good", "Scale", [1, 2], [2, 4])
        statuses, result = self.statuses("--test-timeout", "3")
        self.assertEqual(statuses["a_good"], ("passed", ""))
        self.assertEqual(statuses["f_good"], ("passed", ""))
        self.assertEqual([statuses[name][0] for name in sorted(statuses)], ["passed"] + 4 * ["failed"] + ["passed"])
        self.assertIn(f"signal {signal.SIGABRT.value} (SIGABRT", statuses["b_aborts"][1])
        # A sanitizer makes an exit of it.
        self.assertRegex(statuses["c_bad_address"][1], r"signal 11 \(SIGSEGV|exit code")
        self.assertIn("did not end within 3 s", statuses["d_hangs"][1])
        self.assertIn("exit code 5", statuses["e_exits"][1])
        self.assertEqual([result[key] for key in ("total", "passed", "failed")], [6, 2, 4])

    def interrupted(self, json_to, until):
        """Standard output of tests of which the last one hangs: up to `until`, and after SIGINT."""
        self.add("a_aborts", "Fatal", [1, 1], [1, 1])
        self.add("b_good", "Fatal", [9, 1], [9, 1])
        self.add("c_hangs", "Fatal", [3, 1], [3, 1])
        with subprocess.Popen(self.command("conformance", self.folder, "--json", json_to),
                              stdout=subprocess.PIPE) as process:
            self.addCleanup(process.kill)
            timer = threading.Timer(60, process.kill)
            timer.start()
            self.addCleanup(timer.cancel)
            text = ""
            while until not in text:
                text += (more := os.read(process.stdout.fileno(), 4096).decode())
                self.assertNotEqual(more, "")
            yield text
            process.send_signal(signal.SIGINT)
            rest = process.stdout.read().decode()
        self.assertEqual(process.returncode, 130)
        yield rest

    def test_results_come_while_the_next_test_runs(self):
        result = json.loads("".join(self.interrupted("-", '"b_good"')))
        self.assertEqual([(test["name"], test["status"]) for test in result["tests"]],
                         [("a_aborts", "failed"), ("b_good", "passed")])
        self.assertTrue(result["interrupted"])

    def test_a_file_of_results_appears_whole(self):
        file = self.folder / "results.json"
        parts = self.interrupted(file, "a_aborts")
        self.assertIn("FAILED a_aborts: ended by signal", next(parts))
        self.assertFalse(file.exists())
        self.assertRegex(next(parts), r"total [12]  passed [01]  failed 1")
        result = json.loads(file.read_text(encoding="utf-8"))
        self.assertEqual(result["tests"][0]["name"], "a_aborts")
        self.assertTrue(result["interrupted"])

    def test_an_expected_error_has_to_come_and_to_match(self):
        self.add("a_matches", "Picky", [0, 1], expected_error="X is ZERO\n\npick(y|ed)\n")
        self.add("b_other", "Picky", [0, 1], expected_error="x is zero\nx is negative\n")
        self.add("c_none", "Picky", [1, 1], expected_error="x is zero\n")
        self.add("zero_in_path", "Picky", [-1, 1], expected_error="zero_in_path\n")
        self.add("e_no_pattern", "Picky", [0, 1], expected_error="(\n")
        self.add("f_crash", "Fatal", [1, 1], expected_error="signal\n")
        model_alone = self.add("g_model", "Nonesuch", [0, 1], expected_error="acme.Nonesuch\n")
        (model_alone / "test_data_set_0" / "input_0.pb").unlink()
        (model_alone / "test_data_set_0").rmdir()
        statuses, _ = self.statuses()
        self.assertEqual(statuses["a_matches"], ("passed", ""))
        self.assertEqual(statuses["g_model"], ("passed", ""))
        self.assertEqual({statuses[name][0] for name in statuses if name not in ("a_matches", "g_model")}, {"failed"})
        self.assertIn("does not match 'x is negative': ", statuses["b_other"][1])
        self.assertIn("x is zero", statuses["b_other"][1])
        self.assertIn("test_data_set_0 gives no error; needed one that matches 'x is zero'", statuses["c_none"][1])
        self.assertIn("does not match 'zero_in_path'", statuses["zero_in_path"][1])
        self.assertIn("'(' is no regular expression", statuses["e_no_pattern"][1])
        self.assertIn("SIGABRT", statuses["f_crash"][1])

    def test_words_are_not_compared_but_missing_outputs_fail(self):
        self.add("a_words", "Picky", [1, 1], expected="any number is right")
        self.add("b_words_and_error", "Picky", [0, 1], expected="an error would be right, too")
        self.add("c_nothing", "Picky", [1, 1])
        self.add("d_words_and_outputs", "Picky", [1, 1], [7, 7], expected="ones")
        self.add("e_words_and_crash", "Fatal", [1, 1], expected="no crash")
        statuses, result = self.statuses()
        self.assertEqual(statuses["a_words"][0], "not_compared")
        self.assertIn('"any number is right"; test_data_set_0 ran to its end', statuses["a_words"][1])
        self.assertEqual(statuses["b_words_and_error"][0], "not_compared")
        self.assertIn("x is zero", statuses["b_words_and_error"][1])
        self.assertEqual([statuses[name][0] for name in sorted(statuses)][2:], 3 * ["failed"])
        self.assertEqual([result[key] for key in ("total", "passed", "failed", "not_compared")], [5, 0, 3, 2])

    def test_without_isolation_the_rules_are_the_same(self):
        self.add("a_good", "Scale", [1, 2], [2, 4])
        self.add("b_matches", "Picky", [0, 1], expected_error="x is zero")
        statuses, _ = self.statuses("--isolate", "off")
        self.assertEqual(statuses, {"a_good": ("passed", ""), "b_matches": ("passed", "")})
        self.add("c_aborts", "Fatal", [1, 1], [1, 1])
        code, _, _ = self.call("conformance", self.folder, "--isolate", "off")
        self.assertEqual(code, -signal.SIGABRT)

    def test_check_judges_errors_crashes_and_hangs(self):
        ways = {"good": ("Scale", [1, 2], [2, 4], {}, 0, "passed"),
                "error": ("Picky", [0, 1], None, {"expected_error": "x is zero"}, 0, "passed"),
                "no_error": ("Picky", [1, 1], None, {"expected_error": "x is zero"}, 1, "gives no error"),
                "words": ("Picky", [1, 1], None, {"expected": "right as it is"}, 0, "not compared: "),
                "aborts": ("Fatal", [1, 1], [1, 1], {}, 1, "FAILED: the check ended by signal 6 (SIGABRT"),
                "hangs": ("Fatal", [3, 1], [3, 1], {}, 1, "FAILED: the check did not end within 1 s")}
        for name, (op, given, wanted, files, code, text) in ways.items():
            folder = self.add(name, op, given, wanted, **files)
            limit = ["--test-timeout", "1"] if name == "hangs" else []
            found, out, err = self.call("check", folder, *limit)
            self.assertEqual(found, code, name + out + err)
            self.assertIn(text, out, name)
            found, out, err = self.call("check", folder, *limit, "--json", "-")
            self.assertEqual(found, code, name + out + err)
            self.assertEqual(json.loads(out)["passed"], None if name == "words" else code == 0, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
