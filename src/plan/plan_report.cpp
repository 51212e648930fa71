#include "plan/plan_report.h"

#include <fmt/core.h>

#include <algorithm>

#include "graph/bodies.h"
#include "plan/devices/plan_devices.h"
#include "plan/regions/region.h"

namespace leat {
namespace {

// All orders between steps that hold were there to rely on.
bool has_whole_order(const PlanMemory& memory) {
    const MemoryLayout& layout = memory.layout;
    const bool has_waits_of_ends = !layout.known_waits.empty();
    return layout.proved->order.is_whole() && layout.moments->order.is_whole() &&
           (!has_waits_of_ends || memory.planner->data_order().is_whole());
}

// Adds what a plan has in memories of devices, and what its bodies have there besides.
void add_device_memories(const PlanWork& work, std::vector<DeviceMemoryReport>& reports) {
    const DevicePlan& devices = work.devices;
    for (int32_t i = 0; i < int32_t(devices.memories.size()); ++i) {
        const DeviceMemory& memory = devices.memories[size_t(i)];
        if (memory.is_arena) {
            continue;
        }
        const std::string& label = memory.part->place().label;
        const std::string_view name = memory.part->domain().name;
        auto row = std::find_if(reports.begin(), reports.end(), [&](const auto& own) {
            return own.device == label && own.memory == name;
        });
        if (row == reports.end()) {
            row = reports.insert(reports.end(), {label, std::string(name)});
        }
        row->bytes += memory.size_bytes;
        row->lower_bound_bytes += memory.lower_bound_bytes;
        row->unplanned_bytes += memory.unplanned_bytes;
        row->constant_bytes += packed_bytes_in(i, work);
        row->streamed_bytes += memory.streamed_bytes;
        row->window_bytes += memory.window_bytes;
    }
    for (const PlanStep& step : work.steps) {
        for (const BodyPlan& body : plans_of_bodies(step)) {
            add_device_memories(body.plan->work, reports);
        }
    }
}

void report_devices(const PlanWork& work, PlanReport& report) {
    report.transfer_count = int(work.devices.transfer_nodes.size());
    report.transfer_bytes = work.devices.transfer_bytes;
    add_device_memories(work, report.device_memory);
}

// `around`: what the steps are within; is_new: that was planned now.
void report_bodies(const std::string& around,
                   bool is_new,
                   const PlanWork& work,
                   std::vector<BodyReport>& reports) {
    for (const PlanStep& step : work.steps) {
        for (const BodyPlan& body : plans_of_bodies(step)) {
            BodyReport& report = reports.emplace_back();
            report.body = body_path(*step.node, body.key, around);
            report.step_count = int(body.plan->work.steps.size());
            report.device_steps = int(body.plan->work.devices.uses.size());
            report.arena_bytes = body.plan->arena_bytes();
            report.lower_bound_bytes = body.plan->report.lower_bound_bytes;
            report.is_shared = !body.is_inline;
            report.is_new = is_new && body.is_new;
            const std::string path = report.body;
            report_bodies(path, report.is_new, body.plan->work, reports);
        }
    }
}

void add_reference_kernels(const std::string& around,
                           const PlanWork& work,
                           std::vector<std::string>& labels) {
    for (const PlanStep& step : work.steps) {
        if (step.kernel->is_reference) {
            labels.push_back(around.empty() ? step.node->label()
                                            : fmt::format("{}, {}", around, step.node->label()));
        }
        for (const BodyPlan& body : plans_of_bodies(step)) {
            add_reference_kernels(body_path(*step.node, body.key, around), body.plan->work, labels);
        }
    }
}

}  // namespace

std::vector<BufferReport> report_buffers(const GraphData& graph, const Plan& plan) {
    const MemoryLayout& layout = plan.memory.layout;
    const StepMoments& moments = plan.memory.planner->moments();
    std::vector<BufferReport> buffers;
    buffers.reserve(layout.buffers.size());
    for (size_t value = 0; value < layout.places.size(); ++value) {
        const ValuePlace& place = layout.places[value];
        if (place.buffer < 0 || place.root != int32_t(value)) {
            continue;
        }
        const UsedBuffer& buffer = layout.buffers[size_t(place.buffer)];
        const auto end = buffer.is_kept ? int32_t(plan.work.steps.size())
                                        : moments.step_of(buffer.users.back()) + 1;
        buffers.push_back({plan.work.name_of(graph, int32_t(value)), buffer.size_bytes,
                           layout.plan.offsets[size_t(place.buffer)],
                           moments.step_of(buffer.users.front()), end});
    }
    return buffers;
}

std::vector<std::string> reference_kernels(const Plan& plan) {
    std::vector<std::string> labels;
    add_reference_kernels("", plan.work, labels);
    return labels;
}

void report_plan(const PlanContext& context, Plan& plan) {
    PlanReport& report = plan.report;
    const GraphData& graph = context.graph();
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
        report.shapes[graph.value(graph.inputs[i]).name] = plan.key.shapes[i];
    }
    const MemoryLayout& layout = plan.memory.layout;
    report.numa_node = context.numa_node;
    report.shared_bytes = context.is_shared ? plan.arena_bytes() : 0;
    report.arena_bytes = plan.arena_bytes();
    report.lower_bound_bytes = layout.plan.lower_bound_bytes;
    report.serial_bound_bytes = plan.memory.planner->peak_bytes();
    report.run_ahead = int(plan.memory.run_ahead);
    report.unplanned_bytes = layout.plan.unplanned_bytes;
    report.added_waits = layout.added_waits;
    report.has_whole_order = has_whole_order(plan.memory);
    for (const PlanStep& step : plan.work.steps) {
        report.tile_count += step.kernel->tile_count;
    }
    report.step_count = int(plan.work.steps.size());
    report_bodies("", /*is_new=*/true, plan.work, report.bodies);
    report_devices(plan.work, report);
}

}  // namespace leat
