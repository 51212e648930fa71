#include "results.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "graphbench/statistics.h"

namespace leat::micro {

Spread spread_of(std::vector<double> samples) {
    if (samples.empty()) {
        return {};
    }
    std::sort(samples.begin(), samples.end());
    return {bench::percentile_of_sorted(samples, 50), bench::percentile_of_sorted(samples, 10),
            bench::percentile_of_sorted(samples, 90), int64_t(samples.size())};
}

void Results::add(const Key& key,
                  const Spread& value,
                  const char* unit,
                  double effective_cores,
                  bool is_parallel) {
    if (value.samples == 0) {
        return;
    }
    Measurement measurement;
    measurement.key = key;
    measurement.value = value;
    measurement.unit = unit;
    measurement.effective_cores = effective_cores;
    measurement.is_parallel = is_parallel;
    all_.push_back(std::move(measurement));
}

const Measurement* Results::find(const Key& key) const {
    const auto found = std::find_if(all_.begin(), all_.end(),
                                    [&key](const Measurement& m) { return m.key == key; });
    return found == all_.end() ? nullptr : &*found;
}

std::optional<double> Results::median(const Key& key) const {
    const Measurement* found = find(key);
    return found != nullptr ? std::optional(found->value.median) : std::nullopt;
}

std::optional<double> Results::geometric_mean(Key key,
                                              const std::vector<std::string>& graphs) const {
    double sum = 0;
    for (const std::string& graph : graphs) {
        key.graph = graph;
        const std::optional<double> value = median(key);
        if (!value || *value <= 0) {
            return std::nullopt;
        }
        sum += std::log(*value);
    }
    return graphs.empty() ? std::nullopt : std::optional(std::exp(sum / double(graphs.size())));
}

Json Results::json() const {
    Json list = Json::array();
    for (const Measurement& m : all_) {
        Json json = Json::object();
        json.set("section", m.key.section);
        json.set("metric", m.key.metric);
        json.set("executor", m.key.executor);
        json.set("graph", m.key.graph);
        json.set("body", m.key.body);
        json.set("threads", m.key.threads);
        json.set("unit", m.unit);
        json.set("median", m.value.median);
        json.set("p10", m.value.p10);
        json.set("p90", m.value.p90);
        json.set("samples", m.value.samples);
        json.set("parallel", m.is_parallel);
        json.set("effective_cores", m.effective_cores);
        list.push(std::move(json));
    }
    return list;
}

}  // namespace leat::micro
