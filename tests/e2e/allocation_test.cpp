// run() allocates nothing once the request holds the plan. Counts every malloc of the process, on
// any thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "zoo/zoo.h"

namespace {
std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

void count() {
    if (counting.load(std::memory_order_relaxed)) {
        allocations.fetch_add(1, std::memory_order_relaxed);
    }
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t);            // NOLINT
void* __libc_calloc(size_t, size_t);    // NOLINT
void* __libc_realloc(void*, size_t);    // NOLINT
void* __libc_memalign(size_t, size_t);  // NOLINT

void* malloc(size_t bytes) {
    return count(), __libc_malloc(bytes);
}
void* calloc(size_t n, size_t bytes) {
    return count(), __libc_calloc(n, bytes);
}
void* realloc(void* old, size_t bytes) {
    return count(), __libc_realloc(old, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
    return count(), __libc_memalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
    count();
    *memory = __libc_memalign(alignment, bytes);
    return *memory == nullptr ? 12 : 0;
}
}

namespace leat {
namespace {

std::vector<Tensor> inputs_of(const CompiledGraph& compiled) {
    std::vector<Tensor> tensors;
    for (const ValueInfo& info : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : info.dims) {
            shape.append(dim.is_fixed() ? dim.extent() : 1);
        }
        tensors.push_back(*Tensor::allocate(info.dtype, shape));
    }
    return tensors;
}

int64_t allocations_in_runs(const Graph& graph, int threads) {
    RuntimeOptions options;
    options.threads = threads;
    const Runtime runtime(options);
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    const std::vector<Tensor> inputs = inputs_of(compiled);
    const std::vector<ValueInfo> infos = compiled.inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
        EXPECT_TRUE(request.bind(infos[i].name, inputs[i]).ok());
    }
    for (int i = 0; i < 3; ++i) {
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
    }
    allocations = 0;
    counting = true;
    for (int i = 0; i < 5; ++i) {
        (void)request.run().ok();
    }
    counting = false;
    return allocations;
}

int64_t allocations_in_runs(const char* network, int threads) {
    return allocations_in_runs(*zoo::make_network(network), threads);
}

TEST(Allocation, CounterSeesAnAllocation) {
    allocations = 0;
    counting = true;
    // Through a volatile pointer: compilers may drop an allocation that nothing uses.
    void* volatile memory = ::operator new(1000);
    ::operator delete(memory);
    counting = false;
    EXPECT_EQ(allocations, 1);
}

TEST(Allocation, NoneInRunOfResNet50) {
    EXPECT_EQ(allocations_in_runs("resnet50", 1), 0);
    EXPECT_EQ(allocations_in_runs("resnet50", 2), 0);
}

TEST(Allocation, NoneInRunOfBertBase) {
    EXPECT_EQ(allocations_in_runs("bert_base?tokens=128", 1), 0);
    EXPECT_EQ(allocations_in_runs("bert_base?tokens=128", 2), 0);
}

//  y = v after n iterations of v = if c then v w else v; the stack of all v; a scan over that stack
Graph bodies_in_bodies(int64_t extent) {
    Graph graph("bodies");
    const ValueId c = graph.input("c", DType::kBool, {});
    const ValueId v = graph.input("v", DType::kFloat32, {extent, extent});
    const ValueId w = graph.input("w", DType::kFloat32, {extent, extent});
    Graph body("body");
    (void)body.input("i", DType::kInt64, {});
    body.output("goes_on_out", body.input("goes_on", DType::kBool, {}));
    const ValueId own = body.input("v", DType::kFloat32, {extent, extent});
    Graph then_branch("then");
    then_branch.output(
        "a", then_branch.add("MatMul", {then_branch.capture(body, own),
                                        then_branch.capture(body, body.capture(graph, w))}));
    Graph else_branch("else");
    else_branch.output("b", else_branch.capture(body, own));
    const ValueId next =
        body.if_(body.capture(graph, c), std::move(then_branch), std::move(else_branch))[0];
    body.output("v_out", next);
    body.output("part", next);
    const ValueId n = graph.constant("n", *Tensor::from<int64_t>({}, std::vector<int64_t>{7}));
    const std::vector<ValueId> last = graph.loop(n, ValueId{}, {v}, std::move(body));
    Graph step("step");
    const ValueId sum = step.add("Add", {step.input("s", DType::kFloat32, {extent, extent}),
                                         step.input("x", DType::kFloat32, {extent, extent})});
    step.output("s_out", sum);
    step.output("softmax", step.add("Softmax", {sum}));
    const std::vector<ValueId> scanned = graph.scan({v}, {last[1]}, std::move(step));
    graph.output("y", last[0]);
    graph.output("s", scanned[0]);
    graph.output("all", scanned[1]);
    return graph;
}

TEST(Allocation, NoneInRunOfBodies) {
    for (const int64_t extent : {4, 160}) {
        for (const int threads : {1, 2}) {
            EXPECT_EQ(allocations_in_runs(bodies_in_bodies(extent), threads), 0)
                << extent << " " << threads;
        }
    }
}

// Of a length that only the run knows: what earlier runs have grown is enough.
TEST(Allocation, NoneInRunOfAStackThatIsLongEnough) {
    Graph graph("until_limit");
    const ValueId v = graph.input("v", DType::kFloat32, {40});
    Graph body("body");
    const ValueId i = body.input("i", DType::kInt64, {});
    (void)body.input("goes_on", DType::kBool, {});
    const ValueId most =
        body.constant("most", *Tensor::from<int64_t>({}, std::vector<int64_t>{300}));
    body.output("goes_on_out", body.add("Less", {i, most}));
    const ValueId next = body.add("Tanh", {body.input("own", DType::kFloat32, {40})});
    body.output("v_out", next);
    body.output("part", next);
    Tensor begins = *Tensor::allocate(DType::kBool, {});
    begins.mutable_bytes()[0] = std::byte(1);
    const std::vector<ValueId> last =
        graph.loop(ValueId{}, graph.constant("begins", std::move(begins)), {v}, std::move(body));
    graph.output("y", last[0]);
    graph.output("all", last[1]);
    EXPECT_EQ(allocations_in_runs(graph, 1), 0);
    EXPECT_EQ(allocations_in_runs(graph, 2), 0);
}

// Lines that are searched, sorted, and made of columns.
TEST(Allocation, NoneInRunOfTopK) {
    for (const int64_t axis : {0, 1}) {
        for (const int64_t count : {5, 200}) {
            Graph graph("topk");
            const ValueId x = graph.input("x", DType::kFloat32, {300, 300});
            const ValueId k =
                graph.constant("k", *Tensor::from<int64_t>({1}, std::vector<int64_t>{count}));
            graph.output("values", graph.add_multi("TopK", {x, k}, 2, {{"axis", axis}})[0]);
            EXPECT_EQ(allocations_in_runs(graph, 1), 0);
            EXPECT_EQ(allocations_in_runs(graph, 2), 0);
        }
    }
}

// A NonMaxSuppression, and the like: results that are as large as those before, or smaller.
TEST(Allocation, NoneInRunOfResultsThatWereLarger) {
    Graph graph("open");
    const ValueId x = graph.input("x", DType::kFloat32, {30, 40});
    const ValueId holds = graph.input("holds", DType::kBool, {30});
    const ValueId boxes = graph.input("boxes", DType::kFloat32, {2, 500, 4});
    const ValueId scores = graph.input("scores", DType::kFloat32, {2, 8, 500});
    const ValueId most =
        graph.constant("most", *Tensor::from<int64_t>({1}, std::vector<int64_t>{50}));
    graph.output("at", graph.add("NonZero", {x}));
    graph.output("kept", graph.add("Compress", {x, holds}, {{"axis", int64_t{0}}}));
    const std::vector<ValueId> unique = graph.add_multi("Unique", {x}, 4);
    for (size_t i = 0; i < unique.size(); ++i) {
        graph.output("unique" + std::to_string(i), unique[i]);
    }
    graph.output("selected", graph.add("NonMaxSuppression", {boxes, scores, most}));
    for (const int threads : {1, 2}) {
        RuntimeOptions options;
        options.threads = threads;
        const Runtime runtime(options);
        const CompiledGraph compiled = *runtime.compile(graph);
        Request request = *compiled.make_request();
        std::vector<Tensor> inputs = inputs_of(compiled);
        const std::vector<ValueInfo> infos = compiled.inputs();
        for (int64_t i = 0; i < inputs[0].element_count(); ++i) {
            inputs[0].mutable_data<float>()[size_t(i)] = float(i);
        }
        std::fill_n(inputs[1].mutable_bytes(), inputs[1].byte_count(), std::byte(1));
        for (size_t i = 0; i < inputs.size(); ++i) {
            ASSERT_TRUE(request.bind(infos[i].name, inputs[i]).ok());
        }
        ASSERT_TRUE(request.run().ok());
        EXPECT_EQ(request.output("selected")->tensor().shape(), Shape({800, 3}));
        ASSERT_TRUE(request.run().ok());
        allocations = 0;
        counting = true;
        for (int64_t i = 0; i < 30; ++i) {
            (void)request.run().ok();
            inputs[1].mutable_bytes()[i] = std::byte(0);
            std::fill_n(inputs[0].mutable_data<float>().begin() + i * 40, 40, 0.0F);
        }
        counting = false;
        EXPECT_EQ(allocations, 0) << threads;
        EXPECT_EQ(request.output("kept")->tensor().shape(), Shape({1, 40}));
    }
}

// Weights that are packed before the runs, and such that each run packs.
TEST(Allocation, NoneInRunOfLstm) {
    for (const bool is_constant : {true, false}) {
        Graph graph("lstm");
        const auto weights = [&](const char* name, const Shape& shape) {
            return is_constant ? graph.constant(name, *Tensor::allocate(DType::kFloat32, shape))
                               : graph.input(name, DType::kFloat32, {shape.begin(), shape.end()});
        };
        const ValueId x = graph.input("x", DType::kFloat32, {20, 2, 33});
        graph.output("y", graph.add("LSTM",
                                    {x, weights("w", {2, 160, 33}), weights("r", {2, 160, 40}),
                                     weights("b", {2, 320})},
                                    {{"direction", std::string("bidirectional")}}));
        EXPECT_EQ(allocations_in_runs(graph, 1), 0);
        EXPECT_EQ(allocations_in_runs(graph, 2), 0);
    }
}

// Two threads share each step.
TEST(Allocation, NoneInRunOfLstmOfATeam) {
    for (const bool is_constant : {true, false}) {
        Graph graph("lstm");
        const auto weights = [&](const char* name, const Shape& shape) {
            return is_constant ? graph.constant(name, *Tensor::allocate(DType::kFloat32, shape))
                               : graph.input(name, DType::kFloat32, {shape.begin(), shape.end()});
        };
        const ValueId x = graph.input("x", DType::kFloat32, {20, 1, 33});
        graph.output(
            "y", graph.add("LSTM", {x, weights("w", {1, 1024, 33}), weights("r", {1, 1024, 256})}));
        EXPECT_EQ(allocations_in_runs(graph, 2), 0);
    }
}

}  // namespace
}  // namespace leat
