#!/usr/bin/env python3
"""Where /sys and /proc are missing, as in a sandbox, graphbench works and is silent: bare_machine_test.py GRAPHBENCH"""
import subprocess
import sys
import unittest

GRAPHBENCH = sys.argv[1]
HIDE = "mount -t tmpfs none /sys && mount -t tmpfs none /proc"


def run_bare(*command, hide=HIDE):
    """In namespaces of its own, where both folders are empty, or what else `hide` does."""
    return subprocess.run(["unshare", "-rm", "sh", "-c", hide + ' && exec "$@"', "sh", *command],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def can_hide():
    try:
        return run_bare("true").returncode == 0
    except OSError:
        return False


class BareMachine(unittest.TestCase):
    def check(self, *arguments, **how):
        done = run_bare(GRAPHBENCH, *arguments, **how)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def test_the_folders_are_hidden(self):
        self.assertEqual(run_bare("ls", "/sys", "/proc").stdout.split(), ["/proc:", "/sys:"])

    def test_devices_are_listed(self):
        self.assertIn("cpu        yes", self.check("devices"))

    def test_a_part_of_sys_is_missing(self):
        cpus = "/sys/devices/system/cpu"
        for hide in ("mount -t tmpfs none /sys/devices/system/node",
                     f"mount -t tmpfs none {cpus} && mkdir -p {cpus}/cpu0/topology {cpus}/cpu1/topology && echo 0-1 >{cpus}/online"):
            with self.subTest(hide):
                self.assertIn("cpu        yes", self.check("devices", hide=hide))

    def test_a_network_runs(self):
        self.assertIn("latency", self.check("bench", "gen:squeezenet1_1?size=64", "--runs", "3", "--warmup", "1", "--progress",
                                            "never"))


if __name__ == "__main__":
    if not can_hide():
        print("SKIPPED: this system gives a user no namespaces of mounts (unshare -rm)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
