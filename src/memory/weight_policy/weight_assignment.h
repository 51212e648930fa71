// WeightAssignment: an option for each constant, or for some of them, with what they take of each
// domain and what their reads cost together.
//
// Not thread-safe. The options and budgets outlive it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/weight_policy/weight_options.h"

namespace leat {

struct WeightCost {
    double read_ns = 0;   // weight_policy.h
    double spread = 0;    // less where resources that are not the bottleneck have less to do, too
    double alone_ns = 0;  // weight_policy.h
    int64_t bytes = 0;    // in all domains
};

class WeightAssignment {
  public:
    static constexpr int kNone = -1;

    WeightAssignment(const WeightOptions& options, std::span<const int64_t> budgets_bytes);

    void clear();
    // kNone: takes the choice back.
    void choose(int use, int option);
    void choose_all(std::span<const int> chosen);

    std::span<const int> chosen() const { return chosen_; }
    int at(int use) const { return chosen_[size_t(use)]; }
    std::span<const int64_t> taken_bytes() const { return taken_; }
    int64_t room_bytes(int domain) const {
        return budgets_[size_t(domain)] - taken_[size_t(domain)];
    }
    // Over all budgets together.
    int64_t overflow_bytes() const;
    // One that is over its budget; kNone: there is none.
    int full_domain() const;
    // Whether the option of a use, in place of its present one, keeps to the budgets; `apart` is a
    // domain that need not.
    bool has_room(int use, int option, int apart = kNone) const;
    int64_t bytes_in(int use, int option, int domain) const;

    WeightCost cost() const { return cost_of(loads_, alone_ns_, bytes_); }
    // With that option in place of the present one; nothing changes.
    WeightCost cost_after(int use, int option) const;

  private:
    WeightCost cost_of(std::span<const double> loads, double alone_ns, int64_t bytes) const;
    void add(int use, int option, int sign);

    const WeightOptions& options_;
    const std::span<const int64_t> budgets_;
    std::vector<int> chosen_;
    std::vector<int64_t> taken_;  // by domain
    std::vector<double> loads_;   // by resource
    double alone_ns_ = 0;
    int64_t bytes_ = 0;
    mutable std::vector<double> scratch_;
};

}  // namespace leat
