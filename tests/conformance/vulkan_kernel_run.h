// Commands that kernels write, run on a device by themselves: for tests that compare them with the
// reference kernels.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/vulkan/kernel.h"
#include "graph/op_def.h"
#include "leat/tensor.h"
#include "support/vulkan_rig.h"

namespace leat::testing {

// Tests on a device, skipped where there is none. `Test`: ::testing::Test, or with parameters.
template <class Test>
class VulkanTest : public Test {
  protected:
    void SetUp() override {
        auto made = vulkan::make_test_device();
        if (!made.ok()) {
            GTEST_SKIP() << made.error().message();
        }
        device_ = *std::move(made);
    }

    std::shared_ptr<vulkan::Device> device_;
};

// Reals in [low, high); integers between, and bools.
Tensor random_tensor(
    DType dtype, const Shape& shape, uint64_t seed, double low = -1, double high = 1);

// A node with inputs 0, 1, ... and one output.
NodeData node_of(const std::string& op_type, size_t inputs, Attributes attributes = {});

// Limits with which the kernels of CPU devices, those of others, matrices, and those without shared
// memory are chosen.
std::vector<vulkan::KernelLimits> kinds_of_limits(const vulkan::Device& device);

struct RunOptions {
    vulkan::KernelLimits limits;
    // An access outside the operands is a failure, too.
    bool checks_addresses = false;
};
// Runs what `write` writes in one dispatch: input_ref(i) is inputs[i], output_ref(i) outputs[i]. A
// failure of the test, and nothing run, where it fails.
void run_in_one_dispatch(const std::shared_ptr<vulkan::Device>& device,
                         const RunOptions& options,
                         std::span<const Tensor> inputs,
                         std::span<Tensor> outputs,
                         const std::function<Status(vulkan::KernelWriter&)>& write);

}  // namespace leat::testing
