#!/usr/bin/env python3
"""What graphbench keeps when a signal ends it, and what a file is when there is no room for it.

Usage: interruptions_test.py GRAPHBENCH [test name...]
"""
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

GRAPHBENCH = os.path.realpath(sys.argv.pop(1))
TINY = "gen:bert_base?layers=1,width=64,tokens=8,vocab=100"
LIMIT_S = 60
MARK = f"GRAPHBENCH_TEST_MARK={os.getpid()}"


def wait_until(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(0.02)


def catches(process, number):
    """Whether the process has a handler for the signal: from then on it keeps partial results."""
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        masks = dict(line.split(":", 1) for line in status if line.startswith("Sig"))
    return int(masks["SigCgt"], 16) >> (number - 1) & 1 == 1


def marked():
    """Processes that come from this test, but for zombies."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if MARK.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            pass
    return found


class Scratch(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.file = self.folder / "r.json"

    def tearDown(self):
        self.temporary.cleanup()

    def start(self, *arguments, **options):
        name, value = MARK.split("=")
        return subprocess.Popen([GRAPHBENCH, *arguments], cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, name: value}, **options)

    def call(self, *arguments, **options):
        process = self.start(*arguments, **options)
        out, err = process.communicate(timeout=LIMIT_S)
        return process.returncode, out, err


class Signals(Scratch):
    BENCH = ["bench", TINY, "--min-time", "100", "--max-time", "100", "--warmup", "1", "-q", "--json", "r.json"]

    def end(self, process, number, to_group=False):
        begin = time.monotonic()
        (os.killpg if to_group else os.kill)(process.pid, number)
        out, err = process.communicate(timeout=LIMIT_S)
        self.assertLess(time.monotonic() - begin, 30, "it ends, and does not measure on")
        return process.returncode, out, err

    def wait_for_children(self, process, count):
        """Until it has started so many, one after the other: all but the last one have ended."""
        children, seen = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children"), set()

        def look():
            seen.update(children.read_text(encoding="ascii").split())
            return len(seen) >= count
        wait_until(look, f"it starts only {len(seen)} of {count} processes")
        return sorted(map(int, seen))

    def nothing_survives(self):
        wait_until(lambda: not marked(), f"these live on: {marked()}")

    def test_each_keeps_what_was_measured(self):
        for number, code in (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129):
            process = self.start(*self.BENCH)
            wait_until(lambda: catches(process, number), "it never began")
            time.sleep(0.3)
            found, out, err = self.end(process, number)
            self.assertEqual(found, code, err)
            result = json.loads(self.file.read_text(encoding="utf-8"))
            self.assertTrue(result["interrupted"])
            self.assertGreater(result["latency_ns"]["n"], 0)
            self.assertRegex(out, r"(?m)^latency us  min ")
            self.file.unlink()
        self.nothing_survives()

    def test_one_that_was_ignored_at_the_start_stays_ignored(self):
        def ignore():
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        process = self.start(*self.BENCH, preexec_fn=ignore)
        wait_until(lambda: catches(process, signal.SIGTERM), "it never began")
        os.kill(process.pid, signal.SIGHUP)
        time.sleep(0.5)
        self.assertIsNone(process.poll(), "nohup: it goes on")
        self.assertEqual(self.end(process, signal.SIGTERM)[0], 143)
        self.assertTrue(json.loads(self.file.read_text(encoding="utf-8"))["interrupted"])

    def test_repeat_takes_its_processes_along(self):
        for number, code in (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129):
            for to_group in (False, True):
                process = self.start(*self.BENCH, "--repeat", "3", start_new_session=True)
                wait_until(lambda: len(marked()) >= 2, "it starts no process")
                time.sleep(0.2)
                found, out, err = self.end(process, number, to_group)
                self.assertEqual((found, out), (code, ""), err)
                self.assertIn("interrupted before a process had ended: no results", err)
                self.nothing_survives()

    def test_repeat_says_that_a_process_was_ended(self):
        process = self.start(*self.BENCH, "--repeat", "2")
        os.kill(self.wait_for_children(process, 1)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=LIMIT_S)
        self.assertEqual((process.returncode, out), (8, ""))
        self.assertIn("process 1 of 2 was ended by signal 9", err)

    def test_repeat_keeps_processes_that_ended(self):
        process = self.start("bench", TINY, "--runs", "5", "--warmup", "1", "-q", "--json", "r.json", "--repeat", "100000")
        self.wait_for_children(process, 3)
        found, out, err = self.end(process, signal.SIGTERM)
        self.assertEqual(found, 143, err)
        self.assertGreater(json.loads(self.file.read_text(encoding="utf-8"))["repeat"]["processes"], 0)
        self.assertIn("spread of medians", out)
        self.nothing_survives()

    def test_compare_takes_its_commands_along(self):
        commands = ("sleep 1000; true", "sleep 1000 & sleep 1000", "trap '' TERM INT HUP; sleep 1000; sleep 1000")
        for command in commands:
            for number, code in (signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129):
                process = self.start("compare", "--exec", command, "--exec", command)
                wait_until(lambda: any(line.startswith("sleep") for line in marked()), "it starts no process")
                found, out, err = self.end(process, number)
                self.assertEqual((found, out), (code, ""), err)
                self.assertIn("interrupted before a round had ended: no results", err)
                self.nothing_survives()

    def test_compare_keeps_rounds_that_ended(self):
        self.assertEqual(self.call("bench", TINY, "--runs", "5", "-q", "--json", "base.json")[0], 0)
        process = self.start("compare", "--exec", "cat base.json", "--exec", "cat base.json", "--rounds", "1000000",
                             "--json", "r.json")
        self.wait_for_children(process, 6)
        found, out, err = self.end(process, signal.SIGTERM)
        self.assertEqual(found, 143, err)
        result = json.loads(self.file.read_text(encoding="utf-8"))
        self.assertTrue(result["interrupted"])
        self.assertEqual(result["rounds"], len(result["commands"][1]["rounds_ns"]))
        self.nothing_survives()

    def test_a_parent_that_is_killed_takes_its_processes_along(self):
        for arguments in (self.BENCH + ["--repeat", "3"], ["compare", "--exec", "exec sleep 1000", "--exec", "true"]):
            process = self.start(*arguments)
            wait_until(lambda: len(marked()) >= 2, "it starts no process")
            self.end(process, signal.SIGKILL)
            self.nothing_survives()


class Room(Scratch):
    """Files that are there stay whole where a new one has no room."""
    OLD = "what was there before\n" * 10

    def commands(self):
        run = ["--runs", "5", "--warmup", "1", "-q"]
        suite = str(self.folder / "suite")
        for option in "--json", "--trace", "--samples":
            yield ["bench", TINY, *run, option]
        yield ["bench", TINY, *run, "--repeat", "2", "--json"]
        yield ["bench", TINY, "--dump-config"]
        for option in "--json", "--trace":
            yield ["profile", TINY, "--runs", "1", option]
        yield ["run", TINY, "--json"]
        yield ["check", TINY, "--against", "reference", "--json"]
        yield ["check", suite + "/net", "--json"]
        for option in "--json", "--list-passed":
            yield ["conformance", suite, option]
        for view in (["--json"], ["--memory", "--svg"], ["--placement", "--svg"], ["--dot"], ["--annotate"]):
            yield ["inspect", TINY, *view]
        yield ["compile", TINY, "--save"]
        yield ["gen", "bert_base?layers=1,width=64,tokens=8,vocab=100", "--save"]
        for option in "--json", "--save":
            yield ["plan", "plan.csv", option]
        yield ["compare", "base.json", "base.json", "--json"]
        yield ["devices", "--json"]

    def test_an_old_file_stays_and_links_are_followed(self):
        def no_room():  # of files; pipes are not limited
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
        self.assertEqual(self.call("gen", TINY, "--save", "model.onnx", "-q")[0], 0)
        test = self.folder / "suite" / "net"
        test.mkdir(parents=True)
        os.rename(self.folder / "model.onnx", test / "model.onnx")
        self.assertEqual(self.call("run", str(test), "--save", str(test / "test_data_set_0"), "-q")[0], 0)
        self.assertEqual(self.call("bench", TINY, "--runs", "5", "-q", "--json", "base.json")[0], 0)
        (self.folder / "plan.csv").write_text("id,lower,upper,size\na,0,1,8\n", encoding="utf-8")
        target, link = self.folder / "target", self.folder / "link"
        link.symlink_to("target")
        for command in self.commands():
            target.write_text(self.OLD, encoding="utf-8")
            code, _, err = self.call(*command, "link", preexec_fn=no_room)
            self.assertEqual(code, 3, (command, err))
            self.assertIn("link: cannot write the file: File too large", err, command)
            self.assertEqual(target.read_text(encoding="utf-8"), self.OLD, command)
            code, _, err = self.call(*command, "link")
            self.assertEqual(code, 0, (command, err))
            self.assertTrue(link.is_symlink(), command)
            self.assertNotEqual(target.read_bytes(), self.OLD.encode(), command)
            self.assertEqual(list(self.folder.rglob("*.leattmp")), [], command)

    def test_a_folder_of_values_keeps_what_it_had(self):
        def no_room():
            resource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))
        for form, name in ("pb", "output_0.pb"), ("npy", "output_pooler_output.npy"):
            self.assertEqual(self.call("run", TINY, "--save", "values", "--save-format", form)[0], 0)
            files = {path: path.read_bytes() for path in (self.folder / "values").iterdir()}
            self.assertIn(self.folder / "values" / name, files)
            code, _, err = self.call("run", TINY, "--seed", "7", "--save", "values", "--save-format", form,
                                     preexec_fn=no_room)
            self.assertEqual(code, 3, err)
            self.assertIn("File too large", err)
            self.assertEqual({path: path.read_bytes() for path in (self.folder / "values").iterdir()}, files)


if __name__ == "__main__":
    unittest.main()
