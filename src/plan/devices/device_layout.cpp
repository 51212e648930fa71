#include "plan/devices/device_layout.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/same_value.h"
#include "base/sort_unique.h"

namespace leat {
namespace {

// With the moments at which values are used.
std::vector<UsedBuffer> buffers_of(const DeviceProblem& problem, const StepMoments& moments) {
    std::vector<std::vector<int32_t>> users(problem.values.size());
    for (size_t value = 0; value < users.size(); ++value) {
        for (const int32_t step : problem.values[value].users) {
            users[value].push_back(moments.begin(step));
            users[value].push_back(moments.end(step));
        }
    }
    for (size_t step = 0; step < problem.insides.size(); ++step) {
        if (problem.insides[step] == nullptr) {
            continue;
        }
        for (const InnerSteps::Use& use : problem.insides[step]->uses) {
            const std::vector<int32_t> own = moments.users(int32_t(step), use);
            std::vector<int32_t>& all = users[size_t(use.value - problem.first_value)];
            all.insert(all.end(), own.begin(), own.end());
        }
    }
    std::vector<UsedBuffer> buffers = problem.values;
    for (size_t value = 0; value < users.size(); ++value) {
        sort_unique(users[value]);
        buffers[value].users.assign(users[value].data(), users[value].data() + users[value].size());
        buffers[value].is_kept = buffers[value].is_kept || problem.is_apart;
    }
    return buffers;
}

bool has_same_users(const UsedBuffer& a, const UsedBuffer& b) {
    return a.is_kept == b.is_kept && a.alignment_bytes == b.alignment_bytes && a.users == b.users;
}

// Whatever the sizes.
bool has_moments(const DeviceMoments& moments,
                 const DeviceProblem& problem,
                 const StepWaits& waits) {
    const DeviceProblem& own = moments.problem;
    return own.first_value == problem.first_value && own.is_apart == problem.is_apart &&
           std::equal(own.values.begin(), own.values.end(), problem.values.begin(),
                      problem.values.end(), has_same_users) &&
           std::equal(own.insides.begin(), own.insides.end(), problem.insides.begin(),
                      problem.insides.end(), have_same_value<std::shared_ptr<const InnerSteps>>) &&
           moments.waits_of_steps == waits;
}

// Lays out values that no earlier layout fits.
Result<std::shared_ptr<const DeviceLayout>> lay_out_anew(const DeviceProblem& problem,
                                                         const StepWaits& waits) {
    const StepMoments moments(problem.insides);
    auto layout = std::make_shared<DeviceLayout>();
    layout->buffers = buffers_of(problem, moments);
    auto moment_waits = std::make_shared<const StepWaits>(moments.waits(waits));
    StepOrder order(*moment_waits);
    layout->moments = std::make_shared<const DeviceMoments>(
        DeviceMoments{problem, waits, std::move(moment_waits), std::move(order)});
    LEAT_ASSIGN_OR_RETURN(
        layout->answer, plan_within(layout->buffers, layout->moments->order, problem.limit_bytes));
    LEAT_ASSIGN_OR_RETURN(layout->proof, prove_plan(layout->buffers, layout->moments->waits,
                                                    layout->answer.plan, nullptr));
    return std::shared_ptr<const DeviceLayout>(std::move(layout));
}

}  // namespace

Result<std::shared_ptr<const DeviceLayout>> lay_out_on_device(
    const DeviceProblem& problem,
    const StepWaits& waits,
    const std::shared_ptr<const DeviceLayout>& former) {
    if (former == nullptr || !has_moments(*former->moments, problem, waits)) {
        return lay_out_anew(problem, waits);
    }
    auto layout = std::make_shared<DeviceLayout>();
    layout->moments = former->moments;
    layout->buffers = former->buffers;
    bool has_same_bytes = true;
    for (size_t value = 0; value < problem.values.size(); ++value) {
        const int64_t bytes = problem.values[value].size_bytes;
        has_same_bytes = has_same_bytes && layout->buffers[value].size_bytes == bytes;
        layout->buffers[value].size_bytes = bytes;
    }
    if (has_same_bytes && former->answer.verdict == LimitVerdict::kMet &&
        former->answer.plan.height_bytes <= problem.limit_bytes) {
        return former;
    }
    const StepOrder& order = layout->moments->order;
    LEAT_ASSIGN_OR_RETURN(MemoryPlan plan,
                          plan_offsets_again(layout->buffers, order, former->answer.plan));
    layout->answer = {LimitVerdict::kMet, 0, std::move(plan)};
    if (layout->answer.plan.height_bytes > problem.limit_bytes) {
        LEAT_ASSIGN_OR_RETURN(layout->answer,
                              plan_within(layout->buffers, order, problem.limit_bytes));
    }
    LEAT_ASSIGN_OR_RETURN(layout->proof, prove_plan(layout->buffers, layout->moments->waits,
                                                    layout->answer.plan, former->proof));
    return std::shared_ptr<const DeviceLayout>(std::move(layout));
}

}  // namespace leat
