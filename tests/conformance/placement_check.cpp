#include "placement_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <thread>
#include <utility>

#include "base/error.h"
#include "conformance/layout_test.h"
#include "graph/graph_data.h"
#include "leat/onnx.h"

namespace leat::placements {
namespace {

Status bind_inputs(Request& request, const DataSet& data) {
    for (const NamedValue& input : data.inputs) {
        LEAT_RETURN_IF_ERROR(request.bind(input.name, input.value));
    }
    return {};
}

// Empty, or the first output that is not as `accepts` wants it; `accepts` gives a reason or "".
template <class Accepts>
std::string first_difference(const Request& request,
                             const std::vector<ValueInfo>& outputs,
                             const Accepts& accepts) {
    for (const ValueInfo& output : outputs) {
        const Result<Value> got = request.output(output.name);
        const std::string reason = got.ok() ? accepts(output.name, *got) : got.error().message();
        if (!reason.empty()) {
            return fmt::format("output '{}': {}", output.name, reason);
        }
    }
    return {};
}

std::string difference_in_bits(const Request& request, const Computed& expected) {
    return first_difference(request, expected.compiled.outputs(),
                            [&](const std::string& output, const Value& got) -> std::string {
                                const Result<Value> want = expected.request.output(output);
                                if (!want.ok()) {
                                    return want.error().message();
                                }
                                if (same_bits(got, *want)) {
                                    return {};
                                }
                                const Difference difference = compare_values(got, *want, {0, 0});
                                return difference.matches
                                           ? "the bits differ, by the sign of a zero or in a NaN"
                                           : difference.reason;
                            });
}

std::string difference_from(const Request& request, const Computed& other, Tolerance tolerance) {
    return first_difference(request, other.compiled.outputs(),
                            [&](const std::string& output, const Value& got) {
                                const Result<Value> want = other.request.output(output);
                                return want.ok() ? compare_values(got, *want, tolerance).reason
                                                 : want.error().message();
                            });
}

// No node is anywhere but where it is pinned.
std::string misplaced_node(const CompiledGraph& compiled, const Pins& pins) {
    for (const PlacedNode& node : compiled.report().placement.nodes) {
        const auto pin = pins.find(node.name);
        if (pin != pins.end() && !node.device.empty() && node.device != pin->second) {
            return fmt::format("node '{}' ({}) is on {}", node.name, node.op_type, node.device);
        }
    }
    return {};
}

// Costs, forecast and report know transfers before there is a plan, by the rule of
// moved_values.h; those of the plan are made by another one.
std::string difference_of_moves(const Computed& computed) {
    const CompileReport report = computed.compiled.report();
    const std::vector<MovedValue>& moved = report.placement.moved;
    if (!report.segments.empty()) {
        return {};  // each has plans of its own, and bodies run as often as data say
    }
    int64_t moved_bytes = 0;
    for (const MovedValue& value : moved) {
        moved_bytes += value.bytes;
    }
    const RunReport run = computed.request.run_report();
    if (run.transfers == int64_t(moved.size()) && run.transfer_bytes == moved_bytes) {
        return {};
    }
    return fmt::format("{} values of {} bytes, a run transfers {} of {} bytes", moved.size(),
                       moved_bytes, run.transfers, run.transfer_bytes);
}

bool has_bodies(const Graph& graph) {
    const std::vector<NodeData>& nodes = graph.data().nodes;
    return std::any_of(nodes.begin(), nodes.end(),
                       [](const NodeData& node) { return node.has_bodies(); });
}

// Runs `turns` times; empty, or what went wrong first.
std::string run_and_compare(const CompiledGraph& compiled,
                            const DataSet& data,
                            int turns,
                            const Computed& expected) {
    Result<Request> request = compiled.make_request();
    if (!request.ok()) {
        return request.error().message();
    }
    Status status = bind_inputs(*request, data);
    for (int turn = 0; turn < turns; ++turn) {
        status = status.ok() ? request->run() : std::move(status);
        if (!status.ok()) {
            return status.message();
        }
        const std::string difference = difference_in_bits(*request, expected);
        if (!difference.empty()) {
            return fmt::format("turn {}: not as run serially: {}", turn, difference);
        }
    }
    return {};
}

std::string run_requests(const CompiledGraph& compiled,
                         const DataSet& data,
                         const RunSettings& settings,
                         const Computed& expected) {
    std::vector<std::string> failures(size_t(settings.requests));
    std::vector<std::thread> threads;
    threads.reserve(failures.size());
    for (std::string& failure : failures) {
        threads.emplace_back(
            [&] { failure = run_and_compare(compiled, data, settings.turns, expected); });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const auto failed = std::find_if(failures.begin(), failures.end(),
                                     [](const std::string& text) { return !text.empty(); });
    return failed == failures.end() ? std::string() : *failed;
}

// Against the bits of the serial run, in a Runtime that nothing is left of afterwards.
std::string run_concurrently(const PlacementCheck& check,
                             const CompileOptions& options,
                             const Computed& serial) {
    const Runtime runtime(runtime_options(check.settings));
    {
        const Result<CompiledGraph> compiled = runtime.compile(check.network.graph, options);
        if (!compiled.ok()) {
            return compiled.error().message();
        }
        std::string failure = misplaced_node(*compiled, check.pins);
        failure =
            failure.empty() ? run_requests(*compiled, check.data, check.settings, serial) : failure;
        if (!failure.empty()) {
            return failure;
        }
    }
    const Status unloaded = runtime.unload_backend("sim");
    return unloaded.ok() ? std::string() : unloaded.message();
}

}  // namespace

Result<Network> load_network(const std::string& name, const std::filesystem::path& folder) {
    LEAT_ASSIGN_OR_RETURN(Graph graph, load_onnx(folder / "model.onnx"));
    name_all_nodes(graph);
    Network network{name, std::move(graph), {}, tolerance_of(folder)};
    for (const std::filesystem::path& path : data_sets_of(folder)) {
        DataSet& data = network.data_sets.emplace_back();
        data.name = path.filename().string();
        LEAT_ASSIGN_OR_RETURN(data.inputs, load_inputs(network.graph, path));
        LEAT_ASSIGN_OR_RETURN(data.outputs, load_outputs(network.graph, path));
        if (data.outputs.size() != network.graph.outputs().size()) {
            return invalid_argument("the graph has {} outputs, {} has {}",
                                    network.graph.outputs().size(), data.name, data.outputs.size());
        }
    }
    return network;
}

Result<Computed> compute(const Runtime& runtime,
                         const Graph& graph,
                         const CompileOptions& options,
                         const DataSet& data) {
    LEAT_ASSIGN_OR_RETURN(CompiledGraph compiled, runtime.compile(graph, options));
    LEAT_ASSIGN_OR_RETURN(Request request, compiled.make_request());
    LEAT_RETURN_IF_ERROR(bind_inputs(request, data));
    LEAT_RETURN_IF_ERROR(request.run());
    return Computed{std::move(compiled), std::move(request)};
}

std::string difference_from_expected(const Computed& computed,
                                     const DataSet& data,
                                     Tolerance tolerance) {
    size_t next = 0;
    return first_difference(computed.request, computed.compiled.outputs(),
                            [&](const std::string& /*output*/, const Value& got) {
                                const Value& want = data.outputs[next++].value;
                                return compare_values(got, want, tolerance).reason;
                            });
}

std::string RunSettings::to_string() const {
    std::string text = fmt::format("{} threads, {} requests, {} turns", threads, requests, turns);
    for (const auto& [name, value] : sim) {
        text += fmt::format(", sim.{}={}", name, value);
    }
    return text;
}

RunSettings draw_settings(SplitMix& random, const SimSettings& always) {
    constexpr int kMostThreads = 4;
    constexpr int kMostRequests = 2;
    constexpr int kMostDelayUs = 300;
    RunSettings settings;
    settings.threads = 1 + random.below(kMostThreads);
    settings.requests = 1 + random.below(kMostRequests);
    settings.turns = 2;
    settings.sim["delay_us"] = std::to_string(random.below(3) == 0 ? 0 : kMostDelayUs);
    settings.sim["delay_seed"] = std::to_string(1 + random.below(1 << 30));
    const char* const memory[] = {"mappable", "mappable", "host_memory"};
    const int32_t kind = random.below(int32_t(std::size(memory)));
    settings.sim[memory[kind]] = kind == 0 ? "0" : "1";
    settings.sim["alignment_bytes"] = random.below(2) == 0 ? "64" : "512";
    settings.sim["copy_queues"] = std::to_string(random.below(3));
    settings.sim["compute_queues"] = std::to_string(1 + random.below(2));
    for (const auto& [name, value] : always) {
        settings.sim[name] = value;
    }
    return settings;
}

RuntimeOptions runtime_options(const RunSettings& settings) {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.backend_settings["sim"] = settings.sim;
    options.threads = settings.threads;
    return options;
}

PlacementOutcome check_placement(const PlacementCheck& check) {
    CompileOptions options;
    options.devices = check.devices;
    // Nodes of bodies go where they can.
    options.fallback = has_bodies(check.network.graph) ? Fallback::kAllow : Fallback::kForbid;
    options.pins = check.pins;
    CompileOptions serially = options;
    serially.runs_serially = true;
    const Result<Computed> serial =
        compute(check.serial_runtime, check.network.graph, serially, check.data);
    if (!serial.ok()) {
        return {"serially: " + serial.error().message()};
    }
    PlacementOutcome outcome;
    const CompileReport report = serial->compiled.report();
    outcome.is_in_segments = !report.segments.empty();
    for (const DeviceShare& device : report.placement.devices) {
        outcome.parts += device.part_count;
    }
    outcome.transfers = serial->request.run_report().transfers;
    const Tolerance tolerance = check.network.tolerance;
    const auto note = [&](const char* what, const std::string& difference) {
        if (outcome.failure.empty() && !difference.empty()) {
            outcome.failure = what + difference;
        }
    };
    note("from the expected: ", difference_from_expected(*serial, check.data, tolerance));
    if (check.single != nullptr) {
        note("from the CPU alone: ", difference_from(serial->request, *check.single, tolerance));
    }
    if (check.same_kernels != nullptr) {
        note("from one device with the same kernels: ",
             difference_in_bits(serial->request, *check.same_kernels));
    }
    note("", run_concurrently(check, options, *serial));
    note("the report moves ", difference_of_moves(*serial));
    return outcome;
}

}  // namespace leat::placements
