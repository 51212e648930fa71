#!/usr/bin/env python3
"""What benchmarks/micro/vulkan_gpu.py writes, at sizes for a CPU device: vulkan_gpu_test.py SCRIPT GRAPHBENCH VULKAN_GPU

Looks at structure and arithmetic, never at speed. Exits with 77 (skipped) without a Vulkan device.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

SKIPPED = 77
CASES = ['copy', 'relu f32', 'add f32', 'gemm f32', 'gemm f16', 'gemm bf16', 'dispatch']
SCRIPT, GRAPHBENCH, VULKAN_GPU = sys.argv[1:]


def has_device():
    done = subprocess.run([GRAPHBENCH, 'devices', '--json', '-'], stdout=subprocess.PIPE, text=True)
    return done.returncode == 0 and bool(json.loads(done.stdout)['vulkan']['devices'])


class VulkanGpu(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            figures = pathlib.Path(folder) / 'figures.json'
            dump = pathlib.Path(folder) / 'capabilities.json'
            done = subprocess.run([sys.executable, SCRIPT, GRAPHBENCH, VULKAN_GPU, '--small', '--bandwidth', '2',
                                   '--json', str(figures), '--capabilities', str(dump)],
                                  stdout=subprocess.PIPE, text=True, check=True)
            cls.table = done.stdout
            cls.figures = json.loads(figures.read_text())
            cls.dump = json.loads(dump.read_text())

    def test_has_every_case(self):
        self.assertEqual([case['name'] for case in self.figures['cases']], CASES)
        for name in CASES:
            self.assertIn(f'| {name} | ', self.table)

    def test_says_that_sizes_are_small(self):
        self.assertTrue(self.figures['is_small'])
        self.assertIn('these rates mean nothing', self.table)

    def test_shares_are_of_the_peaks(self):
        cases = {case['name']: case for case in self.figures['cases']}
        self.assertEqual([cases[name]['peak'] for name in CASES], [2, 2, 2, 67, 788, 788, None])
        for name in CASES[:-1]:
            case = cases[name]
            self.assertGreater(case['us'], 0)
            self.assertAlmostEqual(case['share'], case['rate'] / case['peak'])
            self.assertEqual(case['is_met'], case['share'] >= case['bar'])
        # 1 MiB read and as much written; 2 * 64^3 operations.
        self.assertAlmostEqual(cases['copy']['rate'], 2 * 2**20 / cases['copy']['us'] * 1e-6)
        self.assertAlmostEqual(cases['gemm f16']['rate'], 2 * 64**3 / cases['gemm f16']['us'] * 1e-6)
        self.assertEqual(cases['dispatch']['is_met'], cases['dispatch']['us'] <= 3)

    def test_dumps_capabilities_of_the_device(self):
        devices = [device['name'] for device in self.dump['vulkan']['devices']]
        self.assertIn(self.figures['device'], devices)


if __name__ == '__main__':
    if not has_device():
        print('no Vulkan device: skipped')
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1])
