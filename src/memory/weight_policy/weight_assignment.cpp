#include "memory/weight_policy/weight_assignment.h"

#include <algorithm>

namespace leat {
namespace {

// The eighth power: the sum is nearly that of the bottlenecks, and falls with every load.
double power(double load) {
    const double square = load * load;
    return (square * square) * (square * square);
}

}  // namespace

WeightAssignment::WeightAssignment(const WeightOptions& options,
                                   std::span<const int64_t> budgets_bytes)
    : options_(options),
      budgets_(budgets_bytes),
      chosen_(size_t(options.uses()), kNone),
      taken_(size_t(options.domains())),
      loads_(size_t(options.resources())),
      scratch_(size_t(options.resources())) {}

void WeightAssignment::clear() {
    std::fill(chosen_.begin(), chosen_.end(), kNone);
    std::fill(taken_.begin(), taken_.end(), 0);
    std::fill(loads_.begin(), loads_.end(), 0);
    alone_ns_ = 0;
    bytes_ = 0;
}

void WeightAssignment::add(int use, int option, int sign) {
    const WeightOptions::Option& chosen = options_.at(use, option);
    for (const WeightOptions::Take& take : options_.takes(chosen)) {
        taken_[size_t(take.domain)] += sign * take.bytes;
    }
    for (const WeightOptions::Load& load : options_.loads(chosen)) {
        loads_[size_t(load.resource)] += sign * load.ns;
    }
    alone_ns_ += sign * chosen.alone_ns;
    bytes_ += sign * chosen.bytes;
}

void WeightAssignment::choose(int use, int option) {
    int& present = chosen_[size_t(use)];
    if (present != kNone) {
        add(use, present, -1);
    }
    if (option != kNone) {
        add(use, option, 1);
    }
    present = option;
}

void WeightAssignment::choose_all(std::span<const int> chosen) {
    clear();
    for (size_t use = 0; use < chosen.size(); ++use) {
        choose(int(use), chosen[use]);
    }
}

int64_t WeightAssignment::overflow_bytes() const {
    int64_t bytes = 0;
    for (int domain = 0; domain < options_.domains(); ++domain) {
        bytes += std::max<int64_t>(-room_bytes(domain), 0);
    }
    return bytes;
}

int WeightAssignment::full_domain() const {
    for (int domain = 0; domain < options_.domains(); ++domain) {
        if (room_bytes(domain) < 0) {
            return domain;
        }
    }
    return kNone;
}

int64_t WeightAssignment::bytes_in(int use, int option, int domain) const {
    if (option == kNone) {
        return 0;
    }
    for (const WeightOptions::Take& take : options_.takes(options_.at(use, option))) {
        if (take.domain == domain) {
            return take.bytes;
        }
    }
    return 0;
}

bool WeightAssignment::has_room(int use, int option, int apart) const {
    const std::span<const WeightOptions::Take> takes = options_.takes(options_.at(use, option));
    return std::all_of(takes.begin(), takes.end(), [&](const WeightOptions::Take& take) {
        const int64_t more = take.bytes - bytes_in(use, at(use), take.domain);
        return take.domain == apart || more <= 0 || more <= room_bytes(take.domain);
    });
}

WeightCost WeightAssignment::cost_after(int use, int option) const {
    std::copy(loads_.begin(), loads_.end(), scratch_.begin());
    const WeightOptions::Option& next = options_.at(use, option);
    for (const WeightOptions::Load& load : options_.loads(next)) {
        scratch_[size_t(load.resource)] += load.ns;
    }
    double alone_ns = alone_ns_ + next.alone_ns;
    int64_t bytes = bytes_ + next.bytes;
    if (at(use) != kNone) {
        const WeightOptions::Option& present = options_.at(use, at(use));
        for (const WeightOptions::Load& load : options_.loads(present)) {
            scratch_[size_t(load.resource)] -= load.ns;
        }
        alone_ns -= present.alone_ns;
        bytes -= present.bytes;
    }
    return cost_of(scratch_, alone_ns, bytes);
}

WeightCost WeightAssignment::cost_of(std::span<const double> loads,
                                     double alone_ns,
                                     int64_t bytes) const {
    WeightCost cost;
    cost.alone_ns = alone_ns;
    cost.bytes = bytes;
    const double scale = options_.bound_ns() > 0 ? 1 / options_.bound_ns() : 1;
    for (const double load : loads) {
        cost.read_ns = std::max(cost.read_ns, load);
        cost.spread += power(load * scale);
    }
    return cost;
}

}  // namespace leat
