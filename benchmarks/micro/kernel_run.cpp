#include "kernel_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <random>

#include "base/check.h"
#include "fma_peak.h"

namespace leat::micro {

namespace {

double seconds(const auto& f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

Tensor random_tensor(const Shape& shape, uint32_t seed) {
    Tensor tensor = Tensor::allocate(DType::kFloat32, shape).value();
    std::minstd_rand random(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : tensor.mutable_data<float>()) {
        x = uniform(random);
    }
    return tensor;
}

TensorArg arg(const Tensor& tensor, bool channels_last) {
    TensorArg result = arg_of(tensor);
    if (channels_last) {
        result.strides = channels_last_strides(tensor.shape());
    }
    return result;
}

}  // namespace

KernelRun::KernelRun(std::string_view op_type,
                     const std::vector<Operand>& inputs,
                     const Operand& output,
                     Attributes attributes,
                     std::vector<EpilogueStep> epilogue,
                     int own_inputs) {
    node_.name = "benchmark";
    node_.op_type = std::string(op_type);
    node_.def = find_op("", op_type);
    node_.attributes = std::move(attributes);
    node_.epilogue = std::move(epilogue);
    node_.own_input_count = own_inputs;
    for (const Operand& input : inputs) {
        tensors_.push_back(random_tensor(input.shape, uint32_t(tensors_.size() + 1)));
        inputs_.push_back(arg(tensors_.back(), input.channels_last));
    }
    tensors_.push_back(random_tensor(output.shape, 99));
    output_ = arg(tensors_.back(), output.channels_last);
    std::vector<const Tensor*> constants;
    for (size_t i = 0; i < inputs.size(); ++i) {
        constants.push_back(inputs[i].constant ? &tensors_[i] : nullptr);
    }
    const PlacedWeights weights(weights_);
    cpu::PrepareContext context{node_, inputs_, {&output_, 1}, constants, weights};
    for (const auto& table : cpu::all_cpu_kernels()) {
        for (const cpu::CpuKernelEntry& entry : table) {
            if (kernel_ == nullptr && entry.op_type == op_type) {
                kernel_ = entry.make(context).value();
            }
        }
    }
    LEAT_CHECK(kernel_ != nullptr, "no kernel covers this {}", op_type);
    scratch_.resize(size_t(kernel_->scratch_bytes) + 64);
    const size_t past = reinterpret_cast<uintptr_t>(scratch_.data()) % 64;
    args_ = {inputs_, {&output_, 1}, scratch_.data() + (64 - past) % 64};
}

void KernelRun::run(std::vector<double>& best_seconds) const {
    for (int64_t tile = 0; tile < kernel_->tile_count; ++tile) {
        Status status;
        const double time = seconds([&] { status = kernel_->run(args_, tile, tile + 1); });
        LEAT_CHECK(status.ok(), "{}", status.message());
        best_seconds[size_t(tile)] = std::min(best_seconds[size_t(tile)], time);
    }
}

void KernelRun::run_all() const {
    const Status status = kernel_->run(args_, 0, kernel_->tile_count);
    LEAT_CHECK(status.ok(), "{}", status.message());
}

namespace {

// Seconds of the best run of every tile; calls between() after each run.
template <class F>
double best_of(benchmark::State& state, const KernelRun& run, F between) {
    std::vector<double> best(size_t(run.kernel().tile_count), 1e9);
    for (auto _ : state) {
        state.SetIterationTime(seconds([&] { run.run(best); }));
        between();
    }
    const double total = std::accumulate(best.begin(), best.end(), 0.0);
    state.counters["best_us"] = total * 1e6;
    return total;
}

}  // namespace

void measure_flops(benchmark::State& state, const KernelRun& run, double flops) {
    double best_peak = 1e9;
    double peak_flops = 0;
    const double best = best_of(state, run, [&] {
        best_peak = std::min(best_peak, seconds([&] { peak_flops = run_fma_chains(); }));
    });
    state.counters["GFLOPS"] = flops / best * 1e-9;
    state.counters["peak"] = peak_flops / best_peak * 1e-9;
    state.counters["percent"] = 100 * (flops / best) / (peak_flops / best_peak);
}

void measure_bytes(benchmark::State& state, const KernelRun& run, double bytes) {
    const double best = best_of(state, run, [] {});
    state.counters["GBps"] = bytes / best * 1e-9;
}

}  // namespace leat::micro
