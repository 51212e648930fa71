#!/usr/bin/env python3
"""README.md shows the programs that the embedding tests build, and only options that graphbench has.

Usage: readme_test.py SOURCE_ROOT GRAPHBENCH
"""
import pathlib
import re
import subprocess
import sys
import unittest

ROOT, GRAPHBENCH = pathlib.Path(sys.argv[1]), sys.argv[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


class Readme(unittest.TestCase):
    def test_programs_are_the_tested_ones(self):
        for name in ("load_and_run.cpp", "build_and_run.cpp"):
            text = (ROOT / "tests/consumers" / name).read_text(encoding="utf-8")
            self.assertIn(f"```cpp\n{text}```", README, name)

    def test_task_graph_is_the_tested_one(self):
        def squeeze(text):
            return re.sub(r"\s", "", text)
        block = README[README.index("leat::scheduler::TaskGraph graph;"):README.index("leat::Status status = graph.run")]
        program = (ROOT / "docs/examples/ten_lines.cpp").read_text(encoding="utf-8")
        self.assertIn(squeeze(block), squeeze(program))

    def test_links_lead_to_files(self):
        prose = re.sub(r"```.*?```", "", README, flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            self.assertTrue((ROOT / target).exists(), target)

    def test_commands_and_options_exist(self):
        for command, rest in re.findall(r"`graphbench (\w+)([^`]*)`", README):
            done = subprocess.run([GRAPHBENCH, command, "--help"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 0, command)
            for option in re.findall(r"--[a-z-]+", rest):
                self.assertIn(option, done.stdout, f"graphbench {command}{rest}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
