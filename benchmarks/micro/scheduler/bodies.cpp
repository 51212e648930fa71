#include "bodies.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace leat::micro {
namespace {

bool do_nothing(void* /*context*/, int32_t /*node*/) {
    return true;
}

void keep(uint64_t value) {
    asm volatile("" : : "r"(value));
}

bool do_work(void* context, int32_t node) {
    const auto* work = static_cast<const BusyWork*>(context);
    int64_t iterations = work->iterations;
    if (!work->weights.empty()) {
        iterations = int64_t(double(iterations) * double(work->weights[size_t(node)]));
    }
    keep(multiply_chain(iterations, uint64_t(node)));
    return true;
}

}  // namespace

int64_t now_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

uint64_t multiply_chain(int64_t iterations, uint64_t seed) {
    uint64_t x = seed;
    for (int64_t i = 0; i < iterations; ++i) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        keep(x);  // one link at a time: the loop is neither vectorised nor folded
    }
    return x;
}

NodeBody empty_body() {
    return {do_nothing, nullptr};
}

NodeBody BusyWork::body() {
    return {do_work, this};
}

void BusyWork::set_length_ns(double length_ns, double ns_per_iteration) {
    iterations = std::max<int64_t>(1, std::llround(length_ns / ns_per_iteration));
}

double measure_ns_per_iteration() {
    constexpr int64_t kIterations = 100'000;  // about 0.1 ms
    constexpr int kRepeats = 8;
    double best = 1e9;
    for (int i = 0; i < kRepeats; ++i) {
        const int64_t begin = now_ns();
        keep(multiply_chain(kIterations, uint64_t(i)));
        best = std::min(best, double(now_ns() - begin) / double(kIterations));
    }
    return best;
}

}  // namespace leat::micro
