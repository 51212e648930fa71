#!/usr/bin/env python3
"""ncnn on the first Vulkan device in float32, measured as graphbench measures leat. Needs: pip install ncnn pnnx onnx
(pnnx, which translates the model, without what it depends on: pip install --no-deps pnnx)."""
import importlib.metadata
import importlib.util
import os
import subprocess
import tempfile

import ncnn
import numpy as np
import onnx

import runner


def translate(model, folder):
    """Paths of ncnn's two files for an ONNX model, written into `folder` in float32."""
    package = importlib.util.find_spec("pnnx").submodule_search_locations[0]
    paths = [os.path.join(folder, name) for name in ("net.param", "net.bin")]
    others = [f"{key}={os.path.join(folder, key)}" for key in ("pnnxparam", "pnnxbin", "pnnxpy", "pnnxonnx", "ncnnpy")]
    subprocess.run([os.path.join(package, "pnnx"), os.path.abspath(model), "fp16=0", f"ncnnparam={paths[0]}",
                    f"ncnnbin={paths[1]}", *others], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    return paths


class Session:
    tool = {"name": "ncnn_vulkan", "version": importlib.metadata.version("ncnn")}

    def __init__(self, model, threads):
        if ncnn.get_gpu_count() == 0:
            raise SystemExit("ncnn finds no Vulkan device")
        self._net = ncnn.Net()
        options = self._net.opt
        options.use_vulkan_compute = True
        options.num_threads = threads or os.cpu_count()
        for name in ("fp16_packed", "fp16_storage", "fp16_arithmetic", "bf16_packed", "bf16_storage"):
            setattr(options, f"use_{name}", False)
        with tempfile.TemporaryDirectory() as folder:
            param, weights = translate(model, folder)
            if self._net.load_param(param) or self._net.load_model(weights):
                raise SystemExit(f"ncnn cannot load the translation of {model}")
        graph = onnx.load(model, load_external_data=False).graph
        known = {tensor.name for tensor in graph.initializer}
        self.inputs = []
        for value in graph.input:
            if value.name not in known:
                tensor = value.type.tensor_type
                shape = [d.dim_value or None for d in tensor.shape.dim]
                self.inputs.append((value.name, shape, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
        self.output_names = [value.name for value in graph.output]

    def bind(self, arrays):
        # ncnn's tensors have no batch axis.
        for (name, _, _), array in zip(self.inputs, arrays):
            if array.shape[0] != 1:
                raise SystemExit(f"input '{name}' has a batch of {array.shape[0]}; ncnn takes 1")
        self._tensors = [ncnn.Mat(np.ascontiguousarray(array[0])) for array in arrays]

    def run(self):
        # pnnx names inputs and outputs by their numbers.
        with self._net.create_extractor() as extractor:
            for index, tensor in enumerate(self._tensors):
                extractor.input(f"in{index}", tensor)
            self._results = [extractor.extract(f"out{index}")[1] for index in range(len(self.output_names))]

    def outputs(self):
        return [np.array(result)[None] for result in self._results]


if __name__ == "__main__":
    runner.main("ncnn_vulkan", Session)
