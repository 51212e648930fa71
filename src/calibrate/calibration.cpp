#include "calibrate/calibration.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "backends/plugin/plugin_answers.h"
#include "base/error.h"
#include "base/monotonic_clock.h"
#include "calibrate/calibration_store.h"
#include "calibrate/link_timing.h"
#include "calibrate/timed_operator.h"
#include "custom/custom_op_def.h"
#include "graph/inference.h"
#include "leat/plugin_backend.h"
#include "machine/device_costs.h"
#include "run/compiled_graph_impl.h"

namespace leat {
namespace {

// Operators that take turns under the clock: so many that caches forget the weights of one until
// its next turn, and few enough that the copies which kernels pack of these fit the memory.
constexpr size_t kMostTogether = 64;

// Runs of an operator, by what it takes as the device is assumed to be: the median of more runs
// is worth their time where they are short.
int runs_for(double roofline_ns) {
    constexpr double kLongNs = 200e6;
    constexpr double kMiddleNs = 20e6;
    constexpr int kFew = 3;
    constexpr int kSome = 7;
    constexpr int kMany = 15;
    return roofline_ns >= kLongNs ? kFew : roofline_ns >= kMiddleNs ? kSome : kMany;
}

// Nodes of the graph that agree in their signature.
struct SignedOperator {
    const NodeData* node = nullptr;  // the first one
    NodeOperands operands;
    OperatorSignature signature;
    Cost work;
    int node_count = 0;
    std::string skipped_because;
};

// Facts of all values, as far as shapes of inputs are fixed; none where inference fails, which
// whoever plans the graph will say.
SharedFacts facts_of(const GraphData& graph, const CompileOptions& options) {
    std::vector<ValueFact> given(graph.inputs.size());
    for (size_t i = 0; i < given.size(); ++i) {
        const TypeInfo& declared = graph.value(graph.inputs[i]).type;
        const std::optional<Shape> shape = assumed_input_shape(graph, options, int(i));
        given[i].type =
            declared.is_tensor() && shape ? TypeInfo::tensor(declared.dtype, *shape) : declared;
    }
    Result<SharedFacts> facts = infer_graph_again(graph, given, {}, {{}, {}});
    return facts.ok() ? std::move(facts).value() : SharedFacts();
}

bool is_known(const GraphData& graph, const SharedFacts& facts, ValueId id) {
    return !id.valid() || graph.value(id).constant.has_value() ||
           (!facts.empty() && facts[size_t(id.index)]->value.has_value());
}

// What runs: neither views nor what is known before.
std::vector<SignedOperator> operators_of(const GraphData& graph, const SharedFacts& facts) {
    std::vector<SignedOperator> operators;
    std::map<std::string, size_t> by_text;
    for (const NodeData& node : graph.nodes) {
        const bool is_computed =
            std::all_of(node.outputs.begin(), node.outputs.end(),
                        [&](ValueId id) { return is_known(graph, facts, id); });
        if (node.dead || node.def == nullptr || node.def->is_view || is_computed) {
            continue;
        }
        SignedOperator row;
        row.node = &node;
        if (std::optional<NodeOperands> operands = operands_of(graph, node, facts)) {
            row.operands = std::move(*operands);
            row.signature = signature_of(node, row.operands);
            row.work = work_of(node, row.operands.inputs, row.operands.outputs);
            row.skipped_because = reason_not_to_isolate(node, row.operands);
        } else {
            row.signature.text = node.op_type;
            row.skipped_because = "its shapes are not fixed, or an operand is no tensor";
        }
        const auto [at, is_new] = by_text.try_emplace(row.signature.text, operators.size());
        if (is_new) {
            operators.push_back(std::move(row));
        }
        ++operators[at->second].node_count;
    }
    return operators;
}

// Why the device does not take the node; empty: it does.
std::string refusal_of(const ListedDevice& device,
                       const NodeData& node,
                       const GraphData& isolated) {
    if (device.host != nullptr) {
        return device.host->refusal(node);
    }
    PluginConstants constants;
    const Result<std::unique_ptr<PluginGraph>> view = PluginGraph::make(isolated, constants);
    if (!view.ok()) {
        return view.error().message();
    }
    auto capability = plugin::made<LeatNodeCapability>();
    LeatNodeCapability* row = &capability;
    PluginError error;
    const DeviceBackend& backend = *device.place.backend;
    const Status status =
        error.status(backend.api().capabilities(backend.handle(), device.place.number,
                                                &(*view)->view(), &row, error.get()),
                     "say what it can run");
    if (!status.ok()) {
        return status.message();
    }
    if (capability.is_supported != 0) {
        return {};
    }
    return reason_for_refusal(capability);
}

// One device of the list.
class DeviceCalibration {
  public:
    DeviceCalibration(const std::shared_ptr<Runtime::Impl>& runtime,
                      const ListedDevice& device,
                      const DeviceRates& rates,
                      const GraphData& graph,
                      std::span<const SignedOperator> operators)
        : runtime_(runtime), device_(device), rates_(rates), graph_(graph), operators_(operators) {}

