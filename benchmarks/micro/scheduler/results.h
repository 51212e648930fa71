// What was measured: a flat list that tables, JSON and gates are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace leat::micro {

struct Spread {
    double median = 0;
    double p10 = 0;
    double p90 = 0;
    int64_t samples = 0;
};
Spread spread_of(std::vector<double> samples);

// Fields that do not apply are empty.
struct Key {
    std::string section;
    std::string metric;
    std::string executor;
    std::string graph;
    std::string body;
    int threads = 0;

    bool operator==(const Key&) const = default;
};

struct Measurement {
    Key key;
    Spread value;
    const char* unit = "";
    // The process really had the cores for `key.threads` while this was measured.
    bool is_parallel = true;
    double effective_cores = 0;  // 0: not measured
};

class Results {
  public:
    // Ignored without samples. effective_cores: as probed; 0 if it was not.
    void add(const Key& key,
             const Spread& value,
             const char* unit,
             double effective_cores = 0,
             bool is_parallel = true);
    const std::vector<Measurement>& all() const { return all_; }
    const Measurement* find(const Key& key) const;  // null if there is none
    // The median, if there is one.
    std::optional<double> median(const Key& key) const;
    // Over `graphs`; none if one is missing.
    std::optional<double> geometric_mean(Key key, const std::vector<std::string>& graphs) const;
    Json json() const;

  private:
    std::vector<Measurement> all_;
};

}  // namespace leat::micro
