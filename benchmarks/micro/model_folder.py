"""Folders of models in the layout of ONNX's tests, for benchmarks/peers/compare_all.py. Needs: pip install onnx numpy."""
import json
import os

import numpy as np
import onnx
import onnx.numpy_helper


def write(folder, model, inputs, outputs):
    """The model, with one set of inputs and what it gives for them: arrays, in the graph's order."""
    onnx.checker.check_model(model)
    data = os.path.join(folder, 'test_data_set_0')
    os.makedirs(data, exist_ok=True)
    with open(os.path.join(folder, 'data.json'), 'w', encoding='utf-8') as file:
        json.dump({'rtol': 1e-3, 'atol': 1e-5}, file)
    onnx.save(model, os.path.join(folder, 'model.onnx'))
    for kind, values in (('input', inputs), ('output', outputs)):
        for i, value in enumerate(values):
            with open(os.path.join(data, f'{kind}_{i}.pb'), 'wb') as file:
                file.write(onnx.numpy_helper.from_array(np.asarray(value)).SerializeToString())
