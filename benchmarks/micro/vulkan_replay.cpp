// What a recording costs: CPU time of the thread that replays it, and time on the device beside a
// command buffer recorded by hand.
//
//   vulkan_replay [--device NAME] [--rounds N]
//
// NAME as in "vulkan:NAME": a number or name~TEXT. The list is 1,000 dispatches of one workgroup
// that each need the one before. Rounds of the recording, the hand-made buffer and an empty shader
// take turns; minima are compared.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>
#include <string_view>
#include <vector>

#include "backends/vulkan/record/command_pool.h"
#include "backends/vulkan/record/recording.h"
#include "base/error.h"
#include "base/monotonic_clock.h"
#include "empty.spv.h"
#include "vulkan_device.h"

namespace leat::vulkan {
namespace {

constexpr int kDispatches = 1000;
constexpr int64_t kElements = 64;
constexpr int64_t kBytes = kElements * 4;
constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

struct Arguments {
    std::string_view device = "0";
    int64_t rounds = 15;
};

int64_t thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// y = |y|, again and again.
Result<CommandList> make_list() {
    CommandList list;
    const BufferId y = list.add_buffer(kBytes);
    Dispatch dispatch;
    dispatch.operands[0] = {y, 0};
    dispatch.operands[1] = {y, 0};
    dispatch.operand_count = 2;
    dispatch.scalars[0] = uint32_t(kElements);
    const BufferUse use{y, {0, kBytes}, true};
    for (int i = 0; i < kDispatches; ++i) {
        LEAT_RETURN_IF_ERROR(list.add(dispatch, std::span(&use, 1), 1000));
    }
    return list;
}

// The same dispatches and barriers, written with the API alone.
Result<VkCommandBuffer> record_by_hand(const Device& device,
                                       VkCommandPool pool,
                                       VkPipelineLayout layout,
                                       VkPipeline pipeline,
                                       uint64_t address) {
    const DeviceCalls& vk = device.calls();
    LEAT_ASSIGN_OR_RETURN(const VkCommandBuffer commands, allocate_commands(device, pool));
    LEAT_RETURN_IF_ERROR(begin_commands(device, commands));
    PushBlock block;
    block.operands[0] = address;
    block.operands[1] = address;
    block.scalars[0] = uint32_t(kElements);
    VkMemoryBarrier2 memory{};
    memory.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER_2;
    memory.srcStageMask = VK_PIPELINE_STAGE_2_COMPUTE_SHADER_BIT;
    memory.srcAccessMask = VK_ACCESS_2_SHADER_READ_BIT | VK_ACCESS_2_SHADER_WRITE_BIT;
    memory.dstStageMask = memory.srcStageMask;
    memory.dstAccessMask = memory.srcAccessMask;
    VkDependencyInfo dependency{};
    dependency.sType = VK_STRUCTURE_TYPE_DEPENDENCY_INFO;
    dependency.memoryBarrierCount = 1;
    dependency.pMemoryBarriers = &memory;
    vk.CmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
    for (int i = 0; i < kDispatches; ++i) {
        vk.CmdPipelineBarrier2(commands, &dependency);
        vk.CmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, kPushBytes, &block);
        vk.CmdDispatch(commands, 1, 1, 1);
    }
    LEAT_RETURN_IF_ERROR(end_commands(device, commands));
    return commands;
}

struct Minima {
    double replay_us = std::numeric_limits<double>::max();
    double hand_us = replay_us;
    double empty_us = replay_us;
    double replay_cpu_ns = replay_us;  // of the replaying thread
};

Result<double> time_submit(Queue& queue, VkCommandBuffer commands) {
    const int64_t begin_ns = monotonic_ns();
    LEAT_ASSIGN_OR_RETURN(const uint64_t point, queue.submit(std::span(&commands, 1)));
    LEAT_RETURN_IF_ERROR(queue.wait(point, kForever).error());
    return double(monotonic_ns() - begin_ns) * 1e-3;
}

Status time_replay(Queue& queue, Recording& recording, Minima& minima) {
    const int64_t begin_ns = monotonic_ns();
    const int64_t begin_cpu_ns = thread_cpu_ns();
    LEAT_ASSIGN_OR_RETURN(const uint64_t point, recording.replay());
    minima.replay_cpu_ns = std::min(minima.replay_cpu_ns, double(thread_cpu_ns() - begin_cpu_ns));
    LEAT_RETURN_IF_ERROR(queue.wait(point, kForever).error());
    minima.replay_us = std::min(minima.replay_us, double(monotonic_ns() - begin_ns) * 1e-3);
    return Status();
}

void print(const Device& device, const Recording& recording, const Minima& minima, int64_t rounds) {
    fmt::print("{} ({}), minima of {} rounds of {} dependent dispatches\n", device.info().name,
               device.info().driver, rounds, kDispatches);
    fmt::print("recording       {:9.1f} us\nby hand         {:9.1f} us, ratio {:.3f} (bar 1.15)\n",
               minima.replay_us, minima.hand_us, minima.replay_us / minima.hand_us);
    fmt::print("empty shader    {:9.1f} us\n", minima.empty_us);
    fmt::print("replay()        {:9.4f} us of CPU an operator in {} submit (bar 0.05)\n",
               minima.replay_cpu_ns * 1e-3 / kDispatches, recording.submit_count());
}

Status measure(const Arguments& arguments) {
    LEAT_ASSIGN_OR_RETURN(const BenchmarkDevice opened, BenchmarkDevice::open(arguments.device));
    const auto& [device, queue, maker] = opened;
    LEAT_ASSIGN_OR_RETURN(const Shader shader, find_shader("elementwise_unary"));
    constexpr uint32_t kConstants[] = {uint32_t(kElements), 0};
    LEAT_ASSIGN_OR_RETURN(const OwnedPipeline pipeline, maker->make(shader, kConstants));
    LEAT_ASSIGN_OR_RETURN(const OwnedPipeline empty, maker->make({"empty", kEmptyShader}, {}));
    LEAT_ASSIGN_OR_RETURN(const Arena arena, Arena::allocate(device, kBytes));
    LEAT_ASSIGN_OR_RETURN(const BufferPlace place, place_in(arena, {0, kBytes}));
    LEAT_ASSIGN_OR_RETURN(const CommandList list, make_list());
    const BoundPipeline bound{pipeline.get(), maker->layout()};
    LEAT_ASSIGN_OR_RETURN(
        const auto recording,
        Recording::record(queue, list, plan_barriers(list),
                          {maker->layout(), std::span(&place, 1), std::span(&bound, 1)}));
    LEAT_ASSIGN_OR_RETURN(const OwnedCommandPool pool, make_command_pool(*device, queue->family()));
    LEAT_ASSIGN_OR_RETURN(
        const VkCommandBuffer by_hand,
        record_by_hand(*device, pool.get(), maker->layout(), pipeline.get(), place.address));
    LEAT_ASSIGN_OR_RETURN(
        const VkCommandBuffer of_empty,
        record_by_hand(*device, pool.get(), maker->layout(), empty.get(), place.address));
    Minima minima;
    for (int64_t round = 0; round < arguments.rounds; ++round) {
        LEAT_RETURN_IF_ERROR(time_replay(*queue, *recording, minima));
        LEAT_ASSIGN_OR_RETURN(const double hand_us, time_submit(*queue, by_hand));
        LEAT_ASSIGN_OR_RETURN(const double empty_us, time_submit(*queue, of_empty));
        minima.hand_us = std::min(minima.hand_us, hand_us);
        minima.empty_us = std::min(minima.empty_us, empty_us);
    }
    print(*device, *recording, minima, arguments.rounds);
    return Status();
}

}  // namespace
}  // namespace leat::vulkan

int main(int count, char** words) {
    leat::vulkan::Arguments arguments;
    const leat::vulkan::BenchmarkOption options[] = {
        {"--device", &arguments.device},
        {"--rounds", &arguments.rounds},
    };
    return leat::vulkan::run_benchmark(std::span(words, size_t(count)), options,
                                       [&] { return leat::vulkan::measure(arguments); });
}
