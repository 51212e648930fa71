// How many commands the networks of the zoo take on Vulkan devices. No device is needed.
#include <gtest/gtest.h>

#include "micro/vulkan_dispatch_count.h"

namespace leat::micro {
namespace {

// Widths and depths are small: counts by layer are those of the published sizes.
constexpr const char* kNetworks[] = {"resnet50?size=64",
                                     "mobilenet_v2?size=64",
                                     "squeezenet1_1?size=64",
                                     "vit_b16?size=64,layers=3,width=128,heads=2",
                                     "bert_base?tokens=32,layers=3,width=128,heads=2,vocab=100",
                                     "gpt2?tokens=32,layers=3,width=128,heads=2,vocab=100",
                                     "gpt2_decode?cached=31,layers=3,width=128,heads=2,vocab=100"};

TEST(VulkanFusion, HalvesTheCommandsOfEveryNetwork) {
    for (const char* network : kNetworks) {
        for (const vulkan::KernelLimits& limits : {cpu_device_limits(), gpu_limits()}) {
            SCOPED_TRACE(network);
            const Result<DispatchCount> count = count_dispatches(network, limits);
            ASSERT_TRUE(count.ok()) << count.error().message();
            EXPECT_LE(2 * count->fused, count->written)
                << count->fused << " of " << count->written << ", " << count->rewritten
                << " after the host's passes";
        }
    }
}

}  // namespace
}  // namespace leat::micro
