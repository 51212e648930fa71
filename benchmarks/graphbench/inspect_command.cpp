// graphbench inspect: what a target is, without running it.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>

#include "base/error.h"
#include "commands.h"
#include "device_options.h"
#include "exit_codes.h"
#include "files.h"
#include "graph/graph_data.h"
#include "inputs.h"
#include "memory_drawing.h"
#include "output.h"
#include "placement_drawing.h"
#include "placement_view.h"
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
        for (const auto& [key, body] : node.bodies()) {
            for (const auto& [op, count] : op_counts(*body)) {
                counts[op] += count;
            }
        }
    }
    return counts;
}

bool wants_placement(const Options& options) {
    return options.flag("placement") || options.given("dot");
}

// --svg draws the memory plan, or with the options of the placement that one.
bool draws_memory(const Options& options) {
    return options.given("svg") && !wants_placement(options);
}

bool wants_memory(const Options& options) {
    return options.flag("memory") || options.flag("memory-dial") || draws_memory(options);
}

bool wants_compiled_view(const Options& options) {
    return wants_placement(options) || wants_memory(options) || options.flag("passes") ||
           options.given("annotate");
}

std::string placement_text(const CompileReport& report) {
    std::string text = fmt::format("placement: {}\n", report.summary());
    for (const std::string& kernel : report.reference_kernels) {
        text += fmt::format("  reference kernel: {}\n", kernel);
    }
    for (const std::string& input : report.shape_deciding_inputs) {
        text += fmt::format("  values of input '{}' decide shapes\n", input);
    }
    if (!report.device_configuration.empty()) {
        text += fmt::format("  obeys device configuration '{}' of the model\n",
                            report.device_configuration);
    }
    for (const std::string& note : report.annotation_notes) {
        text += fmt::format("  {}\n", note);
    }
    return text + placement_as_text(report.placement);
}

// Lines of it; none where one plan has the whole graph.
std::string segments_text(const CompileReport& report) {
    std::string text;
    for (const SegmentReport& segment : report.segments) {
        text += fmt::format("  {}: {} node{}{}{}{}\n", text.empty() ? "segments" : "        ",
                            segment.node_count, segment.node_count == 1 ? "" : "s",
                            segment.is_prepared ? ", planned before the first run" : "",
                            segment.reason.empty() ? "" : ", as ", segment.reason);
    }
    return text;
}

Json segment_json(const SegmentReport& segment) {
    Json row = Json::object();
    return row.set("nodes", segment.node_count)
        .set("reason", segment.reason)
        .set("is_prepared", segment.is_prepared);
}

std::string passes_text(const CompileReport& report) {
    Table table({"pass", "changed", "ms", "detail"});
    for (const PassReport& pass : report.passes) {
        table.add({pass.name, pass.changed ? "yes" : "no",
                   fmt::format("{:.3f}", double(pass.time_ns) * 1e-6), pass.detail});
    }
    return table.to_string();
}

// Part of the arena that the plan leaves unused when it is fullest.
double fragmentation(const PlanReport& plan) {
    return plan.arena_bytes == 0 ? 0
                                 : 1 - double(plan.lower_bound_bytes) / double(plan.arena_bytes);
}

std::string run_ahead_text(int run_ahead) {
    switch (run_ahead) {
        case -1:
            return "on one worker";
        case 0:
            return "as data allows";
        case 1:
            return "one after the other";
        default:
            return fmt::format("{} steps ahead", run_ahead);
    }
}

// Lines of it; none where no device has any.
std::string device_memory_text(const PlanReport& plan) {
    std::string text;
    for (const DeviceMemoryReport& memory : plan.device_memory) {
        text += fmt::format("        {} ({}): {} bytes, lower bound {}, without reuse {}\n",
                            memory.device, memory.memory, memory.bytes,
                            format_bytes(double(memory.lower_bound_bytes)),
                            format_bytes(double(memory.unplanned_bytes)));
        if (memory.streamed_bytes > 0) {
            text += fmt::format(
                "        {} bytes of constants stay there, {} are copied in each run, through {} "
                "of the bytes above\n",
                memory.constant_bytes, memory.streamed_bytes, memory.window_bytes);
        }
    }
    return text.empty() ? text
                        : text + fmt::format("        {} transfers of {} bytes a run\n",
                                             plan.transfer_count, plan.transfer_bytes);
}

