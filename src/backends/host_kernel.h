// HostKernel: one operator prepared for fixed shapes, as a number of independent tiles that run on
// the host.
//
// Made when a plan is made, which may be slow. run() is the hot path: any worker, several workers
// in different tiles of one kernel at a time; no lock, no allocation, no exception.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "graph/op_def.h"

namespace leat {

class PlacedWeights;  // memory/domains/weight_store.h, for those that pack

// What a kernel has for one instance of a plan, beside scratch: memory of a device, for example, or
// what workers that share a tile's work agree by.
class KernelState {
  public:
    virtual ~KernelState() = default;
    KernelState() = default;
    // Before the first tile of each run, by one thread: a run that was cancelled leaves tiles that
    // never ran.
    virtual void begin_run() noexcept {}
    KernelState(const KernelState&) = delete;
    KernelState& operator=(const KernelState&) = delete;
};

struct KernelArgs {
    std::span<const TensorArg> inputs;
    std::span<const TensorArg> outputs;
    std::byte* scratch = nullptr;  // scratch_bytes of this worker, 64-byte aligned
    KernelState* state = nullptr;  // null: the kernel has none
    std::byte* shared = nullptr;   // shared_bytes of all workers, 64-byte aligned
    RunStop stop = {};             // kernels of several tiles need not ask: they end between two
};

class HostKernel {
  public:
    virtual ~HostKernel() = default;
    HostKernel() = default;
    HostKernel(const HostKernel&) = delete;
    HostKernel& operator=(const HostKernel&) = delete;

    // Runs tiles [tile_begin, tile_end). Results never depend on how tiles are grouped or on the
    // worker.
    virtual Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const = 0;

    // What each instance of a plan keeps for the kernel; null: nothing.
    virtual std::unique_ptr<KernelState> make_host_state() const { return nullptr; }

    // Name of the implementation for profiles, for example "gemm_f32_14x32".
    std::string_view kernel_name;
    int64_t tile_count = 1;
    int64_t scratch_bytes = 0;  // per worker
    int64_t shared_bytes = 0;   // of one run, of all workers together
    double cost_ns = 0;         // estimate for all tiles on one worker; 0: from OpDef::cost
    // False: outputs must not overlap inputs, whatever OpDef::in_place_inputs says.
    bool allows_in_place = true;
    // True: an operand of an epilogue step may share memory with output 0, because element i of it
    // is read before element i of the output is first written (not so when K is split over partial
    // sums in memory).
    bool epilogue_in_place = false;
    bool is_reference = false;  // the plain oracle, not a tuned kernel
    // True: errors of run() name the node that the kernel was prepared for, so it serves no other.
    bool names_node = false;
};

// What the same node had in a plan for other shapes: a kernel made now may share with it what does
// not depend on shapes, or only on those that have not changed. Its constants are the same ones.
struct FormerStep {
    const HostKernel* kernel = nullptr;
    std::span<const TensorArg> inputs;
    std::span<const TensorArg> outputs;
};

// What a backend sees of one node while it prepares a kernel. Shapes and strides are final; data is
// null except for constants.
struct PrepareContext {
    const NodeData& node;
    std::span<const TensorArg> inputs;
    std::span<const TensorArg> outputs;
    std::span<const Tensor* const>
        constants;  // by input; null where not constant. May be unaligned.
    const PlacedWeights& weights;
    // Bit i: the kernel reads its own packed copy of constant input i, never inputs[i].data. The
    // runtime then keeps no plain copy of it.
    uint64_t packed_inputs = 0;
    // Bit i: the kernel only copies bytes of constant input i, so that any address does. The
    // runtime then reads it where it is, in the mapped file, and makes no aligned copy.
    uint64_t unaligned_inputs = 0;
    FormerStep former = {};  // kernel: null if there is none
    // That may run tiles at a time. More than one only where each run has the kernel's state and
    // shared_bytes. No bit of a result depends on it.
    int workers = 1;
};

}  // namespace leat
