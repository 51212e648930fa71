// MatMul and Gemm against the machine's own multiply-add peak; one row against its memory
// bandwidth.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <span>

#include "kernel_run.h"

namespace leat::micro {
namespace {

constexpr double kFloat = sizeof(float);

void product(benchmark::State& state, int64_t m, int64_t n, int64_t k) {
    const KernelRun run("MatMul", {{{m, k}}, {{k, n}, true}}, {{m, n}}, {});
    measure_flops(state, run, 2.0 * double(m) * double(n) * double(k));
}

// Neither operand constant: `heads` products, as in attention.
void attention(benchmark::State& state, int64_t heads, int64_t m, int64_t n, int64_t k) {
    const KernelRun run("MatMul", {{{heads, m, k}}, {{heads, k, n}}}, {{heads, m, n}}, {});
    measure_flops(state, run, 2.0 * double(heads * m) * double(n) * double(k));
}

void one_row(benchmark::State& state, int64_t n, int64_t k) {
    const KernelRun run("MatMul", {{{1, k}}, {{k, n}, true}}, {{1, n}}, {});
    measure_bytes(state, run, kFloat * double(n) * double(k));
}

// Reads words.size() words, a multiple of 16, in order.
double seconds_to_read(std::span<const uint64_t> words) {
    const auto begin = std::chrono::steady_clock::now();
    uint64_t sums[16] = {};
    for (size_t i = 0; i < words.size(); i += 16) {
        for (size_t j = 0; j < 16; ++j) {
            sums[j] += words[i + j];
        }
    }
    benchmark::DoNotOptimize(sums);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Reading memory once in order, in pieces of 1 MiB: what one_row is measured against.
void read(benchmark::State& state, int64_t mebibytes) {
    constexpr size_t kPiece = 1 << 17;
    const std::vector<uint64_t> data(size_t(mebibytes) * kPiece, 1);
    std::vector<double> best(size_t(mebibytes), 1e9);
    while (state.KeepRunning()) {
        for (size_t piece = 0; piece < best.size(); ++piece) {
            best[piece] = std::min(
                best[piece], seconds_to_read(std::span(data).subspan(piece * kPiece, kPiece)));
        }
        state.SetIterationTime(1e-2);
    }
    const double total = std::accumulate(best.begin(), best.end(), 0.0);
    state.counters["GBps"] = double(data.size() * sizeof(uint64_t)) / total * 1e-9;
}

template <class F, class... Args>
void add(const std::string& name, F f, Args... args) {
    benchmark::RegisterBenchmark(name.c_str(), [=](benchmark::State& state) { f(state, args...); })
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond)
        ->MinTime(0.2);
}

void add_all() {
    const int64_t products[][3] = {{49, 512, 4608},  {196, 256, 2304}, {784, 128, 1152},
                                   {3136, 64, 576},  {128, 768, 768},  {128, 3072, 768},
                                   {128, 768, 3072}, {512, 512, 512},  {1024, 1024, 1024},
                                   {384, 768, 768},  {16, 768, 768},   {4, 768, 768}};
    for (const auto& [m, n, k] : products) {
        add(fmt::format("matmul/{}x{}x{}", m, n, k), product, m, n, k);
    }
    add("attention/scores_12x128x128x64", attention, int64_t{12}, int64_t{128}, int64_t{128},
        int64_t{64});
    add("attention/values_12x128x64x128", attention, int64_t{12}, int64_t{128}, int64_t{64},
        int64_t{128});
    add("attention/scores_12x384x384x64", attention, int64_t{12}, int64_t{384}, int64_t{384},
        int64_t{64});
    add("attention/decode_12x1x513x64", attention, int64_t{12}, int64_t{1}, int64_t{513},
        int64_t{64});
    add("attention/decode_12x1x64x513", attention, int64_t{12}, int64_t{1}, int64_t{64},
        int64_t{513});
    for (const auto& [n, k] :
         {std::pair<int64_t, int64_t>{1000, 2048}, {3072, 768}, {4096, 4096}}) {
        add(fmt::format("one_row/{}x{}", n, k), one_row, n, k);
    }
    add("read/64MiB", read, int64_t{64});
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    // The library owns registered benchmarks, which the analyzer takes for a leak.
    // NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDeleteLeaks)
    leat::micro::add_all();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
