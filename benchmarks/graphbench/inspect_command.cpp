// graphbench inspect: what a target is, without running it.
#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "commands.h"
#include "exit_codes.h"
#include "graph/graph_data.h"
#include "inputs.h"
#include "result.h"
#include "screen.h"
#include "target.h"

namespace leat::bench {
namespace {

std::map<std::string, int64_t> op_counts(const GraphData& graph) {
    std::map<std::string, int64_t> counts;
    for (const NodeData& node : graph.nodes) {
        std::string name = node.domain.empty() ? node.op_type : node.domain + "::" + node.op_type;
        ++counts[name];
        for (const auto& [attribute, body] : node.subgraphs) {
            for (const auto& [op, count] : op_counts(*body)) {
                counts[op] += count;
            }
        }
    }
    return counts;
}

Json infos_json(const std::vector<ValueInfo>& infos) {
    Json list = Json::array();
    for (const ValueInfo& info : infos) {
        list.push(describe_info(info));
    }
    return list;
}

// Compiles when a compiled view is asked for; adds its parts to text and JSON.
Status add_compiled_view(const Target& target,
                         const Options& options,
                         std::string& text,
                         Json& json) {
    Result<RuntimeOptions> wanted = runtime_options(options);
    Result<CompileOptions> compile = compile_options(options);
    if (!wanted.ok() || !compile.ok()) {
        return wanted.ok() ? compile.error() : wanted.error();
    }
    Runtime runtime(*wanted);
    if (options.flag("memory")) {
        Result<std::vector<NamedValue>> inputs = make_inputs(target, options, *compile);
        if (!inputs.ok()) {
            return inputs.error();
        }
        compile->shapes = shapes_of(*inputs);
    }
    Result<CompiledGraph> compiled = runtime.compile(target.graph, *compile);
    if (!compiled.ok()) {
        return compiled.error();
    }
    CompileReport report = compiled->report();
    if (options.flag("passes")) {
        Table table({"pass", "changed", "ms", "detail"});
        for (const PassReport& pass : report.passes) {
            table.add({pass.name, pass.changed ? "yes" : "no",
                       fmt::format("{:.3f}", double(pass.time_ns) * 1e-6), pass.detail});
        }
        text += table.to_string();
    }
    if (options.flag("placement")) {
        text += fmt::format("placement: {}\n", report.summary());
        for (const std::string& kernel : report.reference_kernels) {
            text += fmt::format("  reference kernel: {}\n", kernel);
        }
        for (const std::string& input : report.shape_deciding_inputs) {
            text += fmt::format("  values of input '{}' decide shapes\n", input);
        }
    }
    for (const PlanReport& plan : report.plans) {
        if (options.flag("memory")) {
            text += fmt::format(
                "memory: {} planned, lower bound {}, without reuse {}, {} steps, {} tiles\n",
                format_bytes(double(plan.arena_bytes)),
                format_bytes(double(plan.lower_bound_bytes)),
                format_bytes(double(plan.unplanned_bytes)), plan.step_count, plan.tile_count);
        }
    }
    if (options.flag("text") && options.flag("passes")) {
        text += compiled->to_text();
    }
    json.set("placement", report.summary());
    return Status();
}

}  // namespace

int inspect_command(const Options& options) {
    if (options.positional().size() != 1) {
        return usage_error(options, "needs one TARGET");
    }
    Result<Target> target = load_target(options.positional()[0]);
    if (!target.ok()) {
        return report_error(target.error());
    }
    const Graph& graph = target->graph;
    Json json = Json::object();
    json.set("schema", kSchema).set("target", target->name);
    json.set("inputs", infos_json(graph.inputs())).set("outputs", infos_json(graph.outputs()));
    json.set("nodes", graph.node_count()).set("params", graph.parameter_count());
    json.set("parameter_bytes", graph.parameter_bytes());
    Json ops = Json::object();
    Table op_table({"operator", "nodes"});
    for (const auto& [name, count] : op_counts(graph.data())) {
        ops.set(name, count);
        op_table.add({name, std::to_string(count)});
    }
    json.set("ops", std::move(ops));
    std::string text;
    if (!options.flag("ops")) {
        text = fmt::format("{}: {} nodes, {} constant elements, {}\n", target->name,
                           graph.node_count(), graph.parameter_count(),
                           format_bytes(double(graph.parameter_bytes())));
        for (const ValueInfo& info : graph.inputs()) {
            text += "input  " + describe_info(info) + "\n";
        }
        for (const ValueInfo& info : graph.outputs()) {
            text += "output " + describe_info(info) + "\n";
        }
        for (const std::string& warning : graph.warnings()) {
            text += "note: " + warning + "\n";
        }
    }
    text += op_table.to_string();
    if (options.flag("text") && !options.flag("passes")) {
        text += graph.to_text();
    }
    Status problem = graph.verify();
    bool compiles = options.flag("placement") || options.flag("memory") || options.flag("passes");
    if (problem.ok() && compiles) {
        problem = add_compiled_view(*target, options, text, json);
    }
    int exit_code = problem.ok() ? kExitOk : exit_code_for(problem);
    json.set("problem", problem.ok() ? Json() : Json(problem.message()));
    if (!write_json(options, json, &exit_code)) {
        fmt::print("{}", text);
        if (!problem.ok()) {
            fmt::print("problem: {}\n", problem.message());
        }
    }
    return exit_code;
}

}  // namespace leat::bench
