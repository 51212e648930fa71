#!/usr/bin/env python3
"""Writes models of one LSTM, GRU or RNN for benchmarks/peers/compare_all.py: recurrent_models.py DIR. Needs: pip install onnx numpy.

DIR gets a folder for each of MODELS, in the layout of ONNX's tests, with constant weights, one set of inputs, and
outputs of ONNX's reference evaluator. Names are OPERATOR_STEPSxBATCHxINPUTSxUNITS.
"""
import os
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnx.reference

import model_folder

# operator, steps, batch, inputs, units, direction
MODELS = [('LSTM', 128, 1, 128, 128, 'forward'), ('LSTM', 128, 1, 256, 512, 'forward'), ('LSTM', 128, 8, 256, 512, 'forward'),
          ('LSTM', 128, 1, 128, 128, 'bidirectional'), ('GRU', 128, 1, 128, 128, 'forward'), ('GRU', 128, 1, 256, 512, 'forward'),
          ('RNN', 128, 1, 256, 512, 'forward')]
GATES = {'LSTM': 4, 'GRU': 3, 'RNN': 1}


def write_model(folder, op, steps, batch, inputs, units, direction):
    generator = np.random.default_rng(1)
    directions = 2 if direction == 'bidirectional' else 1
    rows = GATES[op] * units
    # As torch draws them.
    limit = units ** -0.5

    def constant(name, *shape):
        return onnx.numpy_helper.from_array(generator.uniform(-limit, limit, shape).astype(np.float32), name)
    weights = [constant('W', directions, rows, inputs), constant('R', directions, rows, units), constant('B', directions, 2 * rows)]
    node = onnx.helper.make_node(op, ['X', 'W', 'R', 'B'], ['Y', 'Y_h'], hidden_size=units, direction=direction)
    shapes = {'X': [steps, batch, inputs], 'Y': [steps, directions, batch, units], 'Y_h': [directions, batch, units]}
    infos = {name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()}
    graph = onnx.helper.make_graph([node], op, [infos['X']], [infos['Y'], infos['Y_h']], weights)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', 14)], ir_version=8)
    x = generator.uniform(-1, 1, shapes['X']).astype(np.float32)
    y, y_h = onnx.reference.ReferenceEvaluator(model).run(None, {'X': x})
    model_folder.write(folder, model, [x], [y, y_h])


def main():
    for op, steps, batch, inputs, units, direction in MODELS:
        name = f'{op.lower()}_{steps}x{batch}x{inputs}x{units}' + ('' if direction == 'forward' else '_' + direction)
        write_model(os.path.join(sys.argv[1], name), op, steps, batch, inputs, units, direction)


if __name__ == '__main__':
    sys.exit(main())