    // Measures what `known` (which may be null) lacks.
    CalibratedDevice run(const MeasuredCosts* known) {
        report_.device = device_.label;
        for (const SignedOperator& each : operators_) {
            add_row(each, known);
        }
        std::vector<size_t> missing;
        for (size_t i = 0; i < operators_.size(); ++i) {
            const CalibratedOperator& row = report_.operators[i];
            if (row.skipped_because.empty() && row.runs == 0) {
                missing.push_back(i);
            }
        }
        for (size_t first = 0; first < missing.size(); first += kMostTogether) {
            measure_together(
                std::span(missing).subspan(first, std::min(kMostTogether, missing.size() - first)));
        }
        fresh_.launch_ns = quartiles_of(launches_ns_).median;
        report_.launch_ns =
            fresh_.launch_ns > 0 || known == nullptr ? fresh_.launch_ns : known->launch_ns;
        if (device_.host == nullptr) {
            add_links(known);
        }
        return std::move(report_);
    }

    bool has_fresh() const { return fresh_.operator_count() > 0 || fresh_.links.has_value(); }
    const MeasuredCosts& fresh() const { return fresh_; }

  private:
    void add_row(const SignedOperator& each, const MeasuredCosts* known) {
        CalibratedOperator& row = report_.operators.emplace_back();
        row.op_type = each.node->op_type;
        row.signature = each.signature.text;
        row.node_count = each.node_count;
        row.flops = each.work.flops;
        row.bytes = each.work.bytes;
        row.roofline_ns = estimated_ns(each.work, rates_);
        row.skipped_because = each.skipped_because;
        const MeasuredOperator* measured = known == nullptr ? nullptr : known->find(each.signature);
        if (row.skipped_because.empty() && measured != nullptr) {
            row.measured_ns = measured->median_ns;
            row.spread = measured->spread;
            row.runs = measured->runs;
        }
    }

    // Null, with the reason in the operator's row, where it cannot run there.
    std::unique_ptr<TimedOperator> make_ready(size_t i, const TurnMemory& memory) {
        const SignedOperator& each = operators_[i];
        std::string& problem = report_.operators[i].skipped_because;
        Result<IsolatedNode> isolated =
            isolate_node(graph_, *each.node, each.operands, memory, each.signature.hash);
        if (!isolated.ok()) {
            problem = isolated.error().message();
            return nullptr;
        }
        problem = refusal_of(device_, *each.node, *isolated->graph);
        if (!problem.empty()) {
            problem = "refused: " + problem;
            return nullptr;
        }
        Result<std::unique_ptr<TimedOperator>> timed =
            device_.host != nullptr
                ? time_on_host(runtime_, *device_.host, std::move(isolated).value())
                : time_on_device(device_.place, std::move(isolated).value());
        if (!timed.ok()) {
            problem = timed.error().message();
            return nullptr;
        }
        return std::move(timed).value();
    }

    void measure_together(std::span<const size_t> numbers) {
        std::vector<const NodeOperands*> operands;
        operands.reserve(numbers.size());
        for (const size_t i : numbers) {
            operands.push_back(&operators_[i].operands);
        }
        const Result<TurnMemory> memory = TurnMemory::make(operands);
        std::vector<std::unique_ptr<TimedOperator>> ready;
        std::vector<int> runs;
        for (const size_t i : numbers) {
            if (!memory.ok()) {
                report_.operators[i].skipped_because = memory.error().message();
                continue;
            }
            ready.push_back(make_ready(i, *memory));
            runs.push_back(runs_for(report_.operators[i].roofline_ns));
        }
        const std::vector<TimedRuns> timed = run_in_turns(ready, runs);
        for (size_t r = 0; r < timed.size(); ++r) {
            if (ready[r] != nullptr) {
                take(numbers[r], timed[r]);
            }
        }
    }

    void take(size_t i, const TimedRuns& timed) {
        CalibratedOperator& row = report_.operators[i];
        if (!timed.problem.empty()) {
            row.skipped_because = timed.problem;
            return;
        }
        std::vector<double> times_ns;
        for (const OperatorRun& run : timed.runs) {
            times_ns.push_back(run.ns);
            if (run.launch_ns > 0) {
                launches_ns_.push_back(run.launch_ns);
            }
        }
        const Quartiles quartiles = quartiles_of(times_ns);
        row.measured_ns = quartiles.median;
        row.spread =
            quartiles.median > 0 ? (quartiles.third - quartiles.first) / quartiles.median : 0;
        row.runs = int64_t(times_ns.size());
        row.is_new = true;
        fresh_.add({row.signature, row.op_type, operators_[i].work, row.measured_ns, row.spread,
                    row.runs, 0});
    }

