#!/usr/bin/env python3
"""docs/adding-a-backend.md quotes docs/examples/my_backend, which is built and tested.

Each block of C++ or Meson stands in a file of the example as it is; `// ...` parts pieces of one file.
Usage: adding_a_backend_test.py SOURCE_ROOT
"""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1])
DOC = (ROOT / "docs/adding-a-backend.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "docs/examples/my_backend"


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


FILES = {path.name: squeeze(path.read_text(encoding="utf-8")) for path in sorted(EXAMPLE.iterdir())
         if path.is_file()}
BLOCKS = re.findall(r"```(?:cpp|meson)\n(.*?)```", DOC, flags=re.DOTALL)


class AddingABackend(unittest.TestCase):
    def test_code_is_that_of_the_example(self):
        self.assertGreaterEqual(len(BLOCKS), 6)
        for block in BLOCKS:
            pieces = [squeeze(piece) for piece in re.split(r"^ *// \.\.\.\n", block, flags=re.MULTILINE)]
            where = [name for name, text in FILES.items() if all(piece in text for piece in pieces)]
            self.assertTrue(where, f"in no file of the example:\n{block}")

    def test_every_file_is_named(self):
        for name in FILES:
            self.assertIn(f"`{name}`", DOC)

    def test_links_lead_to_files(self):
        for target in re.findall(r"\]\(([^)#:]+)\)", re.sub(r"```.*?```", "", DOC, flags=re.DOTALL)):
            self.assertTrue((ROOT / "docs" / target).exists(), target)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
