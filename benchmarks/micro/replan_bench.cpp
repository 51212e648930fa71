// Planning a compiled graph again for another batch size, beside the limit of 200 us, or with
// devices 5 ms.
//
//   replan_bench [--workers N] [--rounds N] [--device LIST] [--sim NAME=VALUE]... [--open]
//                [--numbers] [NETWORK...]
//
// --numbers: what plan number 10 and plan number 1,000 of a graph take, beside the limit of 1.2 for
// their ratio, with the cache as large as it is by default. "random": CompiledGraph::prepare for
// batches in random order, each once; "growing": Request::prepare for batches 1, 2, 3, ..., which
// grows the request's memory, too. Of each the median of the numbers around it, of all rounds;
// "slabs": how often the request got other memory.
// --device: a list of devices, over which costs place, for batches within bounds, with --open
// without any; --sim: a setting of sim, whose plugin is in the folder that LEAT_BUILT_BACKENDS
// names.
// NETWORK: "operators=N", random ones; an ONNX file with an open batch, or a network of the zoo
// ("resnet50", "gpt2?layers=2"). Each round plans the batches 1 to 12 in turn. The cache keeps the
// newest plan alone, so every one of them is made afresh, with the one before at hand. Graph,
// weights and former plan are warm. "compile" is what comes before: the graph is compiled, and has
// its first plan, without what backends take, beside 250 ms. "first" is the longest call of a round
// before these, which sees each batch for the first time; "worst" the batch whose median call takes
// longest, and what the limit is held against; "backend" what backends of devices take of a call,
// and "aside" what is left without it, of which there are the same three figures; "bytes" the
// largest ratio of a plan's bytes, in the host's memory and in those of devices, to those of a plan
// for the same batch that starts from no other.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/split_mix.h"
#include "graphbench/statistics.h"
#include "leat/leat.h"
#include "zoo/zoo.h"

namespace leat::micro {
namespace {

constexpr double kLimitUs = 200;
constexpr double kDeviceLimitUs = 5000;
constexpr double kCompileLimitMs = 250;
constexpr int64_t kBatches = 12;
constexpr std::string_view kOperators = "operators=";
// --numbers: those around the tenth and the thousandth plan.
constexpr size_t kNumbers[] = {10, 1000};
constexpr size_t kAround = 4;
constexpr double kNumbersLimit = 1.2;

constexpr const char* kNetworks[] = {
    "resnet50", "mobilenet_v2", "squeezenet1_1", "vit_b16", "bert_base?layers=4", "gpt2?layers=4",
};
constexpr const char* kNumberNetworks[] = {"operators=30", "operators=100", "operators=300"};
constexpr const char* kDeviceNetworks[] = {"squeezenet1_1", "resnet50", "operators=2000"};

struct Setup {
    int workers = 1;
    int rounds = 20;
    std::string devices;  // empty: the CPU
    bool has_bounds = true;
    bool counts_plans = false;  // --numbers
    std::map<std::string, std::string, std::less<>> sim;
    std::vector<std::string> networks;

    bool is_bounded() const { return has_bounds && !devices.empty(); }
    // Of the plan that is made first: where there are bounds, the upper one's.
    int64_t first_batch() const { return is_bounded() ? kBatches : 1; }
    double limit_us() const { return devices.empty() ? kLimitUs : kDeviceLimitUs; }
};

struct Times {
    std::vector<double> call_us;  // of CompiledGraph::prepare
    std::vector<double> plan_us;
    std::vector<double> inference_us;
    std::vector<double> kernel_us;
    std::vector<double> backend_us;
    std::vector<double> aside_us;  // the call without the backends'
    std::vector<double> memory_us;
    std::vector<int64_t> bytes;  // by batch, of the last round
    double compile_ms = 0;       // and the first plan, without the backends'
    double first_us = 0;
    double first_aside_us = 0;
    int steps = 0;