std::string bodies_text(const PlanReport& plan) {
    std::string text;
    for (const BodyReport& body : plan.bodies) {
        text += fmt::format(
            "        {}: {} steps{}, {}, {} bytes a run, lower bound {} bytes\n", body.body,
            body.step_count,
            body.device_steps == 0 ? "" : fmt::format(" ({} on devices)", body.device_steps),
            body.is_shared ? "shared by workers" : "on one worker in turn", body.arena_bytes,
            body.lower_bound_bytes);
    }
    return text;
}

Json bodies_json(const PlanReport& plan) {
    return json_list(plan.bodies, [](const BodyReport& body) {
        Json row = Json::object();
        row.set("body", body.body).set("steps", body.step_count);
        row.set("device_steps", body.device_steps);
        row.set("planned_bytes", body.arena_bytes).set("lower_bound_bytes", body.lower_bound_bytes);
        return row.set("shared", body.is_shared);
    });
}

Json device_memory_json(const PlanReport& plan) {
    return json_list(plan.device_memory, [](const DeviceMemoryReport& memory) {
        Json row = Json::object();
        row.set("device", memory.device).set("memory", memory.memory);
        row.set("planned_bytes", memory.bytes).set("lower_bound_bytes", memory.lower_bound_bytes);
        row.set("unplanned_bytes", memory.unplanned_bytes);
        row.set("constant_bytes", memory.constant_bytes);
        row.set("streamed_bytes", memory.streamed_bytes);
        return row.set("window_bytes", memory.window_bytes);
    });
}

std::string memory_text(const PlanReport& plan) {
    return fmt::format(
               "memory: {} planned ({} bytes), lower bound {}, fragmentation {:.1f} %, one step "
               "after "
               "another {}, without reuse {}\n"
               "        {} steps, {} tiles, {} buffers, planned in {:.2f} ms, memory {:.2f} and "
               "backends of "
               "devices {:.2f} of them\n"
               "        steps {}, {} waits added for memory\n"
               "{}",
               format_bytes(double(plan.arena_bytes)), plan.arena_bytes,
               format_bytes(double(plan.lower_bound_bytes)), 100 * fragmentation(plan),
               format_bytes(double(plan.serial_bound_bytes)),
               format_bytes(double(plan.unplanned_bytes)), plan.step_count, plan.tile_count,
               plan.buffers.size(), double(plan.plan_time_ns) * 1e-6,
               double(plan.memory_time_ns) * 1e-6, double(plan.backend_time_ns) * 1e-6,
               run_ahead_text(plan.run_ahead), plan.added_waits,
               plan.has_whole_order ? ""
                                    : "        relies on fewer orders between steps than hold, as "
                                      "they are many\n") +
           device_memory_text(plan) + bodies_text(plan) + memory_as_text(plan);
}

Json memory_json(const PlanReport& plan) {
    Json json = Json::object();
    json.set("planned_bytes", plan.arena_bytes).set("lower_bound_bytes", plan.lower_bound_bytes);
    json.set("serial_bound_bytes", plan.serial_bound_bytes);
    json.set("unplanned_bytes", plan.unplanned_bytes).set("added_waits", plan.added_waits);
    json.set("has_whole_order", plan.has_whole_order);
    json.set("fragmentation", fragmentation(plan)).set("plan_ns", plan.plan_time_ns);
    json.set("memory_ns", plan.memory_time_ns).set("backend_ns", plan.backend_time_ns);
    json.set("run_ahead", plan.run_ahead);
    json.set("steps", plan.step_count).set("tiles", plan.tile_count);
    json.set("transfers", plan.transfer_count).set("transfer_bytes", plan.transfer_bytes);
    json.set("device_memory", device_memory_json(plan)).set("bodies", bodies_json(plan));
    Json buffers = json_list(plan.buffers, [](const BufferReport& buffer) {
        Json entry = Json::object();
        entry.set("value", buffer.value).set("size_bytes", buffer.size_bytes);
        entry.set("offset_bytes", buffer.offset_bytes).set("begin_step", buffer.begin_step);
        return entry.set("end_step", buffer.end_step);
    });
    json.set("buffers", std::move(buffers));
    return json;
}

