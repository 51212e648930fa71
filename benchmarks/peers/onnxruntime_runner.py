#!/usr/bin/env python3
"""ONNX Runtime on the CPU, measured as graphbench measures leat. Needs: pip install onnxruntime."""
import numpy as np
import onnxruntime

import runner

_DTYPES = {"float": np.float32, "double": np.float64, "float16": np.float16, "int64": np.int64, "int32": np.int32,
           "int16": np.int16, "int8": np.int8, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
           "uint64": np.uint64, "bool": np.bool_, "string": object}


class Session:
    tool = {"name": "onnxruntime", "version": onnxruntime.__version__}

    def __init__(self, model, threads):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = [(i.name, [d if isinstance(d, int) else None for d in i.shape],
                        np.dtype(_DTYPES.get(i.type[7:-1], object))) for i in self._session.get_inputs()]
        self.output_names = [o.name for o in self._session.get_outputs()]
        self._binding = self._session.io_binding()

    def bind(self, arrays):
        self._arrays = arrays
        for (name, _, _), array in zip(self.inputs, arrays):
            self._binding.bind_cpu_input(name, array)
        for name in self.output_names:
            self._binding.bind_output(name)

    def run(self):
        self._session.run_with_iobinding(self._binding)

    def outputs(self):
        return self._binding.copy_outputs_to_cpu()


if __name__ == "__main__":
    runner.main("onnxruntime", Session)