    void reserve(size_t count) {
        for (std::vector<double>* part :
             {&call_us, &plan_us, &inference_us, &kernel_us, &backend_us, &aside_us, &memory_us}) {
            part->reserve(count);
        }
    }
    void add(double microseconds, const PlanReport& report) {
        call_us.push_back(microseconds);
        plan_us.push_back(double(report.plan_time_ns) * 1e-3);
        inference_us.push_back(double(report.inference_time_ns) * 1e-3);
        kernel_us.push_back(double(report.kernel_time_ns) * 1e-3);
        memory_us.push_back(double(report.memory_time_ns) * 1e-3);
        backend_us.push_back(double(report.backend_time_ns) * 1e-3);
        aside_us.push_back(microseconds - backend_us.back());
        steps = report.step_count;
    }
};

double worst_batch_us(const std::vector<double>& calls_us) {
    double worst = 0;
    for (size_t batch = 0; batch < size_t(kBatches); ++batch) {
        std::vector<double> own;
        for (size_t at = batch; at < calls_us.size(); at += size_t(kBatches)) {
            own.push_back(calls_us[at]);
        }
        worst = std::max(worst, bench::median(own));
    }
    return worst;
}

int64_t planned_bytes(const PlanReport& report) {
    int64_t bytes = report.arena_bytes;
    for (const DeviceMemoryReport& memory : report.device_memory) {
        bytes += memory.bytes;
    }
    return bytes;
}

// As many operators, each of which reads one or two of the six values before it.
Graph random_operators(int count) {
    constexpr int64_t kCols = 32;
    SplitMix random(1);
    Graph graph(fmt::format("{} operators", count));
    std::vector<ValueId> values = {graph.input("x", DType::kFloat32, {DimSpec("batch"), kCols})};
    const ValueId weights = graph.constant(
        "w", *Tensor::from(Shape{kCols, kCols}, std::vector<float>(kCols * kCols, 0.1F)));
    std::vector<bool> is_read(size_t(count) + 1);
    const auto draw = [&] {
        const auto made = int32_t(values.size());
        const int32_t at = made - 1 - random.below(std::min(made, 6));
        is_read[size_t(at)] = true;
        return values[size_t(at)];
    };
    for (int i = 0; i < count; ++i) {
        const std::string name = fmt::format("n{}", i);
        const int32_t kind = random.below(3);
        values.push_back(kind == 0   ? graph.add("MatMul", {draw(), weights}, {}, name)
                         : kind == 1 ? graph.add("Add", {draw(), draw()}, {}, name)
                                     : graph.add("Tanh", {draw()}, {}, name));
    }
    for (size_t i = 1; i < values.size(); ++i) {
        if (!is_read[i]) {
            graph.output(fmt::format("y{}", i), values[i]);
        }
    }
    return graph;
}

Result<Graph> load_network(const std::string& name) {
    if (name.starts_with(kOperators)) {
        const std::string_view text = std::string_view(name).substr(kOperators.size());
        int count = 0;
        std::from_chars(text.data(), text.data() + text.size(), count);
        return random_operators(std::max(count, 1));
    }
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

// One plan is kept.
CompileOptions options_for(const Graph& graph, const Setup& setup) {
    CompileOptions options;
    options.plan_cache_bytes = 1;
    if (!setup.devices.empty()) {
        options.devices = setup.devices;
        options.placement_policy = PlacementPolicy::kCost;
    }
    for (const ValueInfo& input : graph.inputs()) {
        for (const DimSpec& dim : input.dims) {
            if (!dim.is_fixed() && setup.is_bounded()) {
                options.dim_bounds[std::string(dim.name())] = {1, kBatches};
            }
        }
    }
    return options;
}

RuntimeOptions runtime_options(const Setup& setup) {
    RuntimeOptions options;
    options.threads = setup.workers;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "" : folder;
    options.backend_settings["sim"] = setup.sim;
    return options;
}

// Further plans ask backends, too, which is left in.
double aside_ms(std::chrono::duration<double, std::milli> taken, const CompiledGraph& compiled) {
    const CompileReport report = compiled.report();
    return taken.count() -
           double(report.part_compile_time_ns + report.plans.front().backend_time_ns) * 1e-6;
}

Result<Times> measure(const Graph& graph, const Runtime& runtime, const Setup& setup) {
    const auto start_of_compile = std::chrono::steady_clock::now();
    Result<CompiledGraph> compiled = runtime.compile(graph, options_for(graph, setup));
    if (!compiled.ok()) {
        return compiled.error();
    }
    const int64_t first_batch = setup.first_batch();
    if (const Status status = compiled->prepare(shapes_for(*compiled, first_batch)); !status.ok()) {
        return status;
    }
    Times times;
    times.compile_ms = aside_ms(std::chrono::steady_clock::now() - start_of_compile, *compiled);
    times.bytes.resize(size_t(kBatches));
    times.reserve(size_t(setup.rounds * kBatches));
    for (int round = 0; round <= setup.rounds; ++round) {
        for (int64_t batch = 1; batch <= kBatches; ++batch) {
            const InputShapes shapes = shapes_for(*compiled, batch);
            const auto start = std::chrono::steady_clock::now();
            const Status status = compiled->prepare(shapes);
            const std::chrono::duration<double, std::micro> taken =
                std::chrono::steady_clock::now() - start;
            if (!status.ok()) {
                return status;
            }
            const PlanReport report = compiled->report().plans.front();
            times.bytes[size_t(batch - 1)] = planned_bytes(report);
            if (round > 0) {
                times.add(taken.count(), report);
            } else if (batch != first_batch) {
                times.first_us = std::max(times.first_us, taken.count());
                times.first_aside_us = std::max(
                    times.first_aside_us, taken.count() - double(report.backend_time_ns) * 1e-3);
            }
        }
    }
    return times;
}

// A plan under a limit, which this one never reaches, starts from no other.
Result<double> largest_ratio(const Graph& graph,
                             const Runtime& runtime,
                             const Setup& setup,
                             const std::vector<int64_t>& bytes) {
    CompileOptions options = options_for(graph, setup);
    options.memory_limit_bytes = int64_t{1} << 50;
    const Result<CompiledGraph> compiled = runtime.compile(graph, options);
    if (!compiled.ok()) {
        return compiled.error();
    }
    double largest = 0;
    for (int64_t batch = 1; batch <= kBatches; ++batch) {
        if (const Status status = compiled->prepare(shapes_for(*compiled, batch)); !status.ok()) {
            return status;
        }
        const int64_t anew = planned_bytes(compiled->report().plans.front());
        largest = std::max(largest, double(bytes[size_t(batch - 1)]) / double(anew));
    }
    return largest;
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

Status print_row(const std::string& network, const Setup& setup) {
    const Runtime runtime(runtime_options(setup));
    const Result<Graph> graph = load_network(network);
    if (!graph.ok()) {
        return graph.error();
    }
    Result<Times> measured = measure(*graph, runtime, setup);
    if (!measured.ok()) {
        return measured.error();
    }
    Times& times = *measured;
    const Result<double> ratio = largest_ratio(*graph, runtime, setup, times.bytes);
    if (!ratio.ok()) {
        return ratio.error();
    }
    const double call = bench::median(times.call_us);
    const double worst = worst_batch_us(times.call_us);
    const double inference = bench::median(times.inference_us);
    const double kernels = bench::median(times.kernel_us);
    const double memory = bench::median(times.memory_us);
    fmt::print(
        "{:<24} {:>5} {:>8.1f} {:>8.0f} {:>8.0f} {:>8.0f} {:>8.0f} {:>9.0f} {:>8.0f} {:>8.0f} "
        "{:>8.0f} {:>8.0f} {:>8.0f} {:>8.0f} {:>8.0f} {:>9.2f} {:>6.3f}\n",
        file_or_spec(network), times.steps, times.compile_ms,
        *std::min_element(times.call_us.begin(), times.call_us.end()), call, times.first_us, worst,
        inference, kernels, bench::median(times.backend_us), memory,
        call - inference - kernels - memory, bench::median(times.aside_us), times.first_aside_us,
        worst_batch_us(times.aside_us), worst / setup.limit_us(), *ratio);
    return {};
}

// Of the plans around each of kNumbers.
struct NumberTimes {
    std::vector<double> calls_us[std::size(kNumbers)];

    std::string text() const {
        const double early = bench::median(calls_us[0]);
        const double late = bench::median(calls_us[1]);
        return fmt::format("{:>8.1f} {:>8.1f} {:>6.2f}", early, late, late / early);
    }
};

// Prepares a batch after the other; `after_each` is not timed.
template <class Prepare, class AfterEach>
Status measure_numbers(const CompiledGraph& compiled,
                       const std::vector<int64_t>& batches,
                       const Prepare& prepare,
                       const AfterEach& after_each,
                       NumberTimes& times) {
    for (size_t i = 0; i < batches.size(); ++i) {
        const InputShapes shapes = shapes_for(compiled, batches[i]);
        const auto start = std::chrono::steady_clock::now();
        Status status = prepare(shapes);
        const std::chrono::duration<double, std::micro> taken =
            std::chrono::steady_clock::now() - start;
        if (!status.ok()) {
            return status;
        }
        for (size_t n = 0; n < std::size(kNumbers); ++n) {
            if (i + 1 + kAround >= kNumbers[n] && i + 1 <= kNumbers[n] + kAround) {
                times.calls_us[n].push_back(taken.count());
            }
        }
        after_each();
    }
    return {};
}

// Pages of the request's memory: other ones are another slab, as it only grows.
int64_t pages_of(const Request& request) {
    int64_t pages = 0;
    for (const PagePlacement& part : request.placement_report().memory) {
        pages += part.memory == "activations" ? part.wanted_pages : 0;
    }
    return pages;
}

Status print_numbers(const std::string& network, const Setup& setup) {
    const Runtime runtime(runtime_options(setup));
    const Result<Graph> graph = load_network(network);
    if (!graph.ok()) {
        return graph.error();
    }
    CompileOptions options = options_for(*graph, setup);
    options.plan_cache_bytes = CompileOptions().plan_cache_bytes;
    std::vector<int64_t> growing(kNumbers[1] + kAround);
    std::iota(growing.begin(), growing.end(), 1);
    NumberTimes random_times;
    NumberTimes growing_times;
    int slabs = 0;
    size_t plans = 0;
    SplitMix random(1);
    for (int round = 0; round < setup.rounds; ++round) {
        std::vector<int64_t> shuffled = growing;
        for (size_t i = shuffled.size(); i > 1; --i) {
            std::swap(shuffled[i - 1], shuffled[size_t(random.below(int32_t(i)))]);
        }
        const Result<CompiledGraph> compiled = runtime.compile(*graph, options);
        if (!compiled.ok()) {
            return compiled.error();
        }
        const auto plan = [&](const InputShapes& shapes) { return compiled->prepare(shapes); };
        LEAT_RETURN_IF_ERROR(measure_numbers(
            *compiled, shuffled, plan, [] {}, random_times));
        plans = compiled->report().plans.size();
        // Without the plans of before.
        const Result<CompiledGraph> fresh = runtime.compile(*graph, options);
        Result<Request> request = fresh->make_request();
        if (!request.ok()) {
            return request.error();
        }
        int64_t pages = 0;
        slabs = 0;
        LEAT_RETURN_IF_ERROR(measure_numbers(
            *fresh, growing, [&](const InputShapes& shapes) { return request->prepare(shapes); },
            [&] { slabs += std::exchange(pages, pages_of(*request)) == pages ? 0 : 1; },
            growing_times));
    }
    fmt::print("{:<24} {:>6} {} {} {:>6}\n", file_or_spec(network), plans, random_times.text(),
               growing_times.text(), slabs);
    return {};
}

int print_rows(const Setup& setup, Status (*print)(const std::string&, const Setup&)) {
    for (const std::string& network : setup.networks) {
        if (const Status printed = print(network, setup); !printed.ok()) {
            fmt::print(stderr, "{}: {}\n", network, printed.message());
            return 1;
        }
    }
    return 0;
}

int run(Setup setup) {
    if (setup.counts_plans) {
        if (setup.networks.empty()) {
            setup.networks.assign(std::begin(kNumberNetworks), std::end(kNumberNetworks));
        }
        fmt::print(
            "{} worker(s), {} rounds; medians in us of plans number {} and {}, limit {} times\n"
            "{:<24} {:>6} {:>24} {:>24} {:>6}\n",
            setup.workers, setup.rounds, kNumbers[0], kNumbers[1], kNumbersLimit, "network",
            "cached", "random batches", "growing batches", "slabs");
        return print_rows(setup, print_numbers);
    }
    if (setup.networks.empty() && setup.devices.empty()) {
        setup.networks.assign(std::begin(kNetworks), std::end(kNetworks));
    } else if (setup.networks.empty()) {
        setup.networks.assign(std::begin(kDeviceNetworks), std::end(kDeviceNetworks));
    }
    fmt::print(
        "{}{} worker(s), batches 1 to {}, {} rounds; medians in us, limit {} us; compile in ms, "
        "limit {} ms for 2,000 operators\n",
        setup.devices.empty() ? "" : setup.devices + ", ", setup.workers, kBatches, setup.rounds,
        setup.limit_us(), kCompileLimitMs);
    fmt::print(
        "{:<24} {:>5} {:>8} {:>8} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} "
        "{:>8} "
        "{:>9} {:>6}\n",
        "network", "steps", "compile", "least", "call", "first", "worst", "inference", "kernels",
        "backend", "memory", "rest", "aside", "first", "worst", "of limit", "bytes");
    return print_rows(setup, print_row);
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    leat::micro::Setup setup;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        const std::string_view text = i + 1 < argc ? argv[i + 1] : "";
        if (argument == "--workers" || argument == "--rounds") {
            int& number = argument == "--workers" ? setup.workers : setup.rounds;
            const auto [end, error] =
                std::from_chars(text.data(), text.data() + text.size(), number);
            if (error != std::errc() || end != text.data() + text.size() || number < 1) {
                fmt::print(stderr, "{} needs a number from 1 on\n", argument);
                return 2;
            }
            ++i;
        } else if (argument == "--numbers") {
            setup.counts_plans = true;
        } else if (argument == "--open") {
            setup.has_bounds = false;
        } else if (argument == "--device") {
            setup.devices = text;
            ++i;
        } else if (argument == "--sim") {
            const size_t equals = std::min(text.find('='), text.size());
            setup.sim[std::string(text.substr(0, equals))] =
                std::string(text.substr(std::min(equals + 1, text.size())));
            ++i;
        } else {
            setup.networks.emplace_back(argument);
        }
    }
    return leat::micro::run(std::move(setup));
}
