// One CPU kernel on random operands, outside of any graph, measured against the machine's limits.
//
// On a shared machine the mean says little: what counts is the best of many short runs, beside the
// best of the same number of peak measurements taken in between.
#pragma once

#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "backends/cpu/cpu_kernel.h"
#include "memory/domains/weight_store.h"

namespace leat::micro {

struct Operand {
    Shape shape;
    bool constant = false;
    bool channels_last = false;
};

class KernelRun {
  public:
    // Ends the process on an error: a benchmark's operands are literals.
    KernelRun(std::string_view op_type,
              const std::vector<Operand>& inputs,
              const Operand& output,
              Attributes attributes,
              std::vector<EpilogueStep> epilogue = {},
              int own_inputs = -1);

    // All tiles on this thread, in order; lowers best_seconds[tile] to the time that the tile took.
    void run(std::vector<double>& best_seconds) const;
    // The same as one call, without a clock.
    void run_all() const;
    const cpu::CpuKernel& kernel() const { return *kernel_; }
    // Other memory than its own from here on.
    void set_input(size_t input, const float* data) {
        inputs_[input].data = reinterpret_cast<std::byte*>(const_cast<float*>(data));
    }
    void set_output(float* data) { output_.data = reinterpret_cast<std::byte*>(data); }

  private:
    NodeData node_;
    WeightStore weights_;
    std::vector<Tensor> tensors_;
    std::vector<TensorArg> inputs_;
    TensorArg output_;
    std::unique_ptr<cpu::CpuKernel> kernel_;
    std::vector<std::byte> scratch_;
    cpu::KernelArgs args_;
};

// Runs the kernel while `state` asks for it, with counters: best GF/s, peak GF/s, and their ratio.
void measure_flops(benchmark::State& state, const KernelRun& run, double flops);
// The same for kernels that stream `bytes`: best GB/s only.
void measure_bytes(benchmark::State& state, const KernelRun& run, double bytes);

}  // namespace leat::micro
