#!/usr/bin/env python3
"""The commands of tools/ with programs that only pretend to build. Usage: tools_test.py SOURCE_ROOT"""
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])
CCACHE = """#!/bin/bash
origin_of() { [ -n "${!1+x}" ] && echo "(environment)" || echo "${2:-(default)}"; }
echo "$(origin_of CCACHE_SLOPPINESS) sloppiness = $CCACHE_SLOPPINESS"
echo "$(origin_of CCACHE_BASEDIR "$BASE_DIR_ORIGIN") base_dir = $CCACHE_BASEDIR"
echo "$(origin_of CCACHE_NOHASHDIR) hash_dir = true"
"""


class Tools(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.clone = self.folder / "clone"
        shutil.copytree(ROOT / "tools", self.clone / "tools")
        self.programs = self.folder / "programs"
        self.programs.mkdir()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CCACHE")}
        self.environment["PATH"] = f"{self.programs}:{os.environ['PATH']}"

    def program(self, name, text):
        path = self.programs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path


class Environment(Tools):
    def variables(self, **environment):
        done = subprocess.run(["bash", "-euc", ". tools/environment.sh; env"], cwd=self.clone, text=True, check=True,
                              env={**self.environment, **environment}, capture_output=True)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if line.startswith("CCACHE"))

    def test_ccache_finds_what_another_clone_has_compiled(self):
        self.program("ccache", CCACHE)
        self.assertEqual(self.variables(), {"CCACHE_SLOPPINESS": "pch_defines,time_macros", "CCACHE_NOHASHDIR": "1",
                                            "CCACHE_BASEDIR": str(self.clone)})

    def test_what_the_user_has_set_stays(self):
        self.program("ccache", CCACHE)
        self.assertEqual(self.variables(CCACHE_SLOPPINESS="file_stat_matches", BASE_DIR_ORIGIN="(ccache.conf)"),
                         {"CCACHE_SLOPPINESS": "file_stat_matches", "CCACHE_NOHASHDIR": "1"})

    def test_nothing_is_set_without_ccache(self):
        self.environment["PATH"] = str(self.programs)
        for needed in ("bash", "env", "grep"):
            (self.programs / needed).symlink_to(shutil.which(needed))
        self.assertEqual(self.variables(), {})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
