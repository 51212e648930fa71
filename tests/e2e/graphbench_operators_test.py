#!/usr/bin/env python3
"""graphbench run and check with the custom operators of a shared object, on an ONNX file written here.

Usage: graphbench_operators_test.py GRAPHBENCH OPERATORS.so
"""
import pathlib
import subprocess
import sys
import tempfile
import unittest

GRAPHBENCH, OPERATORS = sys.argv[1:3]


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


def scale_model():
    """x [2] --> acme.Scale --> y, by the field numbers of onnx.proto."""
    node = field(1, "x") + field(2, "y") + field(3, "scale") + field(4, "Scale") + field(7, "acme")
    graph = field(1, node) + field(2, "g") + field(11, value_info("x")) + field(12, value_info("y"))
    opsets = [("", 13), ("acme", 1)]
    return number_field(1, 8) + field(7, graph) + b"".join(
        field(8, field(1, domain) + number_field(2, version)) for domain, version in opsets)


class Operators(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = pathlib.Path(self.folder.name) / "model.onnx"
        self.model.write_bytes(scale_model())

    def graphbench(self, command, *options):
        return subprocess.run([GRAPHBENCH, command, self.model, *options], capture_output=True, text=True, check=False)

    def test_run_uses_the_operators(self):
        done = self.graphbench("run", "--input", "x=ones", "--operators", OPERATORS)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"output +y .*mean 2\b")

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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
