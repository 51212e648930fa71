// One model compiled in each way there is: by the building calls, out of an ONNX file, and loaded
// from a file that a compiled graph was saved to. And runs of what came of it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "leat/leat.h"
#include "support/named_model.h"
#include "support/scratch_folder.h"

namespace leat::testing {

using TensorsByName = std::map<std::string, Tensor>;

struct Route {
    std::string name;
    Result<CompiledGraph> compiled;
};

// opset: of the ONNX file. Where the building calls fail, nothing is saved.
inline std::vector<Route> compile_by_all_routes(const Runtime& runtime,
                                                const NamedModel& model,
                                                const CompileOptions& options,
                                                int64_t opset,
                                                const ScratchFolder& folder) {
    std::vector<Route> routes;
    routes.push_back({"builder", runtime.compile(graph_of(model), options)});
    const std::string file = (folder.path() / "model.onnx").string();
    write_contents(file, onnx_bytes_of(model, opset));
    const Result<Graph> imported = load_onnx(file, runtime.operators());
    routes.push_back({"import", imported.ok() ? runtime.compile(*imported, options)
                                              : Result<CompiledGraph>(imported.error())});
    if (routes.front().compiled.ok()) {
        const std::string saved = (folder.path() / "model.leat").string();
        const Status status = routes.front().compiled->save(saved);
        routes.push_back(
            {"loaded", status.ok() ? runtime.load(saved) : Result<CompiledGraph>(status)});
    }
    return routes;
}

// Shares no memory with the request that gave it.
inline Tensor own_copy(const Tensor& tensor) {
    if (tensor.dtype() == DType::kString) {
        return *Tensor::from<std::string>(tensor.shape(), tensor.data<std::string>());
    }
    Tensor copy = *Tensor::allocate(tensor.dtype(), tensor.shape());
    if (tensor.byte_count() > 0) {
        std::memcpy(copy.mutable_bytes(), tensor.bytes(), size_t(tensor.byte_count()));
    }
    return copy;
}

// All outputs of a run; inputs that the graph does not have are left out.
inline Result<TensorsByName> outputs_of(const CompiledGraph& compiled,
                                        const TensorsByName& inputs) {
    Result<Request> request = compiled.make_request();
    if (!request.ok()) {
        return request.error();
    }
    for (const ValueInfo& info : compiled.inputs()) {
        if (Status status = request->bind(info.name, inputs.at(info.name)); !status.ok()) {
            return status;
        }
    }
    if (Status status = request->run(); !status.ok()) {
        return status;
    }
    TensorsByName outputs;
    for (const ValueInfo& info : compiled.outputs()) {
        const Result<Value> value = request->output(info.name);
        if (!value.ok()) {
            return value.error();
        }
        outputs.emplace(info.name, own_copy(value->tensor()));
    }
    return outputs;
}

// With the backends that were built as shared objects, where the test is told their folder.
inline RuntimeOptions with_built_backends(int threads) {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.threads = threads;
    options.numa.is_on = false;
    return options;
}

}  // namespace leat::testing
