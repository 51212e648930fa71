// Random graphs of operators that take long beside the moving of their operands: worth several
// devices.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "leat/graph.h"
#include "support/random_tensor.h"

namespace leat::testing_support {

// Nodes of one shape, each of which reads one or two earlier values; results are all that no node
// reads. Every third is a product of matrices, which takes far longer than its operands do to move.
inline Graph forecast_graph(uint64_t seed, int64_t scale = 1, int most_nodes = 24) {
    SplitMix random(seed);
    Graph graph("random");
    const int64_t rows = scale * (8 + random.below(56));
    const int64_t cols = scale * (16 << random.below(4));
    const int nodes = 3 + random.below(most_nodes - 2);
    std::vector<ValueId> values = {graph.input("a", DType::kFloat32, {rows, cols}),
                                   graph.input("b", DType::kFloat32, {rows, cols})};
    const ValueId weights = graph.constant("w", random_tensor({cols, cols}, seed));
    std::vector<bool> is_read(values.size() + size_t(nodes), false);
    const auto draw = [&] {
        const auto count = int32_t(values.size());
        const int32_t at = count - 1 - random.below(std::min(count, 6));
        is_read[size_t(at)] = true;
        return values[size_t(at)];
    };
    for (int i = 0; i < nodes; ++i) {
        const std::string name = "n" + std::to_string(i);
        switch (random.below(6)) {
            case 0:
            case 1:
                values.push_back(graph.add("MatMul", {draw(), weights}, {}, name));
                break;
            case 2:
                values.push_back(graph.add("Add", {draw(), draw()}, {}, name));
                break;
            case 3:
                values.push_back(graph.add("Mul", {draw(), draw()}, {}, name));
                break;
            case 4:
                values.push_back(graph.add("Softmax", {draw()}, {}, name));
                break;
            default:
                values.push_back(graph.add("Tanh", {draw()}, {}, name));
                break;
        }
    }
    for (size_t i = 2; i < values.size(); ++i) {
        if (!is_read[i]) {
            graph.output("y" + std::to_string(i), values[i]);
        }
    }
    return graph;
}

// Products of matrices, one after the other:
//
//  a[rows, cols] --> n0 --> ... --> n(count - 1) --> y
inline Graph product_chain(int count, int64_t rows, int64_t cols) {
    Graph graph("chain");
    ValueId value = graph.input("a", DType::kFloat32, {rows, cols});
    const ValueId weights = graph.constant("w", random_tensor({cols, cols}, 3));
    for (int i = 0; i < count; ++i) {
        value = graph.add("MatMul", {value, weights}, {}, "n" + std::to_string(i));
    }
    graph.output("y", value);
    return graph;
}

// A product with a narrow matrix: its result is small beside its operand.
//
//  a[rows, inner] --> matmul(w[inner, 4]) --> y
inline Graph narrow_product(int64_t rows, int64_t inner) {
    Graph graph("stream");
    const ValueId a = graph.input("a", DType::kFloat32, {rows, inner});
    const ValueId w = graph.constant("w", random_tensor({inner, 4}, 2));
    graph.output("y", graph.add("MatMul", {a, w}, {}, "matmul"));
    return graph;
}

}  // namespace leat::testing_support