Status add_memory_dial(const CompiledGraph& compiled,
                       const InputShapes& shapes,
                       std::string& text,
                       Json& json) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<MemoryTradeOff> dial, compiled.memory_dial(shapes));
    Table table({"steps run", "planned", "bytes", "lower bound", "waits added", "estimated ms"});
    Json rows = Json::array();
    for (const MemoryTradeOff& row : dial) {
        table.add({run_ahead_text(row.run_ahead), format_bytes(double(row.arena_bytes)),
                   std::to_string(row.arena_bytes), format_bytes(double(row.lower_bound_bytes)),
                   std::to_string(row.added_waits),
                   fmt::format("{:.3f}", row.estimated_ns * 1e-6)});
        Json entry = Json::object();
        entry.set("run_ahead", row.run_ahead).set("planned_bytes", row.arena_bytes);
        entry.set("lower_bound_bytes", row.lower_bound_bytes);
        entry.set("added_waits", row.added_waits).set("estimated_ns", row.estimated_ns);
        rows.push(std::move(entry));
    }
    text += table.to_string();
    json.set("memory_dial", std::move(rows));
    return {};
}

// The picture is of the plan for these shapes, if there is one.
Status add_memory(const Target& target,
                  const Options& options,
                  const CompileReport& report,
                  const InputShapes& shapes,
                  std::string& text,
                  Json& json) {
    for (const PlanReport& plan : report.plans) {
        text += memory_text(plan);
    }
    if (report.plans.empty() && !report.segments.empty()) {
        text +=
            "memory: no plan of the whole graph, as data decide shapes in it: each segment has "
            "plans of its own\n";
    }
    json.set("memory", json_list(report.plans, memory_json));
    const std::string svg = options.text("svg");
    if (!draws_memory(options)) {
        return {};
    }
    if (report.plans.empty()) {
        return not_found("there is no memory plan for --svg to draw");
    }
    const auto meant = std::find_if(report.plans.begin(), report.plans.end(),
                                    [&](const PlanReport& plan) { return plan.shapes == shapes; });
    const PlanReport& drawn = meant == report.plans.end() ? report.plans.front() : *meant;
    return write_text_file(svg, memory_as_svg(drawn, target.name));
}

Status check_pictures(const Options& options) {
    if (options.given("svg") && wants_placement(options) && wants_memory(options)) {
        return invalid_argument("--svg draws one picture; needed: --placement or --memory");
    }
    return {};
}

Status add_placement(const Target& target,
                     const Options& options,
                     const CompileReport& report,
                     std::string& text,
                     Json& json) {
    if (options.flag("placement")) {
        text += placement_text(report);
    }
    json.set("placement_report", placement_as_json(report.placement));
    json.set("device_configuration", report.device_configuration);
    json.set("annotation_notes", json_list(report.annotation_notes));
    if (options.given("dot")) {
        LEAT_RETURN_IF_ERROR(
            write_text_file(options.text("dot"), placement_as_dot(report.placement, target.name)));
    }
    return options.given("svg") ? write_text_file(options.text("svg"),
                                                  placement_as_svg(report.placement, target.name))
                                : Status();
}

