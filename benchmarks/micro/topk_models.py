#!/usr/bin/env python3
"""Writes models of one TopK for benchmarks/peers/compare_all.py: topk_models.py DIR. Needs: pip install onnx numpy.

DIR gets a folder for each of MODELS, in the layout of ONNX's tests, with one set of inputs and outputs of ONNX's reference evaluator. Names
are topk_SHAPE_kK, with the axis where it is not the last, the type where it is not f32, and `smallest`.
"""
import os
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.reference

import model_folder

# shape, k, axis, type, largest
MODELS = [((1, 13343), 300, -1, 'float32', 1),  # candidates of a detector, before suppression
          ((1, 273000), 300, -1, 'float32', 1),  # 91 classes of 3,000 boxes
          ((64, 1000), 5, -1, 'float32', 1),  # classes of a batch
          ((1, 32000), 40, -1, 'float32', 1),  # sampling from a vocabulary
          ((1, 151936), 50, -1, 'float32', 1),
          ((8, 4096), 4096, -1, 'float32', 1),  # a whole sort
          ((8400, 80), 1, -1, 'float32', 1),  # the best class of each box
          ((4096, 64), 8, -1, 'float32', 1),  # experts of each token
          ((4096, 8), 2, -1, 'float32', 1),
          ((1000, 1000), 10, -1, 'float32', 0),  # nearest neighbours
          ((1, 300, 256), 10, 1, 'float32', 1),
          ((1, 32000), 40, -1, 'int64', 1),
          ((1, 32000), 40, -1, 'float64', 1)]


def name_of(shape, k, axis, dtype, largest):
    return ('topk_' + 'x'.join(map(str, shape)) + f'_k{k}' + ('' if axis == -1 else f'_axis{axis}') +
            ('' if dtype == 'float32' else '_' + dtype) + ('' if largest else '_smallest'))


def write_model(folder, shape, k, axis, dtype, largest):
    generator = np.random.default_rng(1)
    x = generator.normal(0, 1 if dtype != 'int64' else 1e6, shape).astype(dtype)
    element = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    result = list(shape)
    result[axis] = k
    node = onnx.helper.make_node('TopK', ['x', 'k'], ['values', 'indices'], axis=axis, largest=largest)
    graph = onnx.helper.make_graph(
        [node], 'topk', [onnx.helper.make_tensor_value_info('x', element, shape)],
        [onnx.helper.make_tensor_value_info('values', element, result),
         onnx.helper.make_tensor_value_info('indices', onnx.TensorProto.INT64, result)],
        [onnx.numpy_helper.from_array(np.array([k], np.int64), 'k')])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', 11)], ir_version=8)
    model_folder.write(folder, model, [x], onnx.reference.ReferenceEvaluator(model).run(None, {'x': x}))


def main():
    for model in MODELS:
        write_model(os.path.join(sys.argv[1], name_of(*model)), *model)


if __name__ == '__main__':
    sys.exit(main())
