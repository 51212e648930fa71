#include "result.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "conformance/values.h"
#include "files.h"
#include "machine.h"
#include "statistics.h"

namespace leat::bench {
namespace {

Json target_json(const Session& session) {
    Json json = Json::object();
    json.set("name", session.name);
    json.set("nodes", session.source_nodes);
    json.set("params", session.parameter_count);
    json.set("file_bytes", session.file_bytes);
    if (!session.sha256.empty()) {
        json.set("sha256", session.sha256);
    }
    Json inputs = Json::object();
    for (const NamedValue& input : session.inputs) {
        inputs.set(input.name, describe_type(input.value));
    }
    json.set("inputs", std::move(inputs));
    return json;
}

Json memory_json(const Session& session, const CompileReport& report) {
    const PlanReport& plan = session.request->plan_report();
    Json json = Json::object();
    json.set("weights", report.weight_bytes);
    json.set("packed_weights", report.packed_weight_bytes);
    json.set("arena", plan.arena_bytes);
    json.set("arena_lower_bound", plan.lower_bound_bytes);
    json.set("arena_unplanned", plan.unplanned_bytes);
    if (!report.segments.empty()) {
        const RunReport run = session.request->run_report();
        json.set("pool", run.pool_bytes).set("pool_peak", run.pool_peak_bytes);
    }
    json.set("rss_peak_after_load", session.peak_after_load_bytes);
    json.set("rss_peak", peak_memory_bytes());
    return json;
}

Json placement_json(const Session& session, const CompileReport& report) {
    Json json = Json::object();
    json.set("summary", report.summary());
    json.set("nodes", report.node_count);
    Json devices = Json::object();
    for (const auto& [backend, nodes] : report.nodes_per_backend) {
        devices.set(backend, nodes);
    }
    json.set("devices", std::move(devices));
    json.set("reference_kernels", json_list(report.reference_kernels));
    json.set("steps", session.request->plan_report().step_count);
    json.set("tiles", session.request->plan_report().tile_count);
    return json;
}

Json latency_json(const Measurement& measurement, const Summary& summary) {
    Json json = Json::object();
    // Null where no run ended: there is no latency of 0.
    const auto known = [&](Json value) { return summary.count > 0 ? std::move(value) : Json(); };
    json.set("n", summary.count);
    json.set("min", known(int64_t(std::llround(summary.min))));
    json.set("max", known(int64_t(std::llround(summary.max))));
    json.set("mean", known(summary.mean));
    json.set("stddev", known(summary.stddev));
    json.set("median", known(summary.median));
    json.set("mad", known(summary.mad));
    json.set("drift", known(summary.drift));
    Json percentiles = Json::object();
    Json needed = Json::object();
    for (const Summary::Percentile& percentile : summary.percentiles) {
        std::string key = fmt::format("{}", percentile.rank);
        percentiles.set(key, percentile.value ? Json(*percentile.value) : Json());
        if (!percentile.value) {
            needed.set(key, percentile.needed);
        }
    }
    json.set("percentiles", std::move(percentiles));
    if (!needed.members().empty()) {
        json.set("samples_needed", std::move(needed));
    }
    json.set("block_medians", json_list(summary.block_medians));
    constexpr int kBins = 20;
    Json bins = json_list(histogram(measurement.samples_ns, kBins), [](const Bin& bin) {
        Json entry = Json::object();
        entry.set("low", int64_t(std::llround(bin.low)))
            .set("high", int64_t(std::llround(bin.high)));
        return entry.set("count", bin.count);
    });
    json.set("histogram", std::move(bins));
    return json;
}

Json cpu_json(const CpuUsage& usage) {
    Json json = Json::object();
    json.set("user_ns", usage.user_ns);
    json.set("sys_ns", usage.system_ns);
    json.set("cores", usage.wall_ns > 0
                          ? double(usage.user_ns + usage.system_ns) / double(usage.wall_ns)
                          : 0.0);
    json.set("ctx_switches", usage.context_switches);
    json.set("steal_ns", usage.steal_ns);
    return json;
}

// Stable: little scatter, no drift, nobody took the CPU away.
Json verdict_json(const Measurement& measurement, const Summary& summary, int cpus) {
    constexpr double kMaxScatter = 0.03;
    constexpr double kMaxDrift = 0.03;
    constexpr double kMaxSteal = 0.01;
    Json reasons = Json::array();
    double scatter = summary.median > 0 ? summary.mad / summary.median : 0;
    double steal = double(measurement.usage.steal_ns) /
                   std::max(1.0, double(measurement.usage.wall_ns) * std::max(1, cpus));
    if (scatter > kMaxScatter) {
        reasons.push(fmt::format("MAD is {:.1f} % of the median", scatter * 100));
    }
    if (std::fabs(summary.drift) > kMaxDrift) {
        reasons.push(fmt::format("the second half differs by {:+.1f} %", summary.drift * 100));
    }
    if (steal > kMaxSteal) {
        reasons.push(fmt::format("the host took {:.1f} % of the CPUs (steal)", steal * 100));
    }
    if (summary.count < 10) {
        reasons.push(fmt::format("only {} runs", summary.count));
    }
    Json json = Json::object();
    json.set("stable", reasons.items().empty());
    json.set("scatter", scatter);
    json.set("steal", steal);
    json.set("reasons", std::move(reasons));
    return json;
}

// Items in one run: the first extent of the first input that has one.
int64_t items_of(const Session& session) {
    for (const NamedValue& input : session.inputs) {
        if (input.value.is_tensor() && input.value.tensor().shape().rank() > 1) {
            return input.value.tensor().shape()[0];
        }
    }
    return 1;
}

}  // namespace

Json pages_json(const PlacementReport& report) {
    Json list = json_list(report.memory, [](const PagePlacement& part) {
        Json entry = Json::object();
        entry.set("memory", part.memory).set("numa_nodes", json_list(part.numa_nodes));
        entry.set("asked", part.policy_asked).set("effective", part.policy_effective);
        entry.set("wanted", part.wanted_pages).set("there", part.there_pages);
        entry.set("elsewhere", part.elsewhere_pages).set("absent", part.absent_pages);
        entry.set("huge", part.huge_pages).set("source", part.source);
        return entry.set("confirmed", part.is_confirmed);
    });
    Json json = Json::object();
    json.set("page_bytes", report.page_bytes).set("memory", std::move(list));
    json.set("numa_balancing", report.is_balanced_by_system);
    json.set("huge_pages", report.huge_pages);
    return json;
}

Json result_json(const Session& session,
                 const Measurement& measurement,
                 const HostInfo& host,
                 const Options& options) {
    CompileReport report = session.compiled.report();
    Summary summary =
        summarize(measurement.samples_ns, *parse_percentiles(options.text("percentiles")));
    Json json = Json::object();
    json.set("schema", kSchema);
    json.set("tool", tool_json());
    json.set("host", host_json(host));
    json.set("config", options.to_json());
    Json labels = Json::object();
    for (const std::string& label : options.list("label")) {
        size_t equals = label.find('=');
        labels.set(label.substr(0, equals),
                   equals == std::string::npos ? "" : label.substr(equals + 1));
    }
    json.set("labels", std::move(labels));
    json.set("target", target_json(session));
    Json phases = Json::object();
    phases.set("load_ns", session.phases.load_ns);
    phases.set("compile_ns", session.phases.compile_ns);
    phases.set("prepare_ns", session.phases.prepare_ns);
    phases.set("first_run_ns", session.phases.first_run_ns);
    json.set("phases", std::move(phases));
    Json plans = Json::object();
    plans.set("made", report.planning.made).set("dropped", report.planning.dropped);
    plans.set("time_ns", report.planning.time_ns);
    json.set("plans", std::move(plans));
    json.set("memory", memory_json(session, report));
    json.set("placement", placement_json(session, report));
    json.set("pages", pages_json(session.request->placement_report()));
    json.set("warmup_runs", measurement.warmup_runs);
    json.set("timed_ns", measurement.timed_ns);
    json.set("latency_ns", latency_json(measurement, summary));
    double seconds = double(measurement.timed_ns) * 1e-9;
    double runs_per_s = seconds > 0 ? double(summary.count) / seconds : 0;
    Json throughput = Json::object();
    throughput.set("streams", int64_t(session.streams.size()));
    throughput.set("in_flight", session.in_flight());
    throughput.set("runs_per_s", runs_per_s);
    throughput.set("items_per_s", runs_per_s * double(items_of(session)));
    json.set("throughput", std::move(throughput));
    json.set("cpu", cpu_json(measurement.usage));
    if (options.given("deadline")) {
        Json deadline = Json::object();
        deadline.set("set_ns", options.nanoseconds("deadline", 1e6));
        deadline.set("missed", measurement.missed_deadlines);
        json.set("deadline", std::move(deadline));
    }
    json.set("interrupted", measurement.interrupted);
    json.set("verdict", verdict_json(measurement, summary, host.hardware_cpus));
    return json;
}

Result<std::vector<Json>> results_in(const Json& document) {
    const Json::Array& list = document.is_array() ? document.items() : document["results"].items();
    std::vector<Json> results(list.begin(), list.end());
    if (document["latency_ns"].is_object()) {
        results.push_back(document);
    }
    for (const Json& result : results) {
        if (!result["latency_ns"].is_object()) {
            results.clear();
            break;
        }
    }
    if (results.empty()) {
        return parse_error(
            "no graphbench result: an object with latency_ns, or a list of them, is needed");
    }
    return results;
}

std::string field_prefix(size_t index, size_t count) {
    return count == 1 ? std::string() : fmt::format("results[{}].", index);
}

namespace {

Status check_time(const std::string& field, const Json& value) {
    if (value.is_number() && value.number() > 0 && std::isfinite(value.number())) {
        return {};
    }
    return parse_error("{} is {}", field, value.dump(-1))
        .with_needed("a number of nanoseconds above 0");
}

// The fields that median_of() and blocks_of() read.
Status check_latency(const std::string& prefix, const Json& latency) {
    const bool has_median = !latency["median"].is_null();
    const Json& middle = latency["percentiles"]["50"];
    const std::string field = prefix + "latency_ns.";
    LEAT_RETURN_IF_ERROR(has_median || middle.is_null()
                             ? check_time(field + "median", latency["median"])
                             : check_time(field + "percentiles.50", middle));
    const Json& blocks = latency["block_medians"];
    if (blocks.is_null()) {
        return {};  // of a tool that gives none
    }
    if (blocks.items().empty()) {
        return parse_error("{}block_medians is {}", field, blocks.dump(-1))
            .with_needed("a list of numbers of nanoseconds");
    }
    for (size_t i = 0; i < blocks.items().size(); ++i) {
        LEAT_RETURN_IF_ERROR(
            check_time(fmt::format("{}block_medians[{}]", field, i), blocks.items()[i]));
    }
    return {};
}

}  // namespace

Result<std::vector<Json>> comparable_results_in(const Json& document) {
    LEAT_ASSIGN_OR_RETURN(std::vector<Json> results, results_in(document));
    for (size_t i = 0; i < results.size(); ++i) {
        const std::string prefix = field_prefix(i, results.size());
        if (const Json& schema = results[i]["schema"];
            !schema.is_null() && schema.integer() != kSchema) {
            return parse_error("{}schema is {}", prefix, schema.dump(-1))
                .with_needed(std::to_string(kSchema));
        }
        LEAT_RETURN_IF_ERROR(check_latency(prefix, results[i]["latency_ns"]));
    }
    return results;
}

Result<std::vector<Json>> read_results(const std::string& file) {
    LEAT_ASSIGN_OR_RETURN(std::string text, read_text_file(file));
    Result<Json> document = Json::parse(text);
    if (!document.ok()) {
        return document.error().with_file(file);
    }
    Result<std::vector<Json>> results = comparable_results_in(*document);
    if (!results.ok()) {
        return results.error().with_file(file);
    }
    return results;
}

Json results_document(const std::vector<Json>& results) {
    if (results.size() == 1) {
        return results[0];
    }
    Json document = Json::object();
    document.set("schema", kSchema);
    document.set("results", Json(Json::Array(results.begin(), results.end())));
    return document;
}

double median_of(const Json& result) {
    const Json& latency = result["latency_ns"];
    double direct = latency["median"].number();
    return direct > 0 ? direct : latency["percentiles"]["50"].number();
}

std::vector<double> blocks_of(const Json& result) {
    std::vector<double> blocks;
    for (const Json& value : result["latency_ns"]["block_medians"].items()) {
        blocks.push_back(value.number());
    }
    if (blocks.empty()) {
        blocks.push_back(median_of(result));
    }
    return blocks;
}

}  // namespace leat::bench
