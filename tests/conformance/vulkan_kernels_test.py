#!/usr/bin/env python3
"""Runs one of ONNX's tests for every Vulkan kernel with settings of the backend that watch over it:
vulkan_kernels_test.py GRAPHBENCH PLUGIN SHADERS SETTING=VALUE...

With validation=device the layer tells of each access through an address that leaves all memory; with check_addresses=1 the
kernels find those that leave their operands, and validation=on sees the kernels that do. All tests must pass, and no message
of the layer may come. Exits with 77 (skipped) without ONNX's tests (Debian package libonnx-testdata; LEAT_ONNX_TESTDATA names
another folder), without a device or without the layer.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
DEVICE_MISSING = 6

# Stem of SHADERS/*.comp, or 'elementwise' for those that are written at run time -> a test whose graph runs it.
SAMPLE = {
    'arg_reduce': 'node/test_argmax_default_axis_example',
    'axis_map': 'node/test_resize_upsample_sizes_nearest_ceil_half_pixel',
    'batch_normalization': 'node/test_batchnorm_example',
    'conv_general': 'node/test_basic_conv_with_padding',
    'conv_run_depthwise': 'pytorch-converted/test_Conv2d_depthwise',
    'conv_run_tile': 'pytorch-converted/test_Conv2d',
    'conv_subgroup_tile': 'pytorch-converted/test_Conv3d',
    'cumsum': 'node/test_cumsum_1d_reverse_exclusive',
    'dynamic_range': 'node/test_dynamicquantizelinear',
    'elementwise': 'node/test_add_bcast',
    'gather': 'node/test_gather_0',
    'gather_elements': 'node/test_gather_elements_0',
    'gemm_general': 'node/test_matmul_3d',
    'gemm_subgroup_tile': 'pytorch-converted/test_Linear',
    'integer_conv': 'node/test_convinteger_with_padding',
    'integer_product': 'node/test_matmulinteger',
    'lrn': 'node/test_lrn_default',
    'pool': 'node/test_maxpool_with_argmax_2d_precomputed_pads',
    'pool_run': 'node/test_averagepool_2d_pads_count_include_pad',
    'quantize': 'node/test_quantizelinear_axis',
    'reduce': 'node/test_reduce_l2_keep_dims_random',
    'requantize': 'node/test_qlinearconv',
    'resize': 'node/test_resize_downsample_scales_linear_align_corners',
    'row_normalization': 'node/test_layer_normalization_2d_axis1',
    'scatter': 'node/test_scatternd_add',
    'softmax': 'node/test_softmax_axis_1',
    'strided_copy': 'node/test_transpose_default',
}
# No graph of ONNX's, release 1.12, has these on a CPU device; see the tests vulkan-gpu-assisted-kernels and -tiles.
ELSEWHERE = {'attention_shared_tile', 'attention_subgroup_tile', 'conv_matrix_tile', 'conv_shared_tile', 'elementwise_binary', 'elementwise_unary', 'fill_words',
             'gemm_matrix_tile', 'gemm_shared_tile', 'integer_conv_tile', 'integer_product_tile', 'pack_bits', 'unpack_bits'}
# No kernel.
LEFT_OUT = {'address_check'}


def untested(shaders):
    stems = {path.stem for path in pathlib.Path(shaders).glob('*.comp')}
    return sorted(stems - set(SAMPLE) - ELSEWHERE - LEFT_OUT)


def run(graphbench, plugin, settings, data):
    with tempfile.TemporaryDirectory() as folder:
        passed = pathlib.Path(folder) / 'passed'
        command = [graphbench, 'conformance', data, '--backend', 'vulkan', '--backend-path', plugin, '--verbose',
                   '--list-passed', str(passed)]
        for setting in ['cache_dir=', *settings]:
            command += ['--backend-setting', f'vulkan.{setting}']
        for name in SAMPLE.values():
            command += ['--filter', name]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        names = set(passed.read_text().split()) if passed.exists() else set()
    return result, names


def main():
    graphbench, plugin, shaders, *settings = sys.argv[1:]
    data = os.environ.get('LEAT_ONNX_TESTDATA', '/usr/share/libonnx-testdata/data')
    if not pathlib.Path(data).is_dir():
        print(f'no {data}: skipped')
        return SKIPPED
    problems = [f'{stem}.comp: neither in the sample nor left out' for stem in untested(shaders)]
    result, passed = run(graphbench, plugin, settings, data)
    if result.returncode == DEVICE_MISSING:
        print(result.stdout)
        return SKIPPED
    kernels = re.findall(r"new kernel '([^']*)'", result.stdout)
    for stem, name in SAMPLE.items():
        if name not in passed:
            problems.append(f'{name} did not pass')
        if not any(kernel.startswith(stem) for kernel in kernels):
            problems.append(f'{name} did not run a kernel {stem}')
    problems += [line for line in result.stdout.splitlines() if 'alidation' in line or 'VUID' in line]
    print(f'{len(SAMPLE)} tests, {len(set(kernels))} kernels, {len(problems)} problems')
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
