// How many commands networks take on Vulkan devices, with and without fusion.
//
//   vulkan_dispatches [NETWORK...]
//
// NETWORK: of the zoo ("resnet50", "gpt2?layers=2"); all of them by default. No device is needed.
#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <vector>

#include "vulkan_dispatch_count.h"
#include "zoo/zoo.h"

namespace leat::micro {
namespace {

// A row of the table; false where the network cannot be counted.
bool print_row(const std::string& network,
               std::string_view device,
               const vulkan::KernelLimits& limits) {
    const Result<DispatchCount> count = count_dispatches(network, limits);
    if (!count.ok()) {
        fmt::print(stderr, "vulkan_dispatches: {}\n", count.error().message());
        return false;
    }
    fmt::print("{:24} {:8} {:>10} {:>10} {:>8} {:>10.3f} {:>10.3f}\n", network, device,
               count->written, count->rewritten, count->fused,
               double(count->fused) / double(count->written),
               double(count->fused) / double(count->rewritten));
    return true;
}

int print_table(const std::vector<std::string>& networks) {
    fmt::print("{:24} {:8} {:>10} {:>10} {:>8} {:>10} {:>10}\n", "network", "device", "written",
               "rewritten", "fused", "/written", "/rewritten");
    bool is_complete = true;
    for (const std::string& network : networks) {
        is_complete = print_row(network, "CPU", cpu_device_limits()) && is_complete;
        is_complete = print_row(network, "GPU", gpu_limits()) && is_complete;
    }
    return is_complete ? 0 : 1;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    std::vector<std::string> networks(argv + 1, argv + argc);
    if (networks.empty()) {
        networks.reserve(leat::zoo::networks().size());
        for (const leat::zoo::NetworkInfo& network : leat::zoo::networks()) {
            networks.emplace_back(network.name);
        }
    }
    return leat::micro::print_table(networks);
}
