// Placing a graph of 2,000 operators by cost and dividing it into parts, beside the limit of 250
// ms.
//
//   partition_bench [--operators N] [--rounds N] [--in-flight N]
//
// Layers of random width of a graph made through the graph's API, on a CPU and a discrete GPU that
// takes all operators but Softmax; then on an integrated one beside as fast a CPU, with a few
// products that are worth dividing, so that the graph is placed a second time, divided. Devices
// need not be there: their answers and rates are given. Each phase is timed apart, in processor
// time of the thread; the median of the rounds.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "leat/leat.h"
#include "partition/partition.h"
#include "partition/split/operator_split.h"
#include "passes/pipeline.h"
#include "place/assumed_work.h"
#include "place/cost_placement.h"
#include "place/division/operator_division.h"

namespace leat::micro {
namespace {

constexpr double kLimitMs = 250;
constexpr int64_t kRows = 256;
constexpr int64_t kColumns = 512;
constexpr int64_t kWide = 32'768;  // of what is worth dividing
constexpr int kNodesOfBlock = 3;
constexpr int kBlocks = 5;
constexpr int kDrawnForTen = 24;  // operators, where those that no block needs are left out

double processor_ms() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return double(now.tv_sec) * 1e3 + double(now.tv_nsec) * 1e-6;
}

//  value --> MatMul(up) --> Relu --> MatMul(down) --> value
ValueId wide_block(Graph& graph, ValueId value, ValueId up, ValueId down) {
    return graph.add("MatMul", {graph.add("Relu", {graph.add("MatMul", {value, up})}), down});
}

// Every operator reads values of the three layers before it, mostly of the last.
Graph layered_graph(int operators, int blocks) {
    SplitMix random(7);
    const auto below = [&](size_t bound) { return size_t(random.below(int32_t(bound))); };
    Graph graph("layered");
    const ValueId w = graph.input("w", DType::kFloat32, {kColumns, kColumns});
    std::vector<ValueId> recent = {graph.input("x", DType::kFloat32, {kRows, kColumns})};
    constexpr size_t kWidth = 24;
    ValueId up;
    ValueId down;
    if (blocks > 0) {
        up = graph.constant("up", *Tensor::allocate(DType::kFloat32, {kColumns, kWide}));
        down = graph.constant("down", *Tensor::allocate(DType::kFloat32, {kWide, kColumns}));
    }
    for (int i = 0; i < operators - kNodesOfBlock * blocks; ++i) {
        if (blocks > 0 && (i + 1) % (operators / (blocks + 1)) == 0) {
            // All that follows waits for it.
            recent = {wide_block(graph, recent.back(), up, down)};
        }
        const size_t reach = std::min(recent.size(), 3 * kWidth);
        const ValueId a = recent[recent.size() - 1 - below(reach)];
        const ValueId b = recent[recent.size() - 1 - below(reach)];
        constexpr const char* kUnary[] = {"Relu", "Sigmoid", "Softmax", "Neg"};
        const size_t kind = below(8);
        recent.push_back(kind == 0  ? graph.add("MatMul", {a, w})
                         : kind < 4 ? graph.add("Add", {a, b})
                                    : graph.add(kUnary[kind - 4], {a}));
    }
    // What nobody reads, so that no pass takes it away; what stands before a block is kept by that.
    const GraphData::Uses uses = graph.data().uses();
    int outputs = 0;
    for (const ValueId value : recent) {
        if (uses.readers[size_t(value.index)].empty()) {
            graph.output(fmt::format("y{}", outputs++), value);
        }
    }
    return graph;
}

// A GPU and a CPU of so many threads.
struct Machine {
    DeviceClass gpu = DeviceClass::kDiscrete;
    int threads = 1;
};

std::vector<DeviceAnswers> answers_for(const GraphData& graph) {
    std::vector<DeviceAnswers> answers(2);
    answers[0].device = "gpu";
    answers[1].device = "cpu";
    answers[1].is_host = true;
    for (const NodeData& node : graph.nodes) {
        answers[0].nodes.push_back({node.op_type == "Softmax" ? "no kernel" : "", 0});
        answers[1].nodes.emplace_back();
    }
    return answers;
}

AssumedDevice device_of(const char* label, DeviceClass kind, int domain) {
    AssumedDevice device;
    device.label = label;
    device.rates = default_rates(kind);
    device.rates_source = "default";
    device.domain = domain;
    device.is_host = domain == kHostMemory;
    return device;
}

AssumedDevices devices_of(const Machine& machine) {
    AssumedDevices assumed;
    assumed.devices = {device_of("gpu", machine.gpu, 1),
                       device_of("cpu", DeviceClass::kCpuThread, kHostMemory)};
    assumed.devices[0].submit_ns = 10e3;
    assumed.devices[1].rates.flops_per_s *= machine.threads;
    assumed.domains = {{"host", 0}, {"gpu: memory", int64_t{8} << 30}};
    assumed.links.resize(4);
    assumed.links[1].rates = assumed.links[2].rates = {5e3, 12e9};
    return assumed;
}

struct Phases {
    double shapes_ms = 0;
    double place_ms = 0;
    double propose_ms = 0;  // which operators to divide
    double divide_ms = 0;   // the graph is rewritten and placed again
    double cut_ms = 0;
    double sum_ms() const { return shapes_ms + place_ms + propose_ms + divide_ms + cut_ms; }
    size_t parts = 0;
    size_t divisions = 0;  // worth placing again
    PlacementForecast forecast;
    double divided_ns = 0;  // forecast of the divided graph; 0: there is none
};

Placement listed_placement(const GraphData& graph,
                           AssumedDevices assumed,
                           std::span<DeviceAnswers> answers,
                           std::span<const int> pins) {
    Placement placement;
    placement.assumed = std::move(assumed);
    placement.device_of_node = place_nodes_asking_all(graph, answers, pins).device_of_node;
    return placement;
}

Result<Placement> place_divided(const DivisionQuestion& question,
                                const OperatorDivision& division,
                                const Machine& machine,
                                int in_flight) {
    LEAT_ASSIGN_OR_RETURN(const SplitGraph split, split_operators(question.graph, division.splits));
    std::vector<DeviceAnswers> answers = answers_for(split.graph);
    AssumedDevices assumed = devices_of(machine);
    const std::vector<std::vector<double>> derived =
        derived_times(question, division, split, assumed.devices.size());
    for (size_t d = 0; d < assumed.devices.size(); ++d) {
        assumed.devices[d].derived_ns = derived[d];
    }
    std::vector<int> places(split.graph.nodes.size(), kNotPinned);
    for (size_t n = 0; n < places.size(); ++n) {
        const SplitPiece& piece = split.pieces[n];
        if (piece.role == SplitPiece::Role::kShard) {
            places[n] = division.device_of_shard[size_t(piece.split)][size_t(piece.shard)];
        }
    }
    const GraphWork work = assumed_work(split.graph, {});
    const Placement listed = listed_placement(split.graph, std::move(assumed), answers, places);
    const KnownPlacement known = placement_before(question, division, split);
    return place_by_cost({split.graph, listed, answers, places, 0, in_flight, 1, &known}, work);
}

Result<Phases> place_once(const GraphData& graph, const Machine& machine, int in_flight) {
    std::vector<DeviceAnswers> answers = answers_for(graph);
    const std::vector<int> pins(graph.nodes.size(), kNotPinned);
    Phases phases;
    double begin_ms = processor_ms();
    const auto lap = [&begin_ms] {
        const double now_ms = processor_ms();
        return now_ms - std::exchange(begin_ms, now_ms);
    };
    const GraphWork work = assumed_work(graph, {});
    phases.shapes_ms = lap();
    const Placement listed = listed_placement(graph, devices_of(machine), answers, pins);
    LEAT_ASSIGN_OR_RETURN(Placement placed,
                          place_by_cost({graph, listed, answers, pins, 0, in_flight}, work));
    phases.place_ms = lap();
    const DivisionQuestion question{graph,
                                    answers,
                                    pins,
                                    listed.assumed,
                                    work,
                                    placed.device_of_node,
                                    placed.part_of_node,
                                    placed.forecast.makespan_ns};
    const std::vector<OperatorDivision> divisions = propose_divisions(question);
    phases.divisions = divisions.size();
    phases.propose_ms = lap();
    if (!divisions.empty()) {
        LEAT_ASSIGN_OR_RETURN(const Placement divided,
                              place_divided(question, divisions.front(), machine, in_flight));
        phases.divided_ns = divided.forecast.makespan_ns;
        phases.divide_ms = lap();
    }
    const CutGraph cut = cut_clusters(graph, placed.part_of_node, placed.device_of_node);
    phases.cut_ms = lap();
    phases.parts = cut.bodies.size();
    phases.forecast = std::move(placed.forecast);
    return phases;
}

void print(const Phases& median, double slowest_ms, int operators, int rounds, int in_flight) {
    fmt::print(
        "{} operators, {} rounds: shapes and costs {:.1f} ms, placement and parts {:.1f} ms, "
        "divisions {:.1f} ms, divided placement {:.1f} ms, cutting {:.1f} ms, together {:.1f} ms "
        "(slowest {:.1f} ms; limit {} ms)\n",
        operators, rounds, median.shapes_ms, median.place_ms, median.propose_ms, median.divide_ms,
        median.cut_ms, median.sum_ms(), slowest_ms, kLimitMs);
    fmt::print("{} parts, {} divisions, forecast {:.3f} ms", median.parts, median.divisions,
               median.forecast.makespan_ns * 1e-6);
    if (median.divided_ns > 0) {
        fmt::print(", divided {:.3f} ms", median.divided_ns * 1e-6);
    }
    if (in_flight > 1) {
        fmt::print(", period {:.3f} ms, from '{}'", median.forecast.period_ns * 1e-6,
                   median.forecast.found_by);
    }
    for (const NamedMakespan& other : median.forecast.simple) {
        fmt::print("; {} {:.3f} ms", other.placement, other.makespan_ns * 1e-6);
    }
    fmt::print("\n");
}

int run(int operators, int rounds, int in_flight, const Machine& machine, int blocks) {
    Graph graph = layered_graph(operators, blocks);
    std::vector<PassReport> reports;
    Status status =
        run_passes(graph.data(),
                   {.optimize = false, .channels_last = false, .fuse_epilogues = false}, reports);
    std::vector<Phases> all;
    for (int round = 0; status.ok() && round < rounds; ++round) {
        Result<Phases> phases = place_once(graph.data(), machine, in_flight);
        status = phases.error();
        if (phases.ok()) {
            all.push_back(*std::move(phases));
        }
    }
    if (!status.ok() || all.empty()) {
        fmt::print(stderr, "{}\n", status.message());
        return 1;
    }
    std::sort(all.begin(), all.end(),
              [](const Phases& a, const Phases& b) { return a.sum_ms() < b.sum_ms(); });
    print(all[all.size() / 2], all.back().sum_ms(), graph.data().node_count(), rounds, in_flight);
    return 0;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    int operators = 2'000;
    int rounds = 9;
    int in_flight = 1;
    for (int i = 1; i + 1 < argc; i += 2) {
        const std::string_view name = argv[i];
        const std::string_view text = argv[i + 1];
        int& number = name == "--operators" ? operators : name == "--rounds" ? rounds : in_flight;
        if ((name != "--operators" && name != "--rounds" && name != "--in-flight") ||
            std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc() ||
            number < 1) {
            fmt::print(stderr,
                       "usage: partition_bench [--operators N] [--rounds N] [--in-flight N]\n");
            return 2;
        }
    }
    const leat::micro::Machine unequal;
    const leat::micro::Machine equal{leat::DeviceClass::kIntegrated, 16};
    const int status = leat::micro::run(operators, rounds, in_flight, unequal, 0);
    return status != 0 ? status
                       : leat::micro::run(operators * leat::micro::kDrawnForTen / 10, rounds,
                                          in_flight, equal, leat::micro::kBlocks);
}
