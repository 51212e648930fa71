"""Random LSTM, GRU and RNN nodes against ONNX Runtime: recurrent_peer_test.py GRAPHBENCH [COUNT [SEED]]

Each node becomes a folder in the layout of ONNX's tests, whose outputs are ONNX Runtime's, and GRAPHBENCH runs the folders on `cpu` and
on `reference`. What ONNX Runtime does not have is made of what it has: layout 1 by transposing. Functions get all their parameters, since
it takes 0 for those of Affine that are left out. Exits with 77 (skipped) where Python has no onnx and no onnxruntime:
`python3 -m venv DIR && DIR/bin/pip install onnx==1.23.2 onnxruntime`, then DIR/bin/python runs this.
"""
import json, os, subprocess, sys, tempfile

SKIPPED = 77
GATES = {'LSTM': 4, 'GRU': 3, 'RNN': 1}
FUNCTIONS = {'LSTM': 3, 'GRU': 2, 'RNN': 1}
# Names, and how many of alpha and beta they have.
ACTIVATIONS = {'Relu': 0, 'Tanh': 0, 'Sigmoid': 0, 'Affine': 2, 'LeakyRelu': 1, 'ThresholdedRelu': 1, 'ScaledTanh': 2, 'HardSigmoid': 2,
               'Elu': 1, 'Softsign': 0, 'Softplus': 0}
# Sums of floats in other orders, over some steps.
TOLERANCES = {'rtol': 1e-3, 'atol': 1e-5}
LIMIT = 50


def draw_activations(random, op, directions, attributes):
    names = list(random.choice(list(ACTIVATIONS), FUNCTIONS[op] * directions))
    attributes['activations'] = [str(name) for name in names]
    counts = [ACTIVATIONS[name] for name in names]
    for key, least in (('activation_alpha', 1), ('activation_beta', 2)):
        values = [float(random.uniform(0.1, 0.9)) for count in counts if count >= least]
        if values:
            attributes[key] = values


def draw_attributes(random, op, hidden):
    attributes = {'hidden_size': hidden, 'direction': str(random.choice(['forward', 'reverse', 'bidirectional']))}
    directions = 2 if attributes['direction'] == 'bidirectional' else 1
    if random.random() < 0.4:
        draw_activations(random, op, directions, attributes)
    if random.random() < 0.3:
        attributes['clip'] = float(random.uniform(0.05, 2))
    if op == 'LSTM' and random.random() < 0.3:
        attributes['input_forget'] = 1
    if op == 'GRU' and random.random() < 0.5:
        attributes['linear_before_reset'] = 1
    return attributes, directions


def draw_inputs(random, op, directions, extents):
    """By name, in the operator's order; None: left out."""
    import numpy as np
    steps, batch, inputs, hidden = extents
    rows, limit = GATES[op] * hidden, min(0.6, 1.5 / hidden ** 0.5)

    def floats(*shape, limit=limit):
        return random.uniform(-limit, limit, shape).astype(np.float32)

    def optional(value):
        return value if random.random() < 0.6 else None
    drawn = {'X': floats(steps, batch, inputs, limit=2), 'W': floats(directions, rows, inputs), 'R': floats(directions, rows, hidden),
             'B': optional(floats(directions, 2 * rows)),
             'sequence_lens': optional(random.integers(0, steps + 1, batch).astype(np.int32)),
             'initial_h': optional(floats(directions, batch, hidden, limit=1))}
    if op == 'LSTM':
        drawn['initial_c'] = optional(floats(directions, batch, hidden, limit=1))
        drawn['P'] = optional(floats(directions, 3 * hidden))
    return drawn


def make_model(op, attributes, inputs, constants, outputs, opset):
    import onnx.helper, onnx.numpy_helper
    names = [name if value is not None else '' for name, value in inputs.items()]
    node = onnx.helper.make_node(op, names, outputs, name='layer', **attributes)
    given = {name: value for name, value in inputs.items() if value is not None}
    infos = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
             for name, value in given.items() if name not in constants]
    graph = onnx.helper.make_graph(
        [node], op, infos, [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in outputs if name],
        [onnx.numpy_helper.from_array(given[name], name) for name in given if name in constants])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid('', opset)], ir_version=8)


def peer_outputs(model, inputs, constants):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=['CPUExecutionProvider'])
    return session.run(None, {name: value for name, value in inputs.items() if value is not None and name not in constants})


def batch_first(name, value):
    """The same of layout 1."""
    if value is None or name in ('W', 'R', 'B', 'P', 'sequence_lens'):
        return value
    return (value.transpose(2, 0, 1, 3) if name == 'Y' else value.swapaxes(0, 1)).copy()


def write_test(folder, random, op):
    """False, and nothing is written, where ONNX Runtime's results are beyond LIMIT: its Softplus of 90 is infinite."""
    import numpy as np
    import onnx.numpy_helper
    extents = [int(random.choice(choices)) for choices in ([1, 2, 5, 9, 70], [1, 2, 3, 16], [1, 3, 8, 33], [1, 2, 7, 16, 40])]
    attributes, directions = draw_attributes(random, op, extents[3])
    # Where functions have no bound, differences grow from step to step.
    extents[0] = min(extents[0], 5) if 'activations' in attributes else extents[0]
    inputs = draw_inputs(random, op, directions, extents)
    constants = ('W', 'R', 'B', 'P') if random.random() < 0.6 else ()
    outputs = ['Y', 'Y_h', 'Y_c'][:3 if op == 'LSTM' else 2]
    opset = int(random.choice([7, 14, 22]))
    model = make_model(op, attributes, inputs, constants, outputs, opset)
    results = dict(zip(outputs, peer_outputs(model, inputs, constants)))
    if not all(np.all(np.abs(result) < LIMIT) for result in results.values()):
        return False
    if opset >= 14 and random.random() < 0.4:
        attributes['layout'] = 1
        inputs = {name: batch_first(name, value) for name, value in inputs.items()}
        results = {name: batch_first(name, value) for name, value in results.items()}
    kept = random.integers(1, 2 ** len(outputs))
    named = [name if kept >> i & 1 else '' for i, name in enumerate(outputs)]
    data = os.path.join(folder, 'test_data_set_0')
    os.makedirs(data)
    onnx.save(make_model(op, attributes, inputs, constants, named, opset), os.path.join(folder, 'model.onnx'))
    given = [(name, value) for name, value in inputs.items() if value is not None and name not in constants]
    for kind, tensors in (('input', given), ('output', [(name, results[name]) for name in named if name])):
        for i, (name, value) in enumerate(tensors):
            with open(os.path.join(data, f'{kind}_{i}.pb'), 'wb') as file:
                file.write(onnx.numpy_helper.from_array(value, name).SerializeToString())
    with open(os.path.join(folder, 'data.json'), 'w', encoding='utf-8') as file:
        json.dump(TOLERANCES, file)
    return True


def main():
    try:
        import numpy, onnx, onnxruntime
    except ImportError as error:
        print(f'{error}: skipped')
        return SKIPPED
    graphbench = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 150
    random = numpy.random.default_rng(int(sys.argv[3]) if len(sys.argv) > 3 else 1)
    print(f'{count} nodes, onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}')
    code = 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(count):
            op = list(GATES)[i % len(GATES)]
            while not write_test(os.path.join(folder, f'{i:04}_{op.lower()}'), random, op):
                pass
        for backend in ('cpu', 'reference'):
            code |= subprocess.run([graphbench, 'conformance', folder, '--backend', backend, '--quiet'], check=False).returncode
    return code


if __name__ == '__main__':
    sys.exit(main())
