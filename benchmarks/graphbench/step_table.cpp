#include "step_table.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "screen.h"
#include "statistics.h"

namespace leat::bench {
namespace {

struct OpTotal {
    int64_t calls = 0;
    int64_t time_ns = 0;
    double flops = 0;
    int64_t bytes = 0;
};

std::string per_second(double amount, int64_t time_ns) {
    return time_ns > 0 && amount > 0 ? fmt::format("{:.1f}", amount / double(time_ns)) : "";
}

// The step before row `i` whose body has it: rows of bodies stand behind their node's.
const StepTime* step_around(std::span<const StepTime> steps, size_t i) {
    for (size_t j = i; j-- > 0;) {
        const std::string path = fmt::format("{}{}node '{}' (", steps[j].within,
                                             steps[j].within.empty() ? "" : ", ", steps[j].node);
        if (steps[i].within.starts_with(path) &&
            steps[i].within.find(", node ", path.size()) == std::string::npos) {
            return &steps[j];
        }
    }
    return nullptr;
}

// What runs bodies counts without them.
std::string op_table(std::span<const StepTime> steps, int64_t total_ns) {
    std::map<std::string, OpTotal> totals;
    for (size_t i = 0; i < steps.size(); ++i) {
        const StepTime& step = steps[i];
        OpTotal& total = totals[step.op_type];
        ++total.calls;
        total.time_ns += step.time_ns;
        if (const StepTime* around = step.within.empty() ? nullptr : step_around(steps, i)) {
            totals[around->op_type].time_ns -= step.time_ns;
        }
        total.flops += step.flops;
        total.bytes += step.bytes;
    }
    std::vector<std::pair<std::string, OpTotal>> rows(totals.begin(), totals.end());
    std::sort(rows.begin(), rows.end(),
              [](const auto& a, const auto& b) { return a.second.time_ns > b.second.time_ns; });
    Table table({"operator", "steps", "us", "%", "GFLOP/s", "GB/s"});
    for (const auto& [name, total] : rows) {
        table.add({name, std::to_string(total.calls),
                   fmt::format("{:.1f}", double(total.time_ns) * 1e-3),
                   fmt::format("{:.1f}", 100.0 * double(total.time_ns) / double(total_ns)),
                   per_second(total.flops, total.time_ns),
                   per_second(double(total.bytes), total.time_ns)});
    }
    return table.to_string();
}

}  // namespace

Result<std::vector<StepTime>> profile_steps(Request& request, int64_t runs) {
    LEAT_ASSIGN_OR_RETURN(std::vector<StepTime> steps, request.profile());
    std::vector<std::vector<double>> times(steps.size());
    for (int64_t run = 0; run < std::max<int64_t>(1, runs); ++run) {
        LEAT_ASSIGN_OR_RETURN(std::vector<StepTime> again, request.profile());
        for (size_t i = 0; i < std::min(again.size(), steps.size()); ++i) {
            times[i].push_back(double(again[i].time_ns));
        }
    }
    for (size_t i = 0; i < steps.size(); ++i) {
        steps[i].time_ns = int64_t(median(times[i]));
    }
    return steps;
}

std::string step_table(std::span<const StepTime> steps, const std::string& sort, int64_t top) {
    int64_t total_ns = 1;
    for (const StepTime& step : steps) {
        total_ns += step.within.empty() ? step.time_ns : 0;
    }
    std::vector<size_t> order(steps.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        if (sort == "time") {
            return steps[a].time_ns > steps[b].time_ns;
        }
        if (sort == "bytes") {
            return steps[a].bytes > steps[b].bytes;
        }
        return sort == "name" && steps[a].node < steps[b].node;
    });
    if (top > 0 && int64_t(order.size()) > top) {
        order.resize(size_t(top));
    }
    Table table({"#", "node", "operator", "kernel", "runs", "us", "%", "cum %", "GFLOP/s", "GB/s",
                 "shapes"});
    double cumulative = 0;
    for (size_t i : order) {
        const StepTime& step = steps[i];
        double share = 100.0 * double(step.time_ns) / double(total_ns);
        const bool is_within = !step.within.empty();
        cumulative += is_within ? 0 : share;
        table.add({std::to_string(i),
                   is_within ? fmt::format("{}, {}", step.within, step.node) : step.node,
                   step.op_type, step.kernel, std::to_string(step.runs),
                   fmt::format("{:.1f}", double(step.time_ns) * 1e-3), fmt::format("{:.1f}", share),
                   is_within ? "" : fmt::format("{:.1f}", cumulative),
                   per_second(step.flops, step.time_ns),
                   per_second(double(step.bytes), step.time_ns), step.shapes});
    }
    return fmt::format("{}\n{}\n{} steps, {:.3f} ms in sum\n", table.to_string(),
                       op_table(steps, total_ns), steps.size(), double(total_ns) * 1e-6);
}

Json steps_json(std::span<const StepTime> steps) {
    return json_list(steps, [](const StepTime& step) {
        Json entry = Json::object();
        entry.set("node", step.node).set("op", step.op_type).set("kernel", step.kernel);
        entry.set("time_ns", step.time_ns).set("flops", step.flops).set("bytes", step.bytes);
        entry.set("within", step.within).set("runs", step.runs);
        return entry.set("shapes", step.shapes);
    });
}

Json trace_json(std::span<const StepTime> steps) {
    Json events = Json::array();
    double start_us = 0;
    for (const StepTime& step : steps) {
        if (!step.within.empty()) {
            continue;
        }
        double duration_us = double(step.time_ns) * 1e-3;
        Json arguments = Json::object();
        arguments.set("kernel", step.kernel).set("shapes", step.shapes);
        arguments.set("bytes", step.bytes).set("flops", step.flops);
        Json event = Json::object();
        event.set("name", step.node.empty() ? step.op_type : step.node).set("cat", step.op_type);
        event.set("ph", "X")
            .set("ts", start_us)
            .set("dur", duration_us)
            .set("pid", 1)
            .set("tid", 1);
        event.set("args", std::move(arguments));
        events.push(std::move(event));
        start_us += duration_us;
    }
    Json trace = Json::object();
    trace.set("displayTimeUnit", "ns");
    trace.set("traceEvents", std::move(events));
    return trace;
}

}  // namespace leat::bench
