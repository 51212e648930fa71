#include "runtime/device_layout.h"

#include <algorithm>

#include "base/error.h"

namespace leat {
namespace {

// The steps of a plan with a begin, the inner steps and an end for each part: what a part reads and
// writes is in use from the one to the other.
struct Moments {
    StepWaits waits;             // by moment: earlier ones
    std::vector<int32_t> begin;  // by step of the plan
    std::vector<int32_t> end;    // the same as begin where there are no inner steps
};

void add_inner_steps(const PartTransients& part, int32_t begin, Moments& moments) {
    const auto first = int32_t(moments.waits.size());
    std::vector<int32_t> last;  // inner steps that no other one waits for
    std::vector<bool> is_awaited(part.waits.size(), false);
    for (const std::vector<int32_t>& inner : part.waits) {
        std::vector<int32_t>& own = moments.waits.emplace_back();
        for (const int32_t wait : inner) {
            own.push_back(first + wait);
            is_awaited[size_t(wait)] = true;
        }
        if (own.empty()) {
            own.push_back(begin);
        }
    }
    for (size_t inner = 0; inner < is_awaited.size(); ++inner) {
        if (!is_awaited[inner]) {
            last.push_back(first + int32_t(inner));
        }
    }
    moments.waits.push_back(std::move(last));
}

Moments moments_of(const DeviceProblem& problem, const StepWaits& waits) {
    Moments moments;
    moments.begin.reserve(waits.size());
    moments.end.reserve(waits.size());
    auto part = problem.parts.begin();
    for (size_t step = 0; step < waits.size(); ++step) {
        const auto begin = int32_t(moments.waits.size());
        std::vector<int32_t>& own = moments.waits.emplace_back();
        own.reserve(waits[step].size());
        for (const int32_t wait : waits[step]) {
            own.push_back(moments.end[size_t(wait)]);
        }
        moments.begin.push_back(begin);
        if (part != problem.parts.end() && size_t(part->step) == step) {
            if (!part->transients->waits.empty()) {
                add_inner_steps(*part->transients, begin, moments);
            }
            ++part;
        }
        moments.end.push_back(int32_t(moments.waits.size()) - 1);
    }
    return moments;
}

}  // namespace

Result<DeviceLayout> lay_out_on_device(const DeviceProblem& problem, const StepWaits& waits) {
    const Moments moments = moments_of(problem, waits);
    std::vector<UsedBuffer> buffers;
    for (const UsedBuffer& value : problem.values) {
        UsedBuffer& buffer = buffers.emplace_back(value);
        buffer.users = {};
        for (const int32_t user : value.users) {
            const int32_t begin = moments.begin[size_t(user)];
            const int32_t end = moments.end[size_t(user)];
            buffer.users.push_back(begin);
            if (end != begin) {
                buffer.users.push_back(end);
            }
        }
    }
    for (const DeviceProblem::Part& part : problem.parts) {
        const int32_t first = moments.begin[size_t(part.step)] + 1;
        for (const UsedBuffer& transient : part.transients->buffers) {
            UsedBuffer& buffer = buffers.emplace_back(transient);
            buffer.users = {};
            for (const int32_t user : transient.users) {
                buffer.users.push_back(first + user);
            }
        }
    }
    for (UsedBuffer& buffer : buffers) {
        buffer.is_kept = buffer.is_kept || problem.is_apart;
    }
    DeviceLayout layout;
    LEAT_ASSIGN_OR_RETURN(layout.plan, plan_offsets(buffers, StepOrder(moments.waits)));
    LEAT_RETURN_IF_ERROR(check_plan(buffers, moments.waits, layout.plan));
    auto next = layout.plan.offsets.begin();
    layout.values.assign(next, next + ptrdiff_t(problem.values.size()));
    next += ptrdiff_t(problem.values.size());
    for (const DeviceProblem::Part& part : problem.parts) {
        const auto count = ptrdiff_t(part.transients->buffers.size());
        layout.transients.emplace_back(next, next + count);
        next += count;
    }
    return layout;
}

}  // namespace leat
