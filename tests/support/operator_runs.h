// What an operator makes of some tensors, run as a graph of one node.
#pragma once

#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/compiled_routes.h"

namespace leat::testing {

// All results, or the first error of compile() or run(). Inputs are those of the graph.
inline Result<std::vector<Tensor>> results_of(const std::string& device,
                                              const std::string& op_type,
                                              const std::vector<Tensor>& inputs,
                                              const Attributes& attributes,
                                              int output_count = 1) {
    const Runtime runtime(with_built_backends(2));
    CompileOptions options;
    options.devices = device;
    Graph graph("one");
    TensorsByName given;
    std::vector<ValueId> ids;
    for (const Tensor& input : inputs) {
        const std::string name = "in" + std::to_string(ids.size());
        std::vector<DimSpec> dims;
        for (const int64_t extent : input.shape()) {
            dims.emplace_back(extent);
        }
        ids.push_back(graph.input(name, input.dtype(), std::move(dims)));
        given.emplace(name, input);
    }
    const std::vector<ValueId> results =
        graph.add_multi(op_type, ids, output_count, attributes, "node");
    for (size_t i = 0; i < results.size(); ++i) {
        graph.output("out" + std::to_string(i), results[i]);
    }
    const Result<CompiledGraph> compiled = runtime.compile(graph, options);
    if (!compiled.ok()) {
        return compiled.error();
    }
    const Result<TensorsByName> outputs = outputs_of(*compiled, given);
    if (!outputs.ok()) {
        return outputs.error();
    }
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < results.size(); ++i) {
        tensors.push_back(outputs->at("out" + std::to_string(i)));
    }
    return tensors;
}

// Elements of a result; bool as uint8_t.
template <class T>
std::vector<T> elements_of(const Tensor& tensor) {
    const auto* const data = reinterpret_cast<const T*>(tensor.bytes());
    return {data, data + tensor.element_count()};
}

}  // namespace leat::testing
