#!/usr/bin/env python3
"""Writes models of 64 small operators each for compare_all.py: DIR/NAME/model.onnx. Needs: pip install onnx.

Element-wise operators with a short last axis, Mul and Add in turn, each on the result of the one before; products of
one matrix with 64 vectors, or with 64 matrices of 16 columns, for the difference. A run of a model is 64 operators: its
time divided by 64 is that of one, with what a run takes besides.

    short_rows_models.py DIR
    compare_all.py --graphbench build/benchmarks/graphbench/graphbench --models DIR --threads 1 --peers onnxruntime
"""
import os
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

COUNT = 64
GENERATOR = np.random.default_rng(1)
ELEMENTWISE = {
    "column_256x1_256x16": ([256, 16], [256, 1]),
    "row_16_256x16": ([256, 16], [16]),
    "whole_256x16": ([256, 16], [256, 16]),
    "column_256x1_256x3": ([256, 3], [256, 1]),
    "column_256x1_256x32": ([256, 32], [256, 1]),
    "batches_4x1x16_4x64x16": ([4, 64, 16], [4, 1, 16]),
}
PRODUCTS = {
    "product_256x16_16": ([256, 16], [16]),
    "product_256x16_16x1": ([256, 16], [16, 1]),
    "product_4x64x16_16": ([4, 64, 16], [16]),
    "product_4x64x16_4x16x1": ([4, 64, 16], [4, 16, 1]),
    "product_256x7_7": ([256, 7], [7]),
    "product_256x16_16x16": ([256, 16], [16, 16]),
}


def value(name, shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def write(folder, name, nodes, inputs, outputs):
    """inputs, outputs: arrays by name; outputs as numpy computes them."""
    graph = helper.make_graph(nodes, name, [value(key, array.shape) for key, array in inputs.items()],
                              [value(key, array.shape) for key, array in outputs.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    data = os.path.join(folder, name, "test_data_set_0")
    os.makedirs(data, exist_ok=True)
    save(model, os.path.join(folder, name, "model.onnx"))
    for stem, arrays in (("input", inputs), ("output", outputs)):
        for index, (key, array) in enumerate(arrays.items()):
            with open(os.path.join(data, f"{stem}_{index}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(array, key).SerializeToString())


def random(shape):
    return GENERATOR.uniform(-1, 1, shape).astype(np.float32)


def write_elementwise(folder, name, shape, operand):
    inputs = {"x0": random(shape), "a": random(operand), "b": random(operand)}
    x = inputs["x0"]
    nodes = []
    for i in range(COUNT):
        op, key = ("Mul", "a") if i % 2 == 0 else ("Add", "b")
        nodes.append(helper.make_node(op, [f"x{i}", key], [f"x{i + 1}"]))
        x = x * inputs[key] if op == "Mul" else x + inputs[key]
    write(folder, name, nodes, inputs, {f"x{COUNT}": x})


def write_products(folder, name, matrix, vector):
    inputs = {"a": random(matrix)} | {f"x{i}": random(vector) for i in range(COUNT)}
    nodes = [helper.make_node("MatMul", ["a", f"x{i}"], [f"y{i}"]) for i in range(COUNT)]
    write(folder, name, nodes, inputs, {f"y{i}": inputs["a"] @ inputs[f"x{i}"] for i in range(COUNT)})


def main():
    for name, shapes in ELEMENTWISE.items():
        write_elementwise(sys.argv[1], name, *shapes)
    for name, shapes in PRODUCTS.items():
        write_products(sys.argv[1], name, *shapes)


if __name__ == "__main__":
    main()
