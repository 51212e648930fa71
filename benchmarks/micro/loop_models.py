#!/usr/bin/env python3
"""Writes models of loops for benchmarks/peers/compare_all.py: loop_models.py DIR. Needs: pip install onnx onnxruntime numpy.

DIR gets a folder for each model, in the layout of ONNX's tests, with one set of inputs, and outputs of ONNX Runtime:

    scalar_loop      Loop, 100,000 iterations of one addition of scalars
    ten_operators    Loop, 10,000 iterations of ten element-wise operators on 64 floats
    selective_scan   Scan, 1,024 steps of a selective state space (Gu and Dao 2023, algorithm 2), 256 channels of 16
                     states, discretization inside the body
    selective_loop   the same as exporters write it: a Loop that gathers the operands of its step by its number
"""
import os
import sys

import numpy as np
import onnx
import onnx.helper
import onnx.numpy_helper
import onnxruntime

import model_folder

STEPS, CHANNELS, STATES = 1024, 256, 16
FLOAT, INT64, BOOL = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64, onnx.TensorProto.BOOL
node = onnx.helper.make_node


def info(name, shape, dtype=FLOAT):
    return onnx.helper.make_tensor_value_info(name, dtype, shape)


def constant(name, value):
    return onnx.numpy_helper.from_array(np.asarray(value), name)


def loop_of(iterations, shape, nodes, constants=()):
    """A graph of a Loop over v, which the nodes make v_next of, and that captures x."""
    body = onnx.helper.make_graph(
        [node('Identity', ['goes_on'], ['goes_on_next']), *nodes], 'body',
        [info('i', [], INT64), info('goes_on', [], BOOL), info('v', shape)],
        [info('goes_on_next', [], BOOL), info('v_next', shape)])
    return onnx.helper.make_graph(
        [node('Loop', ['count', 'yes', 'v0'], ['y'], body=body)], 'loop', [info('v0', shape), info('x', shape)],
        [info('y', shape)], [constant('count', np.int64(iterations)), constant('yes', True), *constants])


def scalar_loop():
    return loop_of(100_000, [], [node('Add', ['v', 'x'], ['v_next'])])


def ten_operators():
    binary = ['Mul', 'Add', 'Sub', 'Max', 'Add', 'Min', 'Mul', 'Sub', 'Max', 'Add']
    names = ['v'] + [f'v_{i}' for i in range(len(binary) - 1)] + ['v_next']
    return loop_of(10_000, [64], [node(op, [names[i], 'x'], [names[i + 1]]) for i, op in enumerate(binary)])


def selective_step():
    """h_next = exp(delta a) h + delta x b, y = h_next c, of one step."""
    return [
        node('Unsqueeze', ['delta', 'last'], ['column']),
        node('Mul', ['column', 'a'], ['scaled']),
        node('Exp', ['scaled'], ['decay']),
        node('Unsqueeze', ['x', 'last'], ['x_column']),
        node('Mul', ['column', 'x_column'], ['weighted']),
        node('Mul', ['weighted', 'b'], ['input']),
        node('Mul', ['decay', 'h'], ['kept']),
        node('Add', ['kept', 'input'], ['h_next']),
        node('MatMul', ['h_next', 'c'], ['y']),
    ]


SEQUENCES = {'delta': CHANNELS, 'x': CHANNELS, 'b': STATES, 'c': STATES}


def selective_graph(name, nodes, constants=()):
    inputs = [info('a', [CHANNELS, STATES]), info('h0', [CHANNELS, STATES])]
    inputs += [info(f'{sequence}s', [STEPS, width]) for sequence, width in SEQUENCES.items()]
    return onnx.helper.make_graph(nodes, name, inputs, [info('hn', [CHANNELS, STATES]), info('ys', [STEPS, CHANNELS])],
                                  [constant('last', np.array([1], np.int64)), *constants])


def selective_scan():
    body = onnx.helper.make_graph(
        selective_step(), 'body',
        [info('h', [CHANNELS, STATES]), *(info(sequence, [width]) for sequence, width in SEQUENCES.items())],
        [info('h_next', [CHANNELS, STATES]), info('y', [CHANNELS])])
    scan = node('Scan', ['h0', *(f'{sequence}s' for sequence in SEQUENCES)], ['hn', 'ys'], body=body,
                num_scan_inputs=len(SEQUENCES))
    return selective_graph('selective_scan', [scan])


def selective_loop():
    gathers = [node('Gather', [f'{sequence}s', 'i'], [sequence], axis=0) for sequence in SEQUENCES]
    body = onnx.helper.make_graph(
        [node('Identity', ['goes_on'], ['goes_on_next']), *gathers, *selective_step()], 'body',
        [info('i', [], INT64), info('goes_on', [], BOOL), info('h', [CHANNELS, STATES])],
        [info('goes_on_next', [], BOOL), info('h_next', [CHANNELS, STATES]), info('y', [CHANNELS])])
    loop = node('Loop', ['count', 'yes', 'h0'], ['hn', 'ys'], body=body)
    return selective_graph('selective_loop', [loop], [constant('count', np.int64(STEPS)), constant('yes', True)])


def write_model(folder, graph):
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', 17)], ir_version=8)
    generator = np.random.default_rng(1)
    inputs = {}
    for value in graph.input:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        # States decay, as those of a trained model do.
        low, high = (-1, 0) if value.name == 'a' else (0, 1)
        inputs[value.name] = generator.uniform(low, high, shape).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=['CPUExecutionProvider'])
    model_folder.write(folder, model, inputs.values(), session.run(None, inputs))


def main():
    for make in (scalar_loop, ten_operators, selective_scan, selective_loop):
        write_model(os.path.join(sys.argv[1], make.__name__), make())


if __name__ == '__main__':
    sys.exit(main())
