// WeightBalance: a start for the search where constants are many and room is scarce: budgets are
// costs like the time, so that constants trade places freely, and only nearly kept.
//
// Each constant in turn takes the option that adds least to
//   sum over resources (load / target)^p + sum over domains (bytes / budget)^p
// with p rising from sweep to sweep (potential functions for packing: Plotkin, Shmoys, Tardos,
// Math. of OR 20(2), 1995; here on whole constants).
//
// Not thread-safe. The options and budgets outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/weight_policy/weight_options.h"

namespace leat {

class WeightBalance {
  public:
    WeightBalance(const WeightOptions& options,
                  std::span<const int64_t> budgets_bytes,
                  std::span<const int> start);

    // For a run's reads in about `target_ns`.
    void run(double target_ns);

    std::span<const int> chosen() const { return chosen_; }
    // The fullest domain's bytes over its budget.
    double fullness() const;
    int64_t steps() const { return steps_; }

  private:
    void sweep(double target_ns, int doublings);
    double rise(const WeightOptions::Option& option, double target_ns, int doublings) const;
    bool can_fit(const WeightOptions::Option& option) const;
    void add(const WeightOptions::Option& option, int sign);

    const WeightOptions& options_;
    const std::span<const int64_t> budgets_;
    std::vector<int> chosen_;
    std::vector<double> taken_;  // by domain
    std::vector<double> loads_;  // by resource
    int64_t steps_ = 0;
};

}  // namespace leat
