#!/usr/bin/env python3
"""OpenVINO on the CPU in float32, measured as graphbench measures leat. Needs: pip install openvino."""
import numpy as np
import openvino

import runner


class Session:
    tool = {"name": "openvino", "version": openvino.__version__}

    def __init__(self, model, threads):
        settings = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_PRECISION_HINT": "f32"}
        if threads:
            settings["INFERENCE_NUM_THREADS"] = threads
        self._compiled = openvino.Core().compile_model(model, "CPU", settings)
        self._request = self._compiled.create_infer_request()
        self.inputs = []
        for port in self._compiled.inputs:
            shape = [d.get_length() if d.is_static else None for d in port.get_partial_shape()]
            self.inputs.append((port.get_any_name(), shape, np.dtype(port.get_element_type().to_dtype())))
        self.output_names = [port.get_any_name() for port in self._compiled.outputs]

    def bind(self, arrays):
        self._tensors = [openvino.Tensor(np.ascontiguousarray(array), shared_memory=array.size > 0) for array in arrays]
        for index, tensor in enumerate(self._tensors):
            self._request.set_input_tensor(index, tensor)

    def run(self):
        # Asynchronous: the blocking call of the Python API converts every output.
        self._request.start_async()
        self._request.wait()

    def outputs(self):
        return [self._request.get_output_tensor(i).data.copy() for i in range(len(self.output_names))]


if __name__ == "__main__":
    runner.main("openvino", Session)
