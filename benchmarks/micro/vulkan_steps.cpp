// What each step of a network takes on a Vulkan device: a step is a group of nodes that runs as
// one.
//
//   vulkan_steps [--device NAME] [--network NETWORK] [--rounds N]
//
// NETWORK: of the zoo, with fixed shapes ("resnet50", "gpt2?layers=2"). All tensors are zeros. Each
// round runs the network with a time written after each command and once without; minima are
// printed, of a command as of the whole.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "backends/vulkan/plugin/lower/program.h"
#include "base/error.h"
#include "base/round_up.h"
#include "passes/pipeline.h"
#include "vulkan_device.h"
#include "zoo/zoo.h"

namespace leat::vulkan {
namespace {

Result<DeviceProgram> program_of(std::string_view network, const KernelLimits& limits) {
    LEAT_ASSIGN_OR_RETURN(const leat::Graph graph, zoo::make_network(network));
    lowered::ImportedGraph imported;
    imported.graph = graph.data();
    std::vector<PassReport> reports;
    // As compile() does it for devices of plugins.
    LEAT_RETURN_IF_ERROR(
        run_passes(imported.graph, {.channels_last = false, .fuse_epilogues = false}, reports));
    for (size_t i = 0; i < imported.graph.values.size(); ++i) {
        ValueData& value = imported.graph.values[i];
        if (value.constant) {
            value.type = TypeInfo::tensor(value.constant->dtype(), value.constant->shape());
            imported.constants.push_back({int32_t(i), 0, int32_t(i)});
        }
    }
    try {
        return make_program(imported, limits, plugin::made<LeatRunShape>());
    } catch (const plugin::Error& error) {
        return unsupported("{}: {}", network, error.what());
    }
}

// A program on a device, each of its buffers in memory of its own.
class Steps {
  public:
    Steps(BenchmarkDevice opened, const DeviceProgram& program)
        : own_(std::move(opened)),
          program_(program),
          least_ns_(program.list.commands().size(), std::numeric_limits<int64_t>::max()) {}

    Status prepare() {
        LEAT_ASSIGN_OR_RETURN(pipelines_, KernelPipelines::make(*own_.maker, program_.shaders));
        LEAT_RETURN_IF_ERROR(allocate());
        LEAT_ASSIGN_OR_RETURN(recording_, record(false));
        LEAT_ASSIGN_OR_RETURN(timed_, record(true));
        return Status();
    }

    Status measure(int64_t rounds) {
        for (int64_t round = 0; round <= rounds; ++round) {
            LEAT_ASSIGN_OR_RETURN(const double us, time_run(*own_.queue, *recording_));
            LEAT_RETURN_IF_ERROR(time_run(*own_.queue, *timed_).error());
            LEAT_ASSIGN_OR_RETURN(const std::vector<CommandTime> times, timed_->times());
            if (round == 0) {
                continue;  // the driver translates
            }
            least_us_ = std::min(least_us_, us);
            for (const CommandTime& time : times) {
                int64_t& least = least_ns_[time.command];
                least = std::min(least, time.end_ticks - time.begin_ticks);
            }
        }
        return Status();
    }

    void print() const {
        double sum_us = 0;
        for (const int64_t ns : least_ns_) {
            sum_us += double(ns) * 1e-3;
        }
        fmt::print("{:>8} {:>6}  {:32} {}\n", "us", "%", "kernel", "nodes");
        for (size_t step = 0; step + 1 < program_.step_begins.size(); ++step) {
            for (uint32_t i = program_.step_begins[step]; i < program_.step_begins[step + 1]; ++i) {
                const double us = double(least_ns_[i]) * 1e-3;
                fmt::print("{:8.1f} {:6.2f}  {:32} {}\n", us, 100 * us / sum_us, kernel_of(i),
                           program_.step_names[step]);
            }
        }
        fmt::print("{:8.1f} in sum, {:.1f} without times\n", sum_us, least_us_);
    }

  private:
    Status allocate() {
        const size_t count = program_.list.buffer_count();
        arenas_.reserve(count);
        places_.reserve(count);
        for (size_t i = 0; i < count; ++i) {
            const int64_t bytes = std::max<int64_t>(1, program_.list.buffer_bytes(BufferId(i)));
            LEAT_ASSIGN_OR_RETURN(Arena arena, Arena::allocate(own_.device, bytes));
            arenas_.push_back(std::move(arena));
            LEAT_ASSIGN_OR_RETURN(const BufferPlace place, place_in(arenas_.back(), {0, bytes}));
            places_.push_back(place);
        }
        return clear();
    }

    // What memory happens to hold could be numbers that take longer.
    Status clear() {
        CommandList list;
        for (size_t i = 0; i < arenas_.size(); ++i) {
            const BufferId buffer = list.add_buffer(round_up(arenas_[i].size_bytes(), 4));
            LEAT_RETURN_IF_ERROR(list.add(Fill{buffer, {0, list.buffer_bytes(buffer)}, 0}));
        }
        LEAT_ASSIGN_OR_RETURN(const std::unique_ptr<Recording> recording,
                              Recording::record(own_.queue, list, plan_barriers(list),
                                                {own_.maker->layout(), places_, {}}));
        return time_run(*own_.queue, *recording).error();
    }

    Result<std::unique_ptr<Recording>> record(bool writes_times) const {
        BarrierPlanOptions options;
        options.submit_budget_ns = std::numeric_limits<int64_t>::max();
        return Recording::record(own_.queue, program_.list, plan_barriers(program_.list, options),
                                 {own_.maker->layout(), places_, pipelines_.bound, writes_times});
    }

    std::string kernel_of(uint32_t command) const {
        const auto& action = program_.list.commands()[command].action;
        if (const auto* dispatch = std::get_if<Dispatch>(&action)) {
            const std::string& name = program_.shaders[size_t(dispatch->pipeline)].name;
            return name.substr(0, name.find(" + "));
        }
        return std::holds_alternative<BufferCopy>(action) ? "copy" : "fill";
    }

    BenchmarkDevice own_;
    const DeviceProgram& program_;
    KernelPipelines pipelines_;
    std::vector<Arena> arenas_;
    std::vector<BufferPlace> places_;
    std::unique_ptr<Recording> recording_;  // goes before what it uses
    std::unique_ptr<Recording> timed_;
    std::vector<int64_t> least_ns_;  // by command
    double least_us_ = std::numeric_limits<double>::max();
};

Status measure(std::string_view device_name, std::string_view network, int64_t rounds) {
    LEAT_ASSIGN_OR_RETURN(BenchmarkDevice opened, BenchmarkDevice::open(device_name));
    LEAT_ASSIGN_OR_RETURN(const DeviceProgram program,
                          program_of(network, kernel_limits(opened.device->info())));
    Steps steps(std::move(opened), program);
    LEAT_RETURN_IF_ERROR(steps.prepare());
    LEAT_RETURN_IF_ERROR(steps.measure(rounds));
    steps.print();
    return Status();
}

}  // namespace
}  // namespace leat::vulkan

int main(int count, char** words) {
    std::string_view device = "0";
    std::string_view network = "squeezenet1_1";
    int64_t rounds = 20;
    const leat::vulkan::BenchmarkOption options[] = {
        {"--device", &device}, {"--network", &network}, {"--rounds", &rounds}};
    return leat::vulkan::run_benchmark(std::span(words, size_t(count)), options, [&] {
        return leat::vulkan::measure(device, network, rounds);
    });
}
