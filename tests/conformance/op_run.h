// One OpCase prepared to be run: its inputs, what inference says about its outputs, and runs of the
// reference kernel and of CPU kernels with buffers that show writes out of bounds and missing
// writes.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/cpu/cpu_kernel.h"
#include "conformance/op_case.h"
#include "graph/op_def.h"
#include "memory/domains/weight_store.h"

namespace leat::testing {

// The cases of all operators.
std::vector<OpCase> all_cases();

// A case's operands, undefined where absent.
Result<std::vector<Tensor>> inputs_of(const OpCase& op_case);

// An operator's CPU kernels, best first.
std::vector<const cpu::CpuKernelEntry*> kernels_of(std::string_view op_type);

bool bitwise_equal(const Tensor& a, const Tensor& b);

// Order in which the tiles of a kernel run. kInParallel: each by a thread of its own.
enum class TileOrder : uint8_t { kOneByOne, kReverse, kAllAtOnce, kInParallel };

// Memory of one operand: element-aligned but no better, between guard bytes.
class GuardedBuffer {
  public:
    GuardedBuffer() = default;
    // `elements` of dtype, filled with a pattern that no test expects (strings: empty).
    GuardedBuffer(DType dtype, int64_t elements);

    std::byte* data() { return data_; }
    // True if the bytes around the elements still hold the pattern.
    bool guards_intact() const;

  private:
    std::vector<std::byte> bytes_;
    std::vector<std::string> strings_;
    std::byte* data_ = nullptr;
    int64_t data_bytes_ = 0;
};

class PreparedCase {
  public:
    // Makes the inputs and infers; an error says what is wrong with the case or the operator.
    static Result<std::unique_ptr<PreparedCase>> make(const OpCase& op_case);

    const NodeData& node() const { return node_; }
    const OpDef& def() const { return *node_.def; }
    const std::vector<Tensor>& inputs() const { return inputs_; }
    const std::vector<ValueFact>& outputs() const { return output_facts_; }
    // The shape of an output, 0 for each extent that only a run knows.
    Shape output_shape(size_t i) const { return *output_facts_[i].type.least_shape(); }

    // Results of the reference kernel, row-major.
    Result<std::vector<Tensor>> run_reference() const;

    // True if operands may lie so.
    bool allows(Layout layout) const;
    // A kernel of this factory for that many workers; null if it does not cover the case.
    Result<std::unique_ptr<cpu::CpuKernel>> make_kernel(cpu::CpuKernelFactory factory,
                                                        Layout layout,
                                                        int workers = 1);
    // Results brought back to row-major. in_place_input >= 0: output 0 lies over that input.
    Result<std::vector<Tensor>> run_kernel(const cpu::CpuKernel& kernel,
                                           Layout layout,
                                           TileOrder order,
                                           int in_place_input = -1) const;
    // True if OpDef::in_place_inputs and the types allow output 0 over input i.
    bool allows_in_place(int input, Layout layout) const;

  private:
    PreparedCase() = default;
    bool allows_channels_last() const;
    // Of an operand, where the case runs in that layout: few operands leave row-major order.
    Layout layout_of(const Shape& shape, int operand, Layout layout) const;
    TensorArg input_arg(int i, Layout layout) const;  // without data
    TensorArg output_arg(int i, Layout layout) const;
    bool is_open(size_t output) const { return is_open_output(node_, int32_t(output)); }
    int64_t input_bytes() const;

    NodeData node_;
    std::vector<Tensor> inputs_;  // undefined where absent
    std::vector<const Tensor*> constants_;
    std::vector<ValueFact> input_facts_;
    std::vector<ValueFact> output_facts_;
    std::vector<GuardedBuffer>
        constant_buffers_;  // by input, in the layout of the last make_kernel
    WeightStore weights_;
    uint64_t packed_inputs_ = 0;
};

}  // namespace leat::testing
