#include "memory/weight_policy/weight_balance.h"

#include <algorithm>

namespace leat {
namespace {

// The powers of the sweeps are 8, 16, 32, 64 and 64: a rough balance first, then a sharp one.
constexpr int kDoublings[] = {3, 4, 5, 6, 6};

double power(double base, int doublings) {
    for (int i = 0; i < doublings; ++i) {
        base *= base;
    }
    return base;
}

double difference(double now, double more, double scale, int doublings) {
    return power((now + more) / scale, doublings) - power(now / scale, doublings);
}

}  // namespace

WeightBalance::WeightBalance(const WeightOptions& options,
                             std::span<const int64_t> budgets_bytes,
                             std::span<const int> start)
    : options_(options),
      budgets_(budgets_bytes),
      chosen_(start.begin(), start.end()),
      taken_(size_t(options.domains())),
      loads_(size_t(options.resources())) {
    for (int use = 0; use < options_.uses(); ++use) {
        add(options_.at(use, chosen_[size_t(use)]), 1);
    }
}

void WeightBalance::run(double target_ns) {
    for (const int doublings : kDoublings) {
        sweep(target_ns, doublings);
    }
}

double WeightBalance::fullness() const {
    double most = 0;
    for (size_t domain = 0; domain < taken_.size(); ++domain) {
        if (taken_[domain] > 0) {
            most = std::max(most, taken_[domain] / double(std::max<int64_t>(budgets_[domain], 1)));
        }
    }
    return most;
}

void WeightBalance::sweep(double target_ns, int doublings) {
    for (int use = 0; use < options_.uses(); ++use) {
        int& chosen = chosen_[size_t(use)];
        add(options_.at(use, chosen), -1);
        int best = chosen;
        double least = rise(options_.at(use, chosen), target_ns, doublings);
        for (int option = 0; option < options_.count(use); ++option) {
            ++steps_;
            if (option == chosen || !can_fit(options_.at(use, option))) {
                continue;
            }
            const double rises = rise(options_.at(use, option), target_ns, doublings);
            if (rises < least) {
                best = option;
                least = rises;
            }
        }
        chosen = best;
        add(options_.at(use, chosen), 1);
    }
}

double WeightBalance::rise(const WeightOptions::Option& option,
                           double target_ns,
                           int doublings) const {
    double sum = 0;
    for (const WeightOptions::Load& load : options_.loads(option)) {
        sum += difference(loads_[size_t(load.resource)], load.ns, target_ns, doublings);
    }
    for (const WeightOptions::Take& take : options_.takes(option)) {
        const auto budget = double(std::max<int64_t>(budgets_[size_t(take.domain)], 1));
        sum += difference(taken_[size_t(take.domain)], double(take.bytes), budget, doublings);
    }
    return sum;
}

bool WeightBalance::can_fit(const WeightOptions::Option& option) const {
    const std::span<const WeightOptions::Take> takes = options_.takes(option);
    return std::all_of(takes.begin(), takes.end(), [&](const WeightOptions::Take& take) {
        return take.bytes <= budgets_[size_t(take.domain)];
    });
}

void WeightBalance::add(const WeightOptions::Option& option, int sign) {
    for (const WeightOptions::Load& load : options_.loads(option)) {
        loads_[size_t(load.resource)] += sign * load.ns;
    }
    for (const WeightOptions::Take& take : options_.takes(option)) {
        taken_[size_t(take.domain)] += double(sign * take.bytes);
    }
}

}  // namespace leat
