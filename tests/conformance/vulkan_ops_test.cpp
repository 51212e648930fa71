// Every OpCase that some Vulkan kernel takes, on the machine's Vulkan device, against the reference
// kernel. A case that none takes is skipped with the reason, so the output says what is missing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/vulkan/record/list_writer.h"
#include "base/round_up.h"
#include "conformance/op_difference.h"
#include "conformance/op_run.h"
#include "support/vulkan_rig.h"

namespace leat::testing {
namespace {

using vulkan::ListWriter;
using vulkan::PlacedOperand;
using vulkan::VulkanRig;

constexpr int64_t kPaddingBytes = 64;
// Set: kernels choose as on a device that is no CPU.
constexpr const char* kAsGpu = "LEAT_TEST_VULKAN_AS_GPU";

int64_t bytes_of(const TensorArg& arg) {
    return arg.present() ? storage_bytes(arg.dtype, arg.shape.element_count()).value_or(0) : 0;
}

// One for all cases: making it takes longer than most of them.
const Result<std::shared_ptr<vulkan::Device>>& shared_device() {
    static const Result<std::shared_ptr<vulkan::Device>> kDevice = vulkan::make_test_device();
    return kDevice;
}

class VulkanOps : public ::testing::TestWithParam<OpCase> {
  protected:
    // Operands in memory of the device, between bytes that must stay.
    void place(VulkanRig& rig) {
        for (const Tensor& input : prepared_->inputs()) {
            inputs_.push_back(input.defined() ? arg_of(input) : TensorArg{});
            input_places_.push_back(add(rig, inputs_.back()));
        }
        for (size_t i = 0; i < prepared_->outputs().size(); ++i) {
            outputs_.push_back(row_major_arg(prepared_->outputs()[i].type.dtype,
                                             prepared_->output_shape(i), nullptr));
            output_places_.push_back(add(rig, outputs_.back()));
        }
    }
    static PlacedOperand add(VulkanRig& rig, const TensorArg& arg) {
        const int64_t bytes = bytes_of(arg);
        const auto buffer = rig.add_buffer(round_up(bytes, int64_t{4}) + kPaddingBytes);
        std::vector<std::byte> pattern(size_t(round_up(bytes, int64_t{4}) + kPaddingBytes),
                                       std::byte{0xA5});
        if (arg.data != nullptr && bytes > 0) {
            std::memcpy(pattern.data(), arg.data, size_t(bytes));
        }
        rig.write(buffer, pattern);
        return {buffer, 0, bytes};
    }
    std::vector<DType> types_of(const std::vector<TensorArg>& args) const {
        std::vector<DType> types;
        types.reserve(args.size());
        for (const TensorArg& arg : args) {
            types.push_back(arg.dtype);
        }
        return types;
    }
    // Only what the host may know keeps its elements.
    void hide_device_inputs(const vulkan::KernelEntry& entry) {
        const uint32_t known = prepared_->def().shape_inputs | entry.host_inputs;
        for (size_t i = 0; i < inputs_.size(); ++i) {
            if ((known >> i & 1U) == 0 && !GetParam().inputs[i].constant) {
                inputs_[i].data = nullptr;
            }
        }
    }
    void run(VulkanRig& rig, const vulkan::KernelEntry& entry);
    void expect_results(VulkanRig& rig);

    std::unique_ptr<PreparedCase> prepared_;
    std::vector<TensorArg> inputs_;
    std::vector<TensorArg> outputs_;
    std::vector<PlacedOperand> input_places_;
    std::vector<PlacedOperand> output_places_;
};

void VulkanOps::run(VulkanRig& rig, const vulkan::KernelEntry& entry) {
    vulkan::KernelLimits limits = vulkan::kernel_limits(rig.device()->info());
    limits.is_cpu = limits.is_cpu && std::getenv(kAsGpu) == nullptr;
    ListWriter writer(rig.list(), limits);
    writer.begin_node(input_places_, output_places_);
    const Status written = entry.write({prepared_->node(), inputs_, outputs_}, writer);
    ASSERT_TRUE(written.ok()) << written.message();
    for (const vulkan::ScratchBuffer& scratch : writer.scratch_buffers()) {
        rig.place_buffer(scratch.buffer, scratch.size_bytes);
    }
    for (const vulkan::ReportBuffer& told : writer.report_buffers()) {
        rig.place_buffer(told.buffer, sizeof(vulkan::ToldIndex));
    }
    for (const vulkan::ShaderUse& shader : writer.shaders()) {
        rig.add_pipeline(shader);
    }
    const auto recording = rig.record();
    ASSERT_TRUE(recording.ok()) << recording.error().message();
    const Status status = rig.run(**recording);
    ASSERT_TRUE(status.ok()) << status.message();
}

void VulkanOps::expect_results(VulkanRig& rig) {
    const auto want = prepared_->run_reference();
    ASSERT_TRUE(want.ok()) << want.error().message();
    for (size_t i = 0; i < outputs_.size(); ++i) {
        const Tensor& tensor = (*want)[i];
        const auto bytes = size_t(tensor.byte_count());
        const auto found =
            rig.read<std::byte>(output_places_[i].buffer,
                                size_t(round_up(tensor.byte_count(), int64_t{4}) + kPaddingBytes));
        auto got = Tensor::allocate(tensor.dtype(), tensor.shape());
        ASSERT_TRUE(got.ok());
        if (bytes > 0) {
            std::memcpy(got->mutable_bytes(), found.data(), bytes);
        }
        EXPECT_EQ(difference(*got, tensor, GetParam()), "") << "output " << i;
        for (size_t at = bytes; at < found.size(); ++at) {
            ASSERT_EQ(found[at], std::byte{0xA5})
                << "byte " << at - bytes << " behind output " << i;
        }
    }
}

TEST_P(VulkanOps, MatchReference) {
    auto made = PreparedCase::make(GetParam());
    ASSERT_TRUE(made.ok()) << made.error().message();
    prepared_ = *std::move(made);
    const auto& device = shared_device();
    if (!device.ok()) {
        GTEST_SKIP() << device.error().message();
    }
    const auto made_rig = VulkanRig::make_on(*device);
    ASSERT_TRUE(made_rig.ok()) << made_rig.error().message();
    VulkanRig& rig = **made_rig;
    place(rig);
    const std::vector<DType> input_types = types_of(inputs_);
    const std::vector<DType> output_types = types_of(outputs_);
    const vulkan::KernelChoice choice =
        vulkan::choose_kernel(prepared_->node(), {input_types, output_types});
    if (choice.entry == nullptr) {
        GTEST_SKIP() << choice.reason;
    }
    hide_device_inputs(*choice.entry);
    run(rig, *choice.entry);
    if (!HasFatalFailure()) {
        expect_results(rig);
    }
}

INSTANTIATE_TEST_SUITE_P(All,
                         VulkanOps,
                         ::testing::ValuesIn(all_cases()),
                         [](const ::testing::TestParamInfo<OpCase>& param) {
                             return test_name_of(param.param);
                         });

}  // namespace
}  // namespace leat::testing
