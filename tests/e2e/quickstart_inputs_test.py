#!/usr/bin/env python3
"""What tools/quickstart builds has nothing of the Vulkan backend: quickstart_inputs_test.py BUILD_ROOT TARGET"""
import re
import subprocess
import sys
import unittest

BUILD_ROOT, TARGET = sys.argv[1:]
VULKAN = re.compile(r"src/backends/vulkan/|_vulkan\.cpp|shaders/|\.spv\.h|glslang")


def inputs_of(target):
    """Every file that the target is made of, directly or not."""
    done = subprocess.run(["ninja", "-C", BUILD_ROOT, "-t", "inputs", target], stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in done.stdout.splitlines() if not line.startswith("ninja: Entering directory")]


class QuickstartInputs(unittest.TestCase):
    def test_hold_the_program_and_the_library(self):
        inputs = inputs_of(TARGET)
        for part in ("benchmarks/graphbench/main.cpp", "benchmarks/graphbench/libgraphbench_parts.a", "src/libleat_core.a"):
            self.assertTrue([name for name in inputs if name.endswith(part)], part)

    def test_hold_nothing_of_vulkan(self):
        self.assertEqual([name for name in inputs_of(TARGET) if VULKAN.search(name)], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
