// A run with parts on a device, alone or as one of a queue's, allocates nothing but what the
// backend does itself. Counts operator new of every module but the backend's, on any thread.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "leat/leat.h"
#include "support/device_runs.h"

namespace {

std::atomic<bool> counting = false;
std::atomic<int64_t> allocations = 0;

void count(const void* caller) {
    Dl_info info{};
    const bool is_backend = dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
                            std::strstr(info.dli_fname, "leat_sim") != nullptr;
    allocations.fetch_add(is_backend ? 0 : 1, std::memory_order_relaxed);
}

void* allocate(size_t bytes, size_t alignment, const void* caller) {
    if (counting.load(std::memory_order_relaxed)) {
        count(caller);
    }
    const size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    void* memory = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
    return memory != nullptr ? memory : throw std::bad_alloc();
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t bytes) {
    return allocate(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new[](size_t bytes) {
    return allocate(bytes, alignof(std::max_align_t), __builtin_return_address(0));
}
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, size_t(alignment), __builtin_return_address(0));
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t /*bytes*/) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete[](void* memory, size_t /*bytes*/) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory,
                                       size_t /*bytes*/,
                                       std::align_val_t /*alignment*/) noexcept {
    std::free(memory);
}

namespace leat {
namespace {

// x --> Relu (sim) --> Exp (cpu) --> Neg (sim) --> y
//   \--> Tanh (cpu) -----------------------------> z
CompiledGraph compiled_chain(const Runtime& runtime, int64_t elements, int in_flight = 1) {
    Graph graph("chain");
    const ValueId x = graph.input("x", DType::kFloat32, {elements});
    const ValueId relu = graph.add("Relu", {x}, {}, "relu");
    const ValueId exp = graph.add("Exp", {relu}, {}, "exp");
    graph.output("y", graph.add("Neg", {exp}, {}, "neg"));
    graph.output("z", graph.add("Tanh", {x}, {}, "tanh"));
    CompileOptions compile;
    compile.devices = "sim,cpu";
    compile.pins = {{"exp", "cpu"}, {"tanh", "cpu"}};
    compile.requests_in_flight = in_flight;
    return *runtime.compile(graph, compile);
}

int64_t allocations_in_runs(int threads, int64_t elements) {
    const Runtime runtime(testing_support::sim_options(threads));
    const CompiledGraph compiled = compiled_chain(runtime, elements);
    Request request = *compiled.make_request();
    const std::vector<float> values(size_t(elements), -0.5F);
    EXPECT_TRUE(request.bind("x", std::span<const float>(values)).ok());
    for (int turn = 0; turn < 3; ++turn) {
        EXPECT_TRUE(request.run().ok());
    }
    allocations = 0;
    counting = true;
    for (int turn = 0; turn < 20; ++turn) {
        EXPECT_TRUE(request.run().ok());
    }
    counting = false;
    EXPECT_EQ(request.get<float>("y")[0], -1.0F);
    return allocations;
}

// Submits as long as there is room, and takes the oldest.
void run_stream(RequestQueue& queue, int requests) {
    for (int submitted = 0; submitted < requests || !queue.is_empty();) {
        for (; submitted < requests && !queue.is_full(); ++submitted) {
            EXPECT_TRUE(queue.submit().ok());
        }
        EXPECT_TRUE(queue.take().ok());
    }
}

int64_t allocations_in_stream(int threads, int64_t elements) {
    const Runtime runtime(testing_support::sim_options(threads));
    const CompiledGraph compiled = compiled_chain(runtime, elements, 3);
    RequestQueue queue = *RequestQueue::make(compiled);
    const std::vector<float> values(size_t(elements), -0.5F);
    for (int i = 0; i < queue.depth(); ++i) {
        EXPECT_TRUE(queue.next().bind("x", std::span<const float>(values)).ok());
        run_stream(queue, 1);
    }
    run_stream(queue, 3 * queue.depth());
    allocations = 0;
    counting = true;
    run_stream(queue, 30);
    counting = false;
    EXPECT_EQ(queue.next().get<float>("y")[0], -1.0F);
    return allocations;
}

TEST(DeviceAllocations, NoneInAStreamOfRequests) {
    for (const int threads : {1, 2}) {
        EXPECT_EQ(allocations_in_stream(threads, 4), 0) << threads;
        EXPECT_EQ(allocations_in_stream(threads, 100'000), 0) << threads;
    }
}

TEST(DeviceAllocations, NoneInARunWhereTheHostCopies) {
    EXPECT_EQ(allocations_in_runs(1, 4), 0);
}
TEST(DeviceAllocations, NoneInARunWhereQueuesCopy) {
    EXPECT_EQ(allocations_in_runs(1, 100'000), 0);
}

}  // namespace
}  // namespace leat