    void add_links(const MeasuredCosts* known) {
        std::optional<MeasuredLinks> links = known == nullptr ? std::nullopt : known->links;
        if (!links) {
            Result<MeasuredLinks> measured = measure_links(device_.place);
            if (!measured.ok()) {
                report_.link_problem = measured.error().message();
                return;
            }
            links = *measured;
            fresh_.links = *measured;
            report_.is_link_new = true;
        }
        report_.has_links = true;
        report_.to_device = {links->to_device.latency_ns, links->to_device.bytes_per_s};
        report_.from_device = {links->from_device.latency_ns, links->from_device.bytes_per_s};
        report_.contention = links->contention;
    }

    const std::shared_ptr<Runtime::Impl>& runtime_;
    const ListedDevice& device_;
    DeviceRates rates_;
    const GraphData& graph_;
    std::span<const SignedOperator> operators_;
    CalibratedDevice report_;
    MeasuredCosts fresh_;
    std::vector<double> launches_ns_;
};

void count(const CalibratedDevice& device, CalibrationReport& report) {
    for (const CalibratedOperator& row : device.operators) {
        (!row.skipped_because.empty() ? report.skipped_count
         : row.is_new                 ? report.measured_count
                                      : report.kept_count) += 1;
    }
    if (device.has_links) {
        (device.is_link_new ? report.measured_count : report.kept_count) += 1;
    } else if (!device.link_problem.empty()) {
        ++report.skipped_count;
    }
}

std::string settings_text(const Runtime::Impl& runtime, const std::string& backend) {
    std::string text;
    const auto settings = runtime.options.backend_settings.find(backend);
    if (settings != runtime.options.backend_settings.end()) {
        for (const auto& [name, value] : settings->second) {
            text += fmt::format(" {}={}", name, value);
        }
    }
    return text;
}

}  // namespace

std::string calibration_key(const Runtime::Impl& runtime, const ListedDevice& device) {
    const std::string common =
        fmt::format("leat {}, {}, {} threads", version(), runtime.host.cpu_name, runtime.threads());
    if (device.host != nullptr) {
        return fmt::format("{}, {}, {}", device.host->name(), runtime.host.simd, common);
    }
    const DeviceBackend& backend = *device.place.backend;
    const LeatBackendApi& api = backend.api();
    std::string driver = "none";
    if (const void* table = api.get_extension(backend.handle(), LEAT_DRIVER_EXTENSION);
        table != nullptr) {
        const char* text = static_cast<const LeatDriverExtension*>(table)->driver(
            backend.handle(), device.place.number);
        driver = text == nullptr ? driver : text;
    }
    return fmt::format("{} {}, '{}', driver {}, settings{}, {}", api.name, api.library_version,
                       backend.device(device.place.number).name, driver,
                       settings_text(runtime, api.name), common);
}

CalibrationReport calibrate(const std::shared_ptr<Runtime::Impl>& runtime,
                            const GraphData& graph,
                            std::span<ListedDevice> devices,
                            const CompileOptions& options) {
    CalibrationReport report;
    CalibrationStore& store = *runtime->calibrations;
    if (options.calibrate == Calibrate::kNever) {
        for (ListedDevice& device : devices) {
            device.measured = store.find(calibration_key(*runtime, device));
        }
        return report;
    }
    const int64_t begin = monotonic_ns();
    const SharedFacts facts = facts_of(graph, options);
    const std::vector<SignedOperator> operators = operators_of(graph, facts);
    const AssumedDevices assumed = assume_devices(devices, runtime->host.threads);
    const std::lock_guard lock(store.measuring());
    for (size_t d = 0; d < devices.size(); ++d) {
        ListedDevice& device = devices[d];
        const std::string key = calibration_key(*runtime, device);
        device.measured = store.find(key);
        DeviceCalibration calibration(runtime, device, assumed.devices[d].rates, graph, operators);
        CalibratedDevice row = calibration.run(device.measured.get());
        if (calibration.has_fresh()) {
            device.measured = store.add(key, calibration.fresh());
        }
        row.key = key;
        row.file = store.file_of(key);
        count(row, report);
        report.devices.push_back(std::move(row));
    }
    report.time_ns = monotonic_ns() - begin;
    return report;
}

}  // namespace leat
