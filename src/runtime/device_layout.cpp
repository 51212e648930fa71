#include "runtime/device_layout.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
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

bool has_same_bytes(const UsedBuffer& a, const UsedBuffer& b) {
    return a.size_bytes == b.size_bytes;
}

template <class Compare>
bool are_all(const std::vector<UsedBuffer>& a, const std::vector<UsedBuffer>& b, Compare compare) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), compare);
}

// Of a former layout with the same structure; nullopt: the limit asks for a search.
Result<std::optional<LimitAnswer>> answer_as_before(const DeviceLayout& former,
                                                    const std::vector<UsedBuffer>& buffers,
                                                    int64_t limit_bytes) {
    LEAT_ASSIGN_OR_RETURN(MemoryPlan plan,
                          plan_offsets_again(buffers, *former.order, former.answer.plan));
    if (plan.height_bytes > limit_bytes) {
        return std::optional<LimitAnswer>();
    }
    return std::optional<LimitAnswer>(LimitAnswer{LimitVerdict::kMet, 0, std::move(plan)});
}

}  // namespace

Result<std::shared_ptr<const DeviceLayout>> lay_out_on_device(
    const DeviceProblem& problem,
    const StepWaits& waits,
    const std::shared_ptr<const DeviceLayout>& former) {
    const StepMoments moments(problem.insides);
    auto layout = std::make_shared<DeviceLayout>();
    layout->buffers = buffers_of(problem, moments);
    layout->waits = std::make_shared<const StepWaits>(moments.waits(waits));
    const bool is_as_before = former != nullptr && *former->waits == *layout->waits &&
                              are_all(former->buffers, layout->buffers, has_same_users);
    if (is_as_before && are_all(former->buffers, layout->buffers, has_same_bytes) &&
        former->answer.verdict == LimitVerdict::kMet &&
        former->answer.plan.height_bytes <= problem.limit_bytes) {
        return former;
    }
    std::optional<LimitAnswer> answer;
    if (is_as_before) {
        layout->waits = former->waits;
        layout->order = former->order;
        LEAT_ASSIGN_OR_RETURN(answer,
                              answer_as_before(*former, layout->buffers, problem.limit_bytes));
    } else {
        layout->order = std::make_shared<const StepOrder>(*layout->waits);
    }
    if (!answer) {
        LEAT_ASSIGN_OR_RETURN(answer,
                              plan_within(layout->buffers, *layout->order, problem.limit_bytes));
    }
    layout->answer = *std::move(answer);
    LEAT_ASSIGN_OR_RETURN(layout->proof,
                          prove_plan(layout->buffers, layout->waits, layout->answer.plan,
                                     is_as_before ? former->proof : nullptr));
    return std::shared_ptr<const DeviceLayout>(std::move(layout));
}

}  // namespace leat
