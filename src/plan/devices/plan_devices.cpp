#include "plan/devices/plan_devices.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "machine/device_kernel.h"
#include "plan/devices/device_layout.h"
#include "plan/regions/region.h"

namespace leat {
namespace {

// Visits the values of a step on a device, as offsets say them.
template <class Visit>
void for_each_value(const DeviceUse& use, const Visit& visit) {
    for (const DeviceValues* side : {&use.reads, &use.writes, &use.transients}) {
        std::for_each(side->begin(), side->end(), visit);
    }
}

// offset_of(value): of one that has a place.
template <class OffsetOf>
void fill_offsets(DeviceUse& use, const OffsetOf& offset_of) {
    use.offsets.reserve(use.reads.size() + use.writes.size() + use.transients.size());
    for_each_value(use,
                   [&](int32_t value) { use.offsets.push_back(value < 0 ? 0 : offset_of(value)); });
}

bool works_in(int32_t memory, const PlanStep& step, const PlanWork& work) {
    return step.device != nullptr && work.use_of(step).memory == memory;
}

// Null: the step does nothing there.
DeviceUse* use_in(int32_t memory, const PlanStep& step, PlanWork& work) {
    return works_in(memory, step, work) ? &work.devices.uses[size_t(step.device_use)] : nullptr;
}

// Describes how the steps use a memory that is a device's own.
DeviceProblem device_problem(int32_t memory, bool is_apart, const PlanWork& work) {
    const DevicePlan& devices = work.devices;
    DeviceProblem problem;
    problem.is_apart = is_apart;
    problem.first_value = devices.first_value;
    problem.values.resize(devices.values.size());
    for (size_t i = 0; i < devices.values.size(); ++i) {
        problem.values[i].size_bytes = devices.values[i].size_bytes;
        problem.values[i].alignment_bytes = devices.values[i].alignment_bytes;
    }
    problem.insides.resize(work.steps.size());
    for (size_t position = 0; position < work.steps.size(); ++position) {
        if (!works_in(memory, work.steps[position], work)) {
            continue;
        }
        const DeviceUse& use = work.use_of(work.steps[position]);
        problem.insides[position] = use.inside;
        if (use.inside == nullptr) {
            for_each_value(use, [&](int32_t value) {
                problem.values[size_t(value - devices.first_value)].users.push_back(
                    int32_t(position));
            });
        }
    }
    return problem;
}

// The largest of the values that are alive together where the most bytes are.
std::string largest_values(const GraphData& graph,
                           const DevicePlan& devices,
                           const MemoryPlan& plan) {
    constexpr size_t kMostNames = 3;
    std::vector<std::pair<int64_t, int32_t>> alive;  // bytes, index
    for (const int32_t buffer : plan.bound_buffers) {
        alive.emplace_back(devices.values[size_t(buffer)].size_bytes, buffer);
    }
    std::sort(alive.rbegin(), alive.rend());
    alive.resize(std::min(alive.size(), kMostNames));
    std::string names;
    for (const auto& [bytes, buffer] : alive) {
        names += fmt::format("{}'{}' ({} bytes)", names.empty() ? "" : ", ",
                             devices.name_of(graph, buffer + devices.first_value), bytes);
    }
    return names;
}

// Bytes that constants, which have their place already, leave for each request.
int64_t room_of_request(const PlanContext& context, const DevicePart& part, int64_t packed_bytes) {
    const int64_t left_bytes = part.domain().capacity_bytes - packed_bytes;
    return left_bytes >= 0 ? left_bytes / context.memory_limit.requests : left_bytes;
}

Status memory_error(const PlanContext& context,
                    int32_t index,
                    const PlanWork& work,
                    const LimitAnswer& answer) {
    const DevicePart& part = *work.devices.memories[size_t(index)].part;
    const int64_t packed_bytes = packed_bytes_in(index, work);
    const int64_t limit = room_of_request(context, part, packed_bytes);
    const MemoryPlan& plan = answer.plan;
    const std::string verdict =
        answer.verdict == LimitVerdict::kImpossible
            ? fmt::format("impossible: {} bytes short of what the values need in this order",
                          answer.bytes_short)
            : fmt::format(
                  "no plan found: the best is {} bytes above the limit, the bound {} bytes below "
                  "it",
                  plan.height_bytes - limit, limit - plan.proved_bytes);
    return out_of_memory("the parts on {} do not fit its memory, {}; {}", part.place().label,
                         part.domain().name, verdict)
        .with_found(fmt::format("packed weights {} bytes; values and transients at least {} (best "
                                "plan {}) in each of {} requests, with {}",
                                packed_bytes, plan.lower_bound_bytes, plan.height_bytes,
                                context.memory_limit.requests,
                                largest_values(context.graph(), work.devices, plan)))
        .with_needed(fmt::format("at most {} bytes", part.domain().capacity_bytes))
        .with_hint(
            "place fewer nodes there, lower max_requests and requests_in_flight, or use smaller "
            "shapes");
}

// Keeps it as what the next one may start from.
Result<std::shared_ptr<const DeviceLayout>> lay_out_own_memory(const PlanContext& context,
                                                               int32_t index,
                                                               const StepWaits& waits,
                                                               PlanWork& work) {
    DeviceMemory& memory = work.devices.memories[size_t(index)];
    if (memory.is_laid_out && memory.layout->moments->waits_of_steps == waits) {
        return memory.layout;
    }
    DeviceProblem problem = device_problem(index, context.options.runs_serially, work);
    const int64_t capacity = memory.part->domain().capacity_bytes;
    if (capacity > 0) {
        problem.limit_bytes = room_of_request(context, *memory.part, packed_bytes_in(index, work));
    }
    LEAT_ASSIGN_OR_RETURN(memory.layout, lay_out_on_device(problem, waits, memory.layout));
    memory.is_laid_out = true;
    return memory.layout;
}

struct DomainNeed {
    const DevicePart* part = nullptr;
    int64_t bytes = 0;  // of each request
    int64_t packed_bytes = 0;
    bool is_of_body = false;  // some of it
};

bool share_memory(const DevicePart& a, const DevicePart& b) {
    return a.place().backend == b.place().backend && &a.domain() == &b.domain();
}

void add_needs(const PlanWork& work, bool is_body, std::vector<DomainNeed>& needs) {
    for (int32_t i = 0; i < int32_t(work.devices.memories.size()); ++i) {
        const DeviceMemory& memory = work.devices.memories[size_t(i)];
        auto need = std::find_if(needs.begin(), needs.end(), [&memory](const DomainNeed& own) {
            return share_memory(*own.part, *memory.part);
        });
        if (need == needs.end()) {
            need = needs.insert(needs.end(), {memory.part.get()});
        }
        need->bytes += memory.size_bytes;
        need->packed_bytes += packed_bytes_in(i, work);
        need->is_of_body = need->is_of_body || is_body;
    }
    for (const PlanStep& step : work.steps) {
        for (const BodyPlan& body : plans_of_bodies(step)) {
            add_needs(body.plan->work, /*is_body=*/true, needs);
        }
    }
}

// Bytes of the memory that streamed constants take, each counted once.
int64_t window_bytes(int32_t index, const DevicePlan& devices, const MemoryPlan& layout) {
    std::vector<std::pair<int64_t, int64_t>> places;  // begin and end
    for (size_t value = 0; value < devices.values.size(); ++value) {
        const DeviceValue& own = devices.values[value];
        if (own.memory == index && own.is_streamed) {
            places.emplace_back(layout.offsets[value], layout.offsets[value] + own.size_bytes);
        }
    }
    std::sort(places.begin(), places.end());
    int64_t bytes = 0;
    int64_t counted_to = 0;
    for (const auto& [begin, end] : places) {
        bytes += std::max<int64_t>(end - std::max(begin, counted_to), 0);
        counted_to = std::max(counted_to, end);
    }
    return bytes;
}

Status place_in_own_memory(const PlanContext& context,
                           int32_t index,
                           const StepWaits& waits,
                           PlanWork& work) {
    DevicePlan& devices = work.devices;
    LEAT_ASSIGN_OR_RETURN(const std::shared_ptr<const DeviceLayout> found,
                          lay_out_own_memory(context, index, waits, work));
    const LimitAnswer& answer = found->answer;
    const MemoryPlan& layout = answer.plan;
    if (answer.verdict != LimitVerdict::kMet) {
        return memory_error(context, index, work, answer);
    }
    for (const PlanStep& step : work.steps) {
        if (DeviceUse* use = use_in(index, step, work); use != nullptr) {
            fill_offsets(*use, [&](int32_t value) {
                return layout.offsets[size_t(value - devices.first_value)];
            });
        }
    }
    DeviceMemory& memory = devices.memories[size_t(index)];
    memory.size_bytes = layout.height_bytes;
    memory.lower_bound_bytes = layout.lower_bound_bytes;
    memory.unplanned_bytes = layout.unplanned_bytes;
    memory.window_bytes = window_bytes(index, devices, layout);
    return {};
}

// Null: the other plan has none.
const DeviceMemory* same_memory(const DevicePlan& other, const DeviceMemory& memory) {
    const auto found =
        std::find_if(other.memories.begin(), other.memories.end(),
                     [&memory](const DeviceMemory& own) { return own.part == memory.part; });
    return found == other.memories.end() ? nullptr : &*found;
}

// As the host's plan has them.
void place_in_arena(int32_t index, const MemoryLayout& layout, PlanWork& work) {
    for (const PlanStep& step : work.steps) {
        if (DeviceUse* use = use_in(index, step, work); use != nullptr) {
            fill_offsets(*use, [&](int32_t value) {
                const ValuePlace& place = layout.places[size_t(value)];
                return place.buffer < 0
                           ? 0
                           : layout.plan.offsets[size_t(place.buffer)] + place.offset_bytes;
            });
        }
    }
}

}  // namespace

const DeviceKernel& part_of(const PlanStep& step) {
    return static_cast<const DeviceKernel&>(*step.device);
}

std::string DevicePlan::name_of(const GraphData& graph, int32_t value) const {
    if (size_t(value) < graph.values.size()) {
        return graph.values[size_t(value)].name;
    }
    const DeviceValue& own = values[size_t(value - first_value)];
    return own.number < 0 ? std::string(own.name) : fmt::format("{} in {}", own.number, own.name);
}

void start_from_layouts(const DevicePlan& former, DevicePlan& devices) {
    for (DeviceMemory& memory : devices.memories) {
        if (const DeviceMemory* before = same_memory(former, memory); before != nullptr) {
            memory.layout = before->layout;
        }
    }
}

void take_arrangements(const DevicePlan& other, DevicePlan& devices) {
    for (DeviceMemory& memory : devices.memories) {
        const DeviceMemory* further = same_memory(other, memory);
        if (further == nullptr || further->layout == nullptr || memory.layout == nullptr) {
            continue;
        }
        auto layout = std::make_shared<DeviceLayout>(*memory.layout);
        take_arrangements(further->layout->answer.plan, layout->answer.plan);
        memory.layout = std::move(layout);
    }
}

Result<bool> fits_device_memory(const PlanContext& context,
                                const StepWaits& waits,
                                PlanWork& work) {
    for (int32_t index = 0; index < int32_t(work.devices.memories.size()); ++index) {
        if (!work.devices.memories[size_t(index)].is_arena) {
            LEAT_ASSIGN_OR_RETURN(const std::shared_ptr<const DeviceLayout> layout,
                                  lay_out_own_memory(context, index, waits, work));
            if (layout->answer.verdict != LimitVerdict::kMet) {
                return false;
            }
        }
    }
    return true;
}

Status place_device_memory(const PlanContext& context, const MemoryLayout& layout, PlanWork& work) {
    for (int32_t index = 0; index < int32_t(work.devices.memories.size()); ++index) {
        if (work.devices.memories[size_t(index)].is_arena) {
            place_in_arena(index, layout, work);
        } else {
            LEAT_RETURN_IF_ERROR(place_in_own_memory(context, index, *layout.waits, work));
        }
    }
    return {};
}

Status check_memory_of_bodies(const PlanContext& context, const PlanWork& work) {
    std::vector<DomainNeed> needs;
    add_needs(work, /*is_body=*/false, needs);
    for (const DomainNeed& need : needs) {
        const int64_t capacity = need.part->domain().capacity_bytes;
        if (!need.is_of_body || capacity <= 0 ||
            need.bytes <= room_of_request(context, *need.part, need.packed_bytes)) {
            continue;
        }
        return out_of_memory("the parts of bodies on {} do not fit its memory, {}",
                             need.part->place().label, need.part->domain().name)
            .with_found(fmt::format("packed weights {} bytes; values and transients {} in each of "
                                    "{} requests, where each body has memory of its own",
                                    need.packed_bytes, need.bytes, context.memory_limit.requests))
            .with_needed(fmt::format("at most {} bytes", capacity))
            .with_hint(
                "list the host first, lower max_requests and requests_in_flight, or use "
                "smaller shapes");
    }
    return {};
}

std::vector<bool> buffers_of_devices(const MemoryLayout& layout, const DevicePlan& devices) {
    std::vector<bool> are_used(layout.buffers.size(), false);
    for (const DeviceUse& use : devices.uses) {
        if (!devices.memory_of(use).is_arena) {
            continue;
        }
        for_each_value(use, [&](int32_t value) {
            if (value >= 0 && layout.places[size_t(value)].buffer >= 0) {
                are_used[size_t(layout.places[size_t(value)].buffer)] = true;
            }
        });
    }
    return are_used;
}

int64_t packed_bytes_in(int32_t memory, const PlanWork& work) {
    int64_t bytes = 0;
    for (const PlanStep& step : work.steps) {
        if (works_in(memory, step, work) && !step.is_transfer) {
            bytes += part_of(step).part()->packed_bytes();
        }
    }
    return bytes;
}

}  // namespace leat
