// PlanAddresses: the arguments of a plan's steps, with addresses. Used by one thread at a time, but
// for what is const.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/byte_range.h"
#include "base/grown_tensor.h"
#include "plan/plan.h"

namespace leat {

class PlanAddresses {
  public:
    // The plan outlives this.
    explicit PlanAddresses(const Plan& plan);

    // Puts all buffers into an arena of Plan::arena_bytes().
    void link(std::byte* arena);
    // Lets the plan's grown tensor of that index be this one.
    void set_grown(int32_t index, GrownTensor& tensor);
    void set_input(int input, const std::byte* data);
    // Lets the buffer of an output live in other memory; null: in the arena again. False if the
    // output has no buffer of its own: it is an input, a constant, or a part of something else.
    bool set_output(int output, std::byte* data);

    std::span<const TensorArg> inputs_of(const PlanStep& step) const {
        return std::span(args_).subspan(size_t(step.first_arg), size_t(step.input_count));
    }
    std::span<const TensorArg> outputs_of(const PlanStep& step) const {
        return std::span(args_).subspan(size_t(step.first_arg) + size_t(step.input_count),
                                        size_t(step.output_count));
    }
    // The elements of a tensor output.
    const std::byte* output_data(int output) const;
    // Of a tensor output, as the last run left it.
    const Shape& output_shape(int output) const;
    // What grew as the output. Precondition: it is one of these.
    GrownTensor& grown_output(int output) const {
        return *grown_[size_t(plan_->storage.outputs[size_t(output)].storage.index)];
    }
    // True if some of the strings, or of what grows, are in these bytes, given by address.
    bool has_elements_in(const ByteRange& range) const;

  private:
    void move_buffer(int32_t buffer, std::byte* address);
    int64_t offset_bytes(int32_t arg) const {
        return plan_->storage.args[size_t(arg)].offset_bytes;
    }

    const Plan* plan_;
    std::byte* arena_ = nullptr;
    std::vector<TensorArg> args_;
    std::vector<std::byte*> buffers_;                   // address of each arena buffer
    std::vector<std::vector<int32_t>> args_of_buffer_;  // arguments in each arena buffer
    std::vector<std::vector<int32_t>> args_of_input_;   // arguments in each graph input
    std::vector<const std::byte*> inputs_;              // address of each graph input
    std::vector<std::vector<std::string>> strings_;     // by string buffer
    std::vector<GrownTensor*> grown_;                   // of the request
};

}  // namespace leat
