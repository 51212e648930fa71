// Commands that kernels write, run on a device by themselves: for tests that compare them with the
// reference kernels.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "backends/vulkan/kernel/kernel.h"
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

// Integers between -8 and 8, which make sums of floats exact.
std::vector<float> small_integers(int64_t count, uint32_t seed);

// A choice that somebody made, as if by measurement, for one of the kernels.
class ChosenVariant final : public vulkan::MeasuredVariants {
  public:
    ChosenVariant(std::string_view kernel, uint32_t variant) : kernel_(kernel), variant_(variant) {}
    std::optional<uint32_t> fastest(std::string_view kernel,
                                    const std::array<uint32_t, 3>& extents) const override {
        asked_ = extents;
        return kernel == kernel_ ? std::optional(variant_) : std::nullopt;
    }
    // The extents of the last question.
    const std::array<uint32_t, 3>& asked() const { return asked_; }

  private:
    std::string_view kernel_;
    uint32_t variant_;
    mutable std::array<uint32_t, 3> asked_{};
};

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
