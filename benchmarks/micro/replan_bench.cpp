// Planning a compiled graph again for another batch size, beside the limit of 200 us.
//
//   replan_bench [--workers N] [--rounds N] [NETWORK...]
//
// NETWORK: an ONNX file with an open batch, or a network of the zoo ("resnet50", "gpt2?layers=2").
// Each round plans the batches 1 to 12 in turn. The cache keeps the newest plan alone, so every one
// of them is made afresh, with the one before at hand. Graph, weights and former plan are warm.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "graphbench/statistics.h"
#include "leat/leat.h"
#include "zoo/zoo.h"

namespace leat::micro {
namespace {

constexpr double kLimitUs = 200;
constexpr int64_t kBatches = 12;

constexpr const char* kNetworks[] = {
    "resnet50", "mobilenet_v2", "squeezenet1_1", "vit_b16", "bert_base?layers=4", "gpt2?layers=4",
};

struct Times {
    std::vector<double> call_us;  // of CompiledGraph::prepare
    std::vector<double> plan_us;
    std::vector<double> inference_us;
    std::vector<double> kernel_us;
    std::vector<double> memory_us;
    int steps = 0;

    void reserve(size_t count) {
        for (std::vector<double>* part :
             {&call_us, &plan_us, &inference_us, &kernel_us, &memory_us}) {
            part->reserve(count);
        }
    }
    void add(double microseconds, const PlanReport& report) {
        call_us.push_back(microseconds);
        plan_us.push_back(double(report.plan_time_ns) * 1e-3);
        inference_us.push_back(double(report.inference_time_ns) * 1e-3);
        kernel_us.push_back(double(report.kernel_time_ns) * 1e-3);
        memory_us.push_back(double(report.memory_time_ns) * 1e-3);
        steps = report.step_count;
    }
};

Result<Graph> load_network(const std::string& name) {
    if (name.ends_with(".onnx")) {
        return load_onnx(name);
    }
    const char separator = name.find('?') == std::string::npos ? '?' : ',';
    return zoo::make_network(name + separator + "batch=0");
}

InputShapes shapes_for(const CompiledGraph& compiled, int64_t batch) {
    InputShapes shapes;
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.is_fixed() ? dim.extent() : batch);
        }
        shapes[input.name] = shape;
    }
    return shapes;
}

Result<Times> measure(const std::string& network, int workers, int rounds) {
    RuntimeOptions options;
    options.threads = workers;
    const Runtime runtime(options);
    Result<Graph> graph = load_network(network);
    if (!graph.ok()) {
        return graph.error();
    }
    CompileOptions compile_options;
    compile_options.plan_cache_bytes = 1;
    Result<CompiledGraph> compiled = runtime.compile(*graph, compile_options);
    if (!compiled.ok()) {
        return compiled.error();
    }
    Times times;
    times.reserve(size_t(rounds * kBatches));
    for (int round = 0; round <= rounds; ++round) {
        for (int64_t batch = 1; batch <= kBatches; ++batch) {
            const InputShapes shapes = shapes_for(*compiled, batch);
            const auto start = std::chrono::steady_clock::now();
            const Status status = compiled->prepare(shapes);
            const std::chrono::duration<double, std::micro> taken =
                std::chrono::steady_clock::now() - start;
            if (!status.ok()) {
                return status;
            }
            if (round > 0) {  // the first packs the weights
                times.add(taken.count(), compiled->report().plans.front());
            }
        }
    }
    return times;
}

std::string_view file_or_spec(std::string_view network) {
    if (!network.ends_with(".onnx")) {
        return network;
    }
    // ".../resnet18/model.onnx" is resnet18.
    const size_t end = network.rfind("/model.onnx");
    const std::string_view name = network.substr(0, end);
    return name.substr(name.rfind('/') + 1);
}

int run(std::vector<std::string> networks, int workers, int rounds) {
    if (networks.empty()) {
        networks.assign(std::begin(kNetworks), std::end(kNetworks));
    }
    fmt::print("{} worker(s), batches 1 to {}, {} rounds; medians in us, limit {} us\n", workers,
               kBatches, rounds, kLimitUs);
    fmt::print("{:<24} {:>5} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>9}\n", "network", "steps",
               "least", "call", "inference", "kernels", "memory", "rest", "of limit");
    for (const std::string& network : networks) {
        Result<Times> measured = measure(network, workers, rounds);
        if (!measured.ok()) {
            fmt::print(stderr, "{}: {}\n", network, measured.error().message());
            return 1;
        }
        Times& times = *measured;
        const double call = bench::median(times.call_us);
        const double inference = bench::median(times.inference_us);
        const double kernels = bench::median(times.kernel_us);
        const double memory = bench::median(times.memory_us);
        fmt::print("{:<24} {:>5} {:>8.0f} {:>8.0f} {:>9.0f} {:>8.0f} {:>8.0f} {:>8.0f} {:>9.2f}\n",
                   file_or_spec(network), times.steps,
                   *std::min_element(times.call_us.begin(), times.call_us.end()), call, inference,
                   kernels, memory, call - inference - kernels - memory, call / kLimitUs);
    }
    return 0;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    int workers = 1;
    int rounds = 20;
    std::vector<std::string> networks;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--workers" || argument == "--rounds") {
            int& number = argument == "--workers" ? workers : rounds;
            const std::string_view text = i + 1 < argc ? argv[++i] : "";
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), number);
            if (error != std::errc() || end != text.data() + text.size() || number < 1) {
                fmt::print(stderr, "{} needs a number from 1 on\n", argument);
                return 2;
            }
        } else {
            networks.emplace_back(argument);
        }
    }
    return leat::micro::run(std::move(networks), workers, rounds);
}
