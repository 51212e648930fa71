// WeightOptions: every policy that a constant may have, with the bytes that it takes in each domain
// and the time that it costs each reader, memory and link; a table for the search.
//
// Thread-safe after construction. Keeps nothing of what it was made from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/weight_policy/weight_policy.h"

namespace leat {

class WeightOptions {
  public:
    struct Take {
        int32_t domain;
        int64_t bytes;
    };
    // Readers come first, then memories, then links.
    struct Load {
        int32_t resource;
        double ns;
    };
    struct Option {
        WeightDecision decision;
        double alone_ns = 0;     // the greatest of its loads
        int64_t bytes = 0;       // in all domains
        int32_t first_take = 0;  // [first, past) of all
        int32_t past_take = 0;
        int32_t first_load = 0;
        int32_t past_load = 0;
    };

    WeightOptions(const WeightMachine& machine, std::span<const WeightUse> uses);

    int uses() const { return int(first_option_.size()) - 1; }
    int domains() const { return domains_; }
    int resources() const { return resources_; }
    int count(int use) const { return first_option_[size_t(use) + 1] - first_option_[size_t(use)]; }
    const Option& at(int use, int option) const {
        return options_[size_t(first_option_[size_t(use)]) + size_t(option)];
    }
    std::span<const Take> takes(const Option& option) const {
        return std::span(takes_).subspan(size_t(option.first_take),
                                         size_t(option.past_take - option.first_take));
    }
    std::span<const Load> loads(const Option& option) const {
        return std::span(loads_).subspan(size_t(option.first_load),
                                         size_t(option.past_load - option.first_load));
    }
    // No assignment's read_ns is less: every reader has its best option of every constant.
    double bound_ns() const { return bound_ns_; }

  private:
    void add_options(const WeightMachine& machine, const WeightUse& use);
    void begin(WeightDecision decision);
    void take(int domain, int64_t bytes);
    void read(const WeightMachine& machine,
              const WeightUse& use,
              const WeightReader& reader,
              int memory,
              double fraction);
    void end();
    void add_to_bound();

    int domains_;
    int resources_;
    std::vector<int32_t> first_option_;
    std::vector<Option> options_;
    std::vector<Take> takes_;
    std::vector<Load> loads_;
    std::vector<double> loads_now_;  // of the option that is being made, by resource
    std::vector<double> least_ns_;   // sums of the least loads, by reader
    double bound_ns_ = 0;
};

}  // namespace leat
