#include "runtime/device_layout.h"

#include "base/error.h"
#include "base/sort_unique.h"

namespace leat {

Result<LimitAnswer> lay_out_on_device(const DeviceProblem& problem, const StepWaits& waits) {
    const StepMoments moments(problem.insides);
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
    const StepWaits waits_of_moments = moments.waits(waits);
    LEAT_ASSIGN_OR_RETURN(LimitAnswer answer,
                          plan_within(buffers, StepOrder(waits_of_moments), problem.limit_bytes));
    LEAT_RETURN_IF_ERROR(check_plan(buffers, waits_of_moments, answer.plan));
    return answer;
}

}  // namespace leat
