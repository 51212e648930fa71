// Saved graphs loaded on machines with several NUMA nodes: see numa_cells_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

#include "leat/leat.h"
#include "support/random_tensor.h"
#include "support/scratch_folder.h"

namespace leat::numa_test {
namespace {

using testing_support::random_tensor;

constexpr int64_t kExtent = 768;  // packed constants of 2.25 MiB and of 3 KiB

//  x -- MatMul(w) -- Add(b) -- Relu -- y
Graph network() {
    Graph graph("network");
    const ValueId x = graph.input("x", DType::kFloat32, {4, kExtent});
    const ValueId w = graph.constant("w", random_tensor({kExtent, kExtent}, 1));
    const ValueId b = graph.constant("b", random_tensor({kExtent}, 2));
    graph.output("y", graph.add("Relu", {graph.add("Add", {graph.add("MatMul", {x, w}), b})}));
    return graph;
}

std::string bits_of(const CompiledGraph& compiled, int node) {
    Result<Request> request = compiled.make_request({.numa_node = node});
    if (!request.ok() || !request->bind("x", random_tensor({4, kExtent}, 3)).ok()) {
        return "no request";
    }
    const Status status = request->run();
    const std::span<const float> y = request->get<float>("y");
    return status.ok() ? std::string(reinterpret_cast<const char*>(y.data()), y.size_bytes())
                       : status.message();
}

// By node: pages of packed constants there; -1: some are elsewhere, or missing.
std::map<int, int64_t> weight_pages(const CompiledGraph& compiled) {
    std::map<int, int64_t> pages;
    const Result<Request> request = compiled.make_request({.numa_node = 0});
    const PlacementReport report = request.ok() ? request->placement_report() : PlacementReport();
    for (const PagePlacement& placement : report.memory) {
        if (placement.memory == "weights" && placement.numa_nodes.size() == 1) {
            const bool is_there = placement.there_pages == placement.wanted_pages &&
                                  placement.is_confirmed && placement.policy_effective == "bind";
            int64_t& sum = pages[placement.numa_nodes.front()];
            sum = is_there && sum >= 0 ? sum + placement.there_pages : -1;
        }
    }
    return pages;
}

TEST(NumaSaved, HaveTheirPackedConstantsOnEachNode) {
    const ScratchFolder folder;
    const std::filesystem::path file = folder.path() / "network.leat";
    std::string wanted;
    int64_t copied_bytes = 0;
    {
        const Runtime runtime;
        const auto compiled = runtime.compile(network());
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        wanted = bits_of(*compiled, 0);
        copied_bytes = compiled->report().packed_weight_bytes;
        ASSERT_TRUE(compiled->save(file).ok());
    }
    const Runtime runtime;
    const auto loaded = runtime.load(file);
    ASSERT_TRUE(loaded.ok()) << loaded.error().message();
    // Copies of what is mapped, as many as compile() packed.
    EXPECT_GT(loaded->report().mapped_weight_bytes, 0);
    EXPECT_EQ(loaded->report().packed_weight_bytes, copied_bytes);
    EXPECT_GT(copied_bytes, loaded->report().mapped_weight_bytes);
    // All of one slab, behind each other.
    const int64_t page_bytes = ::sysconf(_SC_PAGESIZE);
    const int64_t node_pages = (loaded->report().mapped_weight_bytes + page_bytes - 1) / page_bytes;
    const std::map<int, int64_t> pages = weight_pages(*loaded);
    for (const MemoryNodeInfo& node : runtime.host().memory_nodes) {
        if (node.has_cpus) {
            EXPECT_EQ(pages.count(node.numa_node) == 0 ? 0 : pages.at(node.numa_node), node_pages);
            EXPECT_EQ(bits_of(*loaded, node.numa_node), wanted) << "node " << node.numa_node;
        }
    }
}

}  // namespace
}  // namespace leat::numa_test
