#include "memory/step_moments.h"

#include <algorithm>
#include <utility>

namespace leat {
namespace {

bool has_inner_steps(const std::shared_ptr<const InnerSteps>& inside) {
    return inside != nullptr && !inside->waits.empty();
}

}  // namespace

StepMoments::StepMoments(std::vector<std::shared_ptr<const InnerSteps>> insides)
    : count_(int32_t(insides.size())) {
    if (std::none_of(insides.begin(), insides.end(), has_inner_steps)) {
        return;
    }
    insides_ = std::move(insides);
    count_ = 0;
    first_.reserve(insides_.size() + 1);
    for (const std::shared_ptr<const InnerSteps>& inside : insides_) {
        first_.push_back(count_);
        count_ += has_inner_steps(inside) ? int32_t(inside->waits.size()) + 2 : 1;
    }
    first_.push_back(count_);
}

int32_t StepMoments::step_of(int32_t moment) const {
    if (is_plain()) {
        return moment;
    }
    return int32_t(std::upper_bound(first_.begin(), first_.end(), moment) - first_.begin()) - 1;
}

// The end waits for the inner steps that no other one waits for.
void StepMoments::add_inner_waits(int32_t step, StepWaits& waits) const {
    const StepWaits& inner = insides_[size_t(step)]->waits;
    const int32_t first = begin(step) + 1;
    std::vector<bool> is_awaited(inner.size(), false);
    for (const std::vector<int32_t>& before : inner) {
        std::vector<int32_t>& own = waits.emplace_back();
        for (const int32_t wait : before) {
            own.push_back(first + wait);
            is_awaited[size_t(wait)] = true;
        }
        if (own.empty()) {
            own.push_back(begin(step));
        }
    }
    std::vector<int32_t> last;
    for (size_t index = 0; index < inner.size(); ++index) {
        if (!is_awaited[index]) {
            last.push_back(first + int32_t(index));
        }
    }
    waits.push_back(std::move(last));
}

StepWaits StepMoments::waits(std::span<const std::vector<int32_t>> waits_of_steps) const {
    StepWaits waits;
    waits.reserve(size_t(count_));
    for (size_t step = 0; step < waits_of_steps.size(); ++step) {
        std::vector<int32_t>& own = waits.emplace_back();
        own.reserve(waits_of_steps[step].size());
        for (const int32_t before : waits_of_steps[step]) {
            own.push_back(end(before));
        }
        if (begin(int32_t(step)) != end(int32_t(step))) {
            add_inner_waits(int32_t(step), waits);
        }
    }
    return waits;
}

std::vector<int32_t> StepMoments::users(int32_t step, const InnerSteps::Use& use) const {
    const int32_t first = begin(step);
    const int32_t last = end(step);
    if (first == last) {
        return {first};
    }
    std::vector<int32_t> moments;
    if (use.steps.empty() || use.side == InnerSteps::Side::kRead) {
        moments.push_back(first);
    }
    for (const int32_t inner : use.steps) {
        moments.push_back(first + 1 + inner);
    }
    if (use.steps.empty() || use.side == InnerSteps::Side::kWritten) {
        moments.push_back(last);
    }
    return moments;
}

}  // namespace leat
