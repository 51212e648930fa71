#!/usr/bin/env python3
"""The commands of tools/ with programs that only pretend to build. Usage: tools_test.py SOURCE_ROOT"""
import os
import pathlib
import pty
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv[1])
# As ninja prints where its output is no terminal, with the status that it was asked for. The error has 300 lines.
NINJA = """#!/bin/bash
[ "${*: -1}" = build.ninja ] && { echo "many lines of set-up"; exit $REPEAT_ERROR; }
[ -t 1 ] && { echo "ninja on a terminal"; exit; }
echo "ninja: Entering directory 'build'"
for i in $(seq 1 $STEPS); do
    status=${NINJA_STATUS//%f/$i}
    echo "${status//%t/698}Compiling C++ object some_file.cpp.o"
done
if [ -n "$ERROR" ]; then
    echo "FAILED: some_file.cpp.o"
    echo "c++ -c some_file.cpp"
    for i in $(seq 1 300); do echo "  some_file.cpp:$i:  * is \\\\n wrong"; done
    echo "ninja: build stopped: subcommand failed."
    exit 1
fi
"""
MESON = """#!/bin/bash
echo "many lines of set-up"
[ -z "$SETUP_ERROR" ] || { echo "meson.build:1:0: ERROR: no compiler"; exit 1; }
mkdir -p build/benchmarks/graphbench
touch build/build.ninja
cp "$GRAPHBENCH" build/benchmarks/graphbench/graphbench
"""
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
        self.program("dpkg-query", "#!/bin/sh\necho installed\n")
        self.program("apt-get", "#!/bin/sh\nexit 1\n")
        self.program("ninja", NINJA)
        self.program("meson", MESON)
        graphbench = self.program("measure", "#!/bin/sh\necho \"measured: $*\"\n")
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("CCACHE")}
        self.environment.update(PATH=f"{self.programs}:{os.environ['PATH']}", GRAPHBENCH=str(graphbench), STEPS="698",
                                ERROR="", SETUP_ERROR="", REPEAT_ERROR="0")

    def program(self, name, text):
        path = self.programs / name
        path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def quickstart(self, **environment):
        return subprocess.run([self.clone / "tools/quickstart"], env={**self.environment, **environment}, text=True,
                              capture_output=True, check=False)


class Quickstart(Tools):
    def test_output_without_a_terminal_is_short(self):
        done = self.quickstart()
        self.assertEqual((done.returncode, done.stdout), (0, "measured: bench gen:resnet50\n"))
        lines = done.stderr.splitlines()
        self.assertEqual(lines[0], "build: " + ", ".join(f"{tens}0 %" for tens in range(1, 11)))
        self.assertRegex(done.stderr, r"set-up \d+ s, build \d+ s, measurement \d+ s")
        for what_next in ("graphbench --help", "ninja -C build", "tools/test", "README.md"):
            self.assertIn(what_next, done.stderr)
        self.assertLess(len(lines), 12)

    def test_a_second_run_only_builds_what_changed(self):
        self.assertEqual(self.quickstart().returncode, 0)
        done = self.quickstart(SETUP_ERROR="1", STEPS="0")
        self.assertEqual(done.returncode, 0, done.stderr)
        for text in ("%", "Entering directory", "many lines of set-up"):
            self.assertNotIn(text, done.stderr)
        done = self.quickstart(REPEAT_ERROR="1")
        self.assertEqual((done.returncode, done.stderr), (1, "many lines of set-up\n"))

    def test_messages_of_a_compiler_are_whole(self):
        done = self.quickstart(STEPS="350", ERROR="1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        wrong = [f"  some_file.cpp:{i}:  * is \\n wrong" for i in range(1, 301)]
        self.assertEqual(done.stderr.splitlines(), ["build: 10 %, 20 %, 30 %, 40 %, 50 %", "FAILED: some_file.cpp.o",
                                                    "c++ -c some_file.cpp", *wrong,
                                                    "ninja: build stopped: subcommand failed."])

    def test_a_failed_set_up_says_why_and_may_be_repeated(self):
        done = self.quickstart(SETUP_ERROR="1")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertEqual(done.stderr.splitlines(), ["many lines of set-up", "meson.build:1:0: ERROR: no compiler"])
        self.assertEqual(self.quickstart().returncode, 0)

    def test_ninja_has_its_own_line_on_a_terminal(self):
        ours, theirs = pty.openpty()
        subprocess.run([self.clone / "tools/quickstart"], env=self.environment, stdout=subprocess.DEVNULL, stderr=theirs,
                       check=True)
        os.close(theirs)
        self.assertIn("ninja on a terminal", os.read(ours, 4096).decode())
        os.close(ours)


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
