// MeasuredCosts: what was measured of one device: times of operators by their signature, and its
// links with the host. A table with a text form, which files keep; nothing here measures.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "leat/placement_report.h"
#include "leat/status.h"
#include "partition/cost_model.h"
#include "partition/operator_signature.h"

namespace leat {

// An operator on the device, alone.
struct MeasuredOperator {
    std::string signature;  // OperatorSignature::text
    std::string op_type;
    Cost work;  // by the definition, so that rooflines can be compared
    double median_ns = 0;
    double spread = 0;  // the quartiles' distance over the median
    int64_t runs = 0;
    int64_t round = 0;  // MeasuredCosts::round when it was measured
};

// Copies between the host's memory and the device's.
struct MeasuredLinks {
    LinkRates to_device;
    LinkRates from_device;
    // Of large copies in both directions at once: the time of both over that of the longer alone.
    // 1: they do not disturb each other, 2: one waits for the other.
    double contention = 1;
};

// Time of copies of one size.
struct CopySample {
    int64_t bytes = 0;
    double ns = 0;
};
// The latency and rate whose relative errors have the least squares. Nullopt for fewer than two
// different sizes, and where larger copies take no longer.
std::optional<LinkRates> fit_link(std::span<const CopySample> samples);

struct Quartiles {
    double first = 0;
    double median = 0;
    double third = 0;
};
// Of a copy; all 0 for none. By linear interpolation.
Quartiles quartiles_of(std::span<const double> values);

class MeasuredCosts {
  public:
    // More are dropped, those of the oldest rounds first.
    static constexpr size_t kMostOperators = 4096;

    // Null: not measured. A signature of equal hash and other text is not it.
    const MeasuredOperator* find(const OperatorSignature& signature) const;
    // Replaces what is there under the signature.
    void add(MeasuredOperator measured);
    // What `newer` has replaces what is here.
    void merge(const MeasuredCosts& newer);

    // Of the table and of all that is in it.
    void set_round(int64_t number);

    size_t operator_count() const { return operators_.size(); }
    // By hash.
    const std::map<uint64_t, MeasuredOperator>& operators() const { return operators_; }

    std::optional<MeasuredLinks> links;
    // Of a submission that runs one operator: what it takes beyond the operator's time. 0: unknown.
    double launch_ns = 0;
    int64_t round = 0;  // how often something was added to the file

    // Same table, same text.
    std::string to_text() const;
    // kParse says what is wrong: no JSON, another version, a number out of its range.
    static Result<MeasuredCosts> parse(std::string_view text);

  private:
    void drop_oldest();

    std::map<uint64_t, MeasuredOperator> operators_;
};

// Where an estimate comes from.
struct NodeEstimate {
    double ns = 0;
    CostSource source = CostSource::kDefinition;
};

// Estimates of nodes on one device: measured where that was done, else the roofline, scaled by what
// operators of the type took on this device. Immutable, so safe to share.
class DeviceEstimates {
  public:
    // costs: null where nothing was measured; outlives this.
    DeviceEstimates(const DeviceRates& rates, const MeasuredCosts* costs);

    // signature: null where the shapes are not known.
    NodeEstimate of(const OperatorSignature* signature,
                    std::string_view op_type,
                    const Cost& work) const;
    // Measured over roofline, the median over operators of the type; nullopt: none was measured.
    std::optional<double> scale_of(std::string_view op_type) const;

  private:
    DeviceRates rates_;
    const MeasuredCosts* costs_;
    std::map<std::string, double, std::less<>> scales_;  // by type
};

}  // namespace leat
