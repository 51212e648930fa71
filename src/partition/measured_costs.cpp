#include "partition/measured_costs.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace leat {
namespace {

// Of the text form. Readers know no other.
constexpr int64_t kFormat = 1;
constexpr double kNsInSecond = 1e9;

Json link_json(const LinkRates& link) {
    Json json = Json::object();
    json.set("latency_ns", link.latency_ns).set("bytes_per_s", link.bytes_per_s);
    return json;
}

Status wrong(std::string_view what, const std::string& found, std::string_view needed) {
    return make_error(StatusCode::kParse, "measured costs: {}", what)
        .with_found(found)
        .with_needed(std::string(needed));
}

Result<double> number_of(const Json& json, std::string_view name, double least) {
    const Json& member = json[name];
    const double value = member.number(-1);
    if (!member.is_number() || !std::isfinite(value) || value < least) {
        return wrong(name, member.dump(-1), fmt::format("a number >= {}", least));
    }
    return value;
}

Result<LinkRates> parse_link(const Json& json) {
    LinkRates link;
    LEAT_ASSIGN_OR_RETURN(link.latency_ns, number_of(json, "latency_ns", 0));
    LEAT_ASSIGN_OR_RETURN(link.bytes_per_s, number_of(json, "bytes_per_s", 1));
    return link;
}

Result<MeasuredLinks> parse_links(const Json& json) {
    MeasuredLinks links;
    LEAT_ASSIGN_OR_RETURN(links.to_device, parse_link(json["to_device"]));
    LEAT_ASSIGN_OR_RETURN(links.from_device, parse_link(json["from_device"]));
    LEAT_ASSIGN_OR_RETURN(links.contention, number_of(json, "contention", 0));
    return links;
}

Result<MeasuredOperator> parse_operator(const Json& json) {
    MeasuredOperator measured;
    measured.signature = json["signature"].text();
    measured.op_type = json["op"].text();
    if (measured.signature.empty() || measured.op_type.empty()) {
        return wrong("an operator has no name", json.dump(-1), "\"op\" and \"signature\"");
    }
    LEAT_ASSIGN_OR_RETURN(measured.work.flops, number_of(json, "flops", 0));
    LEAT_ASSIGN_OR_RETURN(const double bytes, number_of(json, "bytes", 0));
    LEAT_ASSIGN_OR_RETURN(measured.median_ns, number_of(json, "median_ns", 0));
    LEAT_ASSIGN_OR_RETURN(measured.spread, number_of(json, "spread", 0));
    LEAT_ASSIGN_OR_RETURN(const double runs, number_of(json, "runs", 1));
    LEAT_ASSIGN_OR_RETURN(const double round, number_of(json, "round", 0));
    measured.work.bytes = int64_t(bytes);
    measured.runs = int64_t(runs);
    measured.round = int64_t(round);
    return measured;
}

// Between the neighbours of the place in the sorted values.
double at_share(std::span<const double> sorted, double share) {
    const double place = share * double(sorted.size() - 1);
    const auto below = size_t(place);
    const size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (place - double(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

// Minimises sum ((latency + bytes / rate - ns) / ns)^2, a line with weights 1 / ns^2.
std::optional<LinkRates> fit_link(std::span<const CopySample> samples) {
    const auto [least, most] = std::minmax_element(
        samples.begin(), samples.end(),
        [](const CopySample& a, const CopySample& b) { return a.bytes < b.bytes; });
    if (samples.empty() || least->bytes == most->bytes) {
        return std::nullopt;
    }
    double weights = 0;
    double bytes = 0;
    double ns = 0;
    for (const CopySample& sample : samples) {
        const double weight = 1 / (sample.ns * sample.ns);
        weights += weight;
        bytes += weight * double(sample.bytes);
        ns += weight * sample.ns;
    }
    if (weights == 0 || !std::isfinite(weights)) {
        return std::nullopt;
    }
    const double mean_bytes = bytes / weights;
    const double mean_ns = ns / weights;
    double variance = 0;
    double covariance = 0;
    for (const CopySample& sample : samples) {
        const double weight = 1 / (sample.ns * sample.ns);
        const double off = double(sample.bytes) - mean_bytes;
        variance += weight * off * off;
        covariance += weight * off * (sample.ns - mean_ns);
    }
    if (variance <= 0 || covariance <= 0) {
        return std::nullopt;
    }
    const double ns_per_byte = covariance / variance;
    return LinkRates{std::max(0.0, mean_ns - ns_per_byte * mean_bytes), kNsInSecond / ns_per_byte};
}

Quartiles quartiles_of(std::span<const double> values) {
    if (values.empty()) {
        return {};
    }
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    return {at_share(sorted, 0.25), at_share(sorted, 0.5), at_share(sorted, 0.75)};
}

const MeasuredOperator* MeasuredCosts::find(const OperatorSignature& signature) const {
    const auto found = operators_.find(signature.hash);
    return found != operators_.end() && found->second.signature == signature.text ? &found->second
                                                                                  : nullptr;
}

void MeasuredCosts::add(MeasuredOperator measured) {
    const uint64_t hash = signature_hash(measured.signature);
    operators_[hash] = std::move(measured);
    drop_oldest();
}

void MeasuredCosts::merge(const MeasuredCosts& newer) {
    for (const auto& [hash, measured] : newer.operators_) {
        operators_[hash] = measured;
    }
    if (newer.links) {
        links = newer.links;
    }
    if (newer.launch_ns > 0) {
        launch_ns = newer.launch_ns;
    }
    round = std::max(round, newer.round);
    drop_oldest();
}

void MeasuredCosts::set_round(int64_t number) {
    round = number;
    for (auto& [hash, measured] : operators_) {
        measured.round = number;
    }
}

void MeasuredCosts::drop_oldest() {
    if (operators_.size() <= kMostOperators) {
        return;
    }
    std::vector<std::pair<int64_t, uint64_t>> by_age;  // round, hash
    by_age.reserve(operators_.size());
    for (const auto& [hash, measured] : operators_) {
        by_age.emplace_back(measured.round, hash);
    }
    std::sort(by_age.begin(), by_age.end());
    by_age.resize(operators_.size() - kMostOperators);
    for (const auto& [age, hash] : by_age) {
        operators_.erase(hash);
    }
}

std::string MeasuredCosts::to_text() const {
    Json json = Json::object();
    json.set("format", kFormat).set("round", round).set("launch_ns", launch_ns);
    if (links) {
        Json entry = Json::object();
        entry.set("to_device", link_json(links->to_device));
        entry.set("from_device", link_json(links->from_device));
        entry.set("contention", links->contention);
        json.set("links", std::move(entry));
    }
    Json rows = json_list(operators_, [](const auto& entry) {
        const MeasuredOperator& measured = entry.second;
        Json row = Json::object();
        row.set("op", measured.op_type).set("signature", measured.signature);
        row.set("flops", measured.work.flops).set("bytes", measured.work.bytes);
        row.set("median_ns", measured.median_ns).set("spread", measured.spread);
        return row.set("runs", measured.runs).set("round", measured.round);
    });
    json.set("operators", std::move(rows));
    return json.dump(1);
}

Result<MeasuredCosts> MeasuredCosts::parse(std::string_view text) {
    LEAT_ASSIGN_OR_RETURN(const Json json, Json::parse(text));
    if (json["format"].integer(-1) != kFormat) {
        return wrong("format", json["format"].dump(-1), std::to_string(kFormat));
    }
    MeasuredCosts costs;
    LEAT_ASSIGN_OR_RETURN(const double rounds, number_of(json, "round", 0));
    costs.round = int64_t(rounds);
    LEAT_ASSIGN_OR_RETURN(costs.launch_ns, number_of(json, "launch_ns", 0));
    if (!json["links"].is_null()) {
        LEAT_ASSIGN_OR_RETURN(costs.links, parse_links(json["links"]));
    }
    for (const Json& row : json["operators"].items()) {
        LEAT_ASSIGN_OR_RETURN(MeasuredOperator measured, parse_operator(row));
        costs.add(std::move(measured));
    }
    return costs;
}

DeviceEstimates::DeviceEstimates(const DeviceRates& rates, const MeasuredCosts* costs)
    : rates_(rates), costs_(costs) {
    if (costs == nullptr) {
        return;
    }
    std::map<std::string_view, std::vector<double>> ratios;
    for (const auto& [hash, measured] : costs->operators()) {
        const double roofline_ns = estimated_ns(measured.work, rates);
        if (roofline_ns > 0) {
            ratios[measured.op_type].push_back(measured.median_ns / roofline_ns);
        }
    }
    for (const auto& [op_type, all] : ratios) {
        scales_.emplace(op_type, quartiles_of(all).median);
    }
}

std::optional<double> DeviceEstimates::scale_of(std::string_view op_type) const {
    const auto found = scales_.find(op_type);
    return found == scales_.end() ? std::nullopt : std::optional(found->second);
}

NodeEstimate DeviceEstimates::of(const OperatorSignature* signature,
                                 std::string_view op_type,
                                 const Cost& work) const {
    if (costs_ != nullptr && signature != nullptr) {
        if (const MeasuredOperator* measured = costs_->find(*signature)) {
            return {measured->median_ns, CostSource::kMeasured};
        }
    }
    const double roofline_ns = estimated_ns(work, rates_);
    const std::optional<double> scale = scale_of(op_type);
    return scale && roofline_ns > 0 ? NodeEstimate{roofline_ns * *scale, CostSource::kScaled}
                                    : NodeEstimate{roofline_ns, CostSource::kDefinition};
}

}  // namespace leat