// Compiles, or loads what is compiled, when a compiled view is asked for; adds its parts to text
// and JSON.
Status add_compiled_view(const Runtime& runtime,
                         const Target& target,
                         const Options& options,
                         CompileOptions compile,
                         std::string& text,
                         Json& json) {
    if (wants_memory(options) || wants_placement(options)) {
        Result<std::vector<NamedValue>> inputs = make_inputs(target, options, compile);
        // Placement does without shapes; its report says so.
        if (!inputs.ok() && wants_memory(options)) {
            return inputs.error();
        }
        if (inputs.ok()) {
            compile.shapes = shapes_of(*inputs);
        }
    }
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, compile_target(runtime, target, compile));
    const std::vector<ValueInfo> defaults = target.graph.default_inputs();
    const bool opens_defaults =
        std::any_of(defaults.begin(), defaults.end(),
                    [&](const ValueInfo& info) { return compile.shapes.count(info.name) != 0; });
    const bool lacks_plan =
        target.is_compiled && (options.given("shape") || compiled.report().plans.empty());
    if (wants_memory(options) && (opens_defaults || lacks_plan)) {
        LEAT_RETURN_IF_ERROR(compiled.prepare(compile.shapes));
    }
    const CompileReport report = compiled.report();
    if (options.flag("passes")) {
        text += passes_text(report);
    }
    text += segments_text(report);
    json.set("placement", report.summary());
    json.set("segments", json_list(report.segments, segment_json));
    if (options.given("annotate")) {
        LEAT_ASSIGN_OR_RETURN(const Graph annotated, compiled.annotate(target.graph));
        LEAT_RETURN_IF_ERROR(save_onnx(annotated, options.text("annotate")));
    }
    if (wants_placement(options)) {
        LEAT_RETURN_IF_ERROR(add_placement(target, options, report, text, json));
    }
    if (options.flag("memory") || draws_memory(options)) {
        LEAT_RETURN_IF_ERROR(add_memory(target, options, report, compile.shapes, text, json));
    }
    if (options.flag("memory-dial")) {
        LEAT_RETURN_IF_ERROR(add_memory_dial(compiled, compile.shapes, text, json));
    }
    if (options.flag("text") && options.flag("passes")) {
        text += compiled.to_text();
    }
    return {};
}

}  // namespace

Result<int> inspect_command(const Options& options, const OptionValues& values) {
    if (const Status pictures = check_pictures(options); !pictures.ok()) {
        return usage_error(options, pictures);
    }
    std::optional<Runtime> runtime;  // where there is something to compile
    if (wants_compiled_view(options)) {
        runtime.emplace(values.runtime);
        if (const int code = report_backends(*runtime, backends_of(options)); code != kExitOk) {
            return code;
        }
    }
    LEAT_ASSIGN_OR_RETURN(const Target target, load_target(options.positional()[0]));
    if (const Status status = check_options_of(target, options); !status.ok()) {
        return usage_error(options, status);
    }
    const Graph& graph = target.graph;
    Json json = Json::object();
    json.set("schema", kSchema).set("target", target.name);
    json.set("compiled", target.is_compiled);
    json.set("inputs", json_list(graph.inputs(), describe_info));
    json.set("default_inputs", json_list(graph.default_inputs(), describe_info));
    json.set("outputs", json_list(graph.outputs(), describe_info));
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
        text = fmt::format("{}: {}{} nodes, {} constant elements, {}\n", target.name,
                           target.is_compiled ? "a compiled graph, " : "", graph.node_count(),
                           graph.parameter_count(), format_bytes(double(graph.parameter_bytes())));
        for (const ValueInfo& info : graph.inputs()) {
            text += "input  " + describe_info(info) + "\n";
        }
        for (const ValueInfo& info : graph.default_inputs()) {
            text += "input  " + describe_info(info) + ", a constant unless it is bound\n";
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
    if (problem.ok() && runtime) {
        problem = add_compiled_view(*runtime, target, options, values.compile, text, json);
    }
    json.set("problem", problem.ok() ? Json() : Json(problem.message()));
    int exit_code = runtime ? exit_code_for_devices(*runtime, backends_of(options), problem)
                            : exit_code_for(problem);
    if (!write_json(options, json, &exit_code)) {
        print_text(text);
    }
    return problem.ok() ? exit_code : report_error(problem, exit_code);
}

}  // namespace leat::bench
