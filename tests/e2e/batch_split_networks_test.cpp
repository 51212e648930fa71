// Runs networks with a batch of 4 at once, and as 1 and 3 where find_batch_split() says that this
// gives the same bits; it must say so of every network that is named.
//
// batch_split_networks NETWORK... : folders under $LEAT_TEST_DATA/models ("exports/bert_mini"), or
// "gen:" and a network of the zoo. Folders are skipped where LEAT_TEST_DATA is unset.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "graph/batch_split.h"
#include "graph/inference.h"
#include "leat/leat.h"
#include "passes/pipeline.h"
#include "zoo/zoo.h"

namespace leat {
namespace {

std::vector<std::string> networks;

constexpr int64_t kBatch = 4;
const std::vector<int64_t> kShardRows = {1, 3};

struct Network {
    Graph graph;
    std::vector<Tensor> inputs;  // of the whole batch
};

Shape with_rows(Shape shape, int64_t rows) {
    shape[0] = rows;
    return shape;
}

// True for values that depend on an input of the graph, by value.
std::vector<bool> find_computed_values(const GraphData& graph) {
    std::vector<bool> is_computed(graph.values.size());
    for (const ValueId id : graph.inputs) {
        is_computed[size_t(id.index)] = true;
    }
    const std::vector<NodeId> order = graph.topological_order().value();
    for (const NodeId node : order) {
        const std::vector<ValueId>& inputs = graph.node(node).inputs;
        const bool reads_computed = std::ranges::any_of(inputs, [&](ValueId input) {
            return input.valid() && is_computed[size_t(input.index)];
        });
        for (const ValueId output : graph.node(node).outputs) {
            if (output.valid()) {
                is_computed[size_t(output.index)] = reads_computed;
            }
        }
    }
    return is_computed;
}

// Models that are published for a batch of one get an open one, also where a Reshape names it.
void open_batch(GraphData& graph) {
    for (const ValueId id : graph.inputs) {
        TypeInfo& type = graph.value(id).type;
        if (type.rank() < 1 || type.dims->front().extent() != 1) {
            return;
        }
        type.dims->front() = DimSpec("batch");
    }
    const std::vector<bool> is_computed = find_computed_values(graph);
    for (NodeData& node : graph.nodes) {
        if (node.op_type != "Reshape" || !is_computed[size_t(node.inputs[0].index)] ||
            !graph.value(node.inputs[1]).constant) {
            continue;
        }
        const Tensor shape = *graph.value(node.inputs[1]).constant;
        std::vector<int64_t> extents(size_t(shape.element_count()));
        std::memcpy(extents.data(), shape.bytes(), size_t(shape.byte_count()));
        const bool has_inferred = std::ranges::find(extents, -1) != extents.end();
        if (!extents.empty() && (!has_inferred || extents[0] == 1)) {
            extents[0] = has_inferred ? 0 : -1;  // as many as before, or what is left for it
            const Tensor open = *Tensor::from<int64_t>(shape.shape(), extents);
            node.inputs[1] = graph.add_constant(graph.fresh_name("shape"), open);
        }
    }
}

// Rows of `source` in turn, each turned a little so that no two are the same.
Tensor four_rows_of(const Tensor& source) {
    const Shape& shape = source.shape();
    Tensor batch = *Tensor::allocate(source.dtype(), with_rows(shape, kBatch));
    const int64_t row_bytes = source.byte_count() / shape[0];
    const int64_t row_elements = source.element_count() / shape[0];
    for (int64_t row = 0; row < kBatch && row_bytes > 0; ++row) {
        const std::byte* from = source.bytes() + row % shape[0] * row_bytes;
        std::byte* to = batch.mutable_bytes() + row * row_bytes;
        const int64_t turn = row % row_elements * (row_bytes / row_elements);
        std::rotate_copy(from, from + turn, from + row_bytes, to);
    }
    return batch;
}

Tensor random_rows(const ValueInfo& info) {
    std::vector<int64_t> extents;
    for (const DimSpec& dim : info.dims) {
        extents.push_back(dim.is_fixed() ? dim.extent() : 1);
    }
    Tensor tensor = *Tensor::allocate(info.dtype, *Shape::make(extents));
    uint32_t state = 1;
    const auto next = [&state] { return (state = state * 1664525 + 1013904223) >> 8; };
    if (info.dtype == DType::kFloat32) {
        std::ranges::generate(tensor.mutable_data<float>(),
                              [&] { return float(next()) / float(1 << 23) - 1; });
    } else {
        std::ranges::generate(tensor.mutable_data<int64_t>(), [&] { return int64_t{next() % 2}; });
    }
    return tensor;
}

Network make_network(const std::string& name) {
    const bool is_generated = name.rfind("gen:", 0) == 0;
    const std::filesystem::path folder =
        std::filesystem::path(is_generated ? "" : std::getenv("LEAT_TEST_DATA")) / "models" / name;
    Network network{is_generated ? zoo::make_network(name.substr(4)).value()
                                 : load_onnx(folder / "model.onnx").value(),
                    {}};
    open_batch(network.graph.data());
    const std::vector<ValueInfo> infos = network.graph.inputs();
    for (size_t i = 0; i < infos.size(); ++i) {
        const auto file = folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
        Tensor input = is_generated ? random_rows(infos[i])
                                    : load_onnx_value(file, Value::Kind::kTensor).value().tensor();
        const bool is_open = input.shape().rank() > 0 && !infos[i].dims.front().is_fixed();
        network.inputs.push_back(is_open ? four_rows_of(input) : input);
    }
    return network;
}

// Of the graph that the cpu backend runs.
Result<BatchSplit> split_of(const Network& network) {
    Graph graph = network.graph;
    std::vector<PassReport> reports;
    const Status status = run_passes(graph.data(), {}, reports);
    if (!status.ok()) {
        return status;
    }
    const std::vector<int> deciding = shape_deciding_inputs(graph.data());
    std::vector<ValueFact> given;
    for (size_t i = 0; i < network.inputs.size(); ++i) {
        const Tensor& input = network.inputs[i];
        ValueFact fact;
        fact.type = TypeInfo::tensor(input.dtype(), input.shape());
        if (std::ranges::find(deciding, int(i)) != deciding.end()) {
            fact.value = input;
        }
        given.push_back(std::move(fact));
    }
    const Result<std::vector<ValueFact>> facts = infer_graph(graph.data(), given, {});
    if (!facts.ok()) {
        return facts.error();
    }
    const Result<int64_t> batch = find_batch_extent(graph.data(), *facts);
    if (!batch.ok()) {
        return batch.error();
    }
    return *batch == kBatch ? find_batch_split(graph.data(), *facts, kShardRows)
                            : Result<BatchSplit>(Status(StatusCode::kUnsupported, "another batch"));
}

std::vector<Tensor> run(const CompiledGraph& compiled, const std::vector<Tensor>& inputs) {
    Request request = *compiled.make_request();
    const std::vector<ValueInfo> infos = compiled.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
        const Status bound = request.bind(infos[i].name, inputs[i]);
        EXPECT_TRUE(bound.ok()) << bound.message();
    }
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    std::vector<Tensor> outputs;
    for (const ValueInfo& info : compiled.outputs()) {
        const Tensor view = request.output(info.name)->tensor();
        Tensor copy = *Tensor::allocate(view.dtype(), view.shape());
        std::copy_n(view.bytes(), view.byte_count(), copy.mutable_bytes());
        outputs.push_back(std::move(copy));
    }
    return outputs;
}

// A view.
Tensor rows_of(const Tensor& whole, int64_t begin, int64_t rows) {
    const int64_t row_bytes = whole.byte_count() / whole.shape()[0];
    return Tensor::view(whole.dtype(), with_rows(whole.shape(), rows),
                        whole.bytes() + begin * row_bytes, whole.owner());
}

void expect_same_bits(const Network& network, const BatchSplit& split) {
    const Runtime runtime;
    const CompiledGraph compiled = runtime.compile(network.graph).value();
    const std::vector<Tensor> whole = run(compiled, network.inputs);
    int64_t begin = 0;
    for (const int64_t rows : kShardRows) {
        std::vector<Tensor> inputs = network.inputs;
        for (size_t i = 0; i < inputs.size(); ++i) {
            inputs[i] = split.is_divided[i] ? rows_of(inputs[i], begin, rows) : inputs[i];
        }
        const std::vector<Tensor> part = run(compiled, inputs);
        for (size_t i = 0; i < whole.size(); ++i) {
            const Tensor want = rows_of(whole[i], begin, rows);
            ASSERT_EQ(part[i].shape(), want.shape());
            EXPECT_EQ(0, std::memcmp(part[i].bytes(), want.bytes(), size_t(want.byte_count())))
                << rows << " rows from " << begin << " of output " << i << " differ";
        }
        begin += rows;
    }
}

TEST(BatchSplitNetworks, GiveTheSameBits) {
    int skipped = 0;
    for (const std::string& name : networks) {
        if (name.rfind("gen:", 0) != 0 && std::getenv("LEAT_TEST_DATA") == nullptr) {
            ++skipped;
            continue;
        }
        SCOPED_TRACE(name);
        const Network network = make_network(name);
        const Result<BatchSplit> split = split_of(network);
        EXPECT_TRUE(split.ok()) << split.error().message();
        if (split.ok()) {
            expect_same_bits(network, *split);
        }
    }
    if (skipped > 0) {
        std::cout << "LEAT_TEST_DATA is not set: " << skipped << " networks skipped\n";
    }
}

}  // namespace
}  // namespace leat

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    leat::networks.assign(argv + 1, argv + argc);
    return RUN_ALL_TESTS();
}
