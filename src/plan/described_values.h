// DescribedValues: the values of a graph as the steps of a plan see them, without data.
#pragma once

#include <optional>
#include <vector>

#include "plan/kernel_answers.h"
#include "plan/plan_facts.h"

namespace leat {

class DescribedValues {
  public:
    // Inputs of the graph and results of the nodes that are needed. An error names a result that
    // has no fixed shape, or with which values have more bytes than any machine. Arguments outlive
    // this.
    static Result<DescribedValues> make(const PlanContext& context, const PlanFacts& facts);

    // Known values too, row-major; absent where the id is invalid.
    TensorArg argument(ValueId id) const;
    // Null: it is known, or no step touches it.
    const TensorArg* find(ValueId id) const {
        return at_[id] < 0 ? nullptr : &described_[size_t(at_[id])];
    }
    // Twins share a description where they are alike.
    bool share_description(ValueId a, ValueId b) const {
        return a.valid() && b.valid() && at_[a] >= 0 && at_[a] == at_[b];
    }
    int64_t largest_result_bytes() const { return largest_result_bytes_; }

  private:
    DescribedValues(const PlanContext& context, const PlanFacts& facts);

    Status add_results(NodeId node, SizeSum& bytes);
    Status has_no_shape(ValueId id) const;
    std::optional<Shape> grown_shape(ValueId id) const;
    bool is_read(ValueId id) const;
    bool describe_as_twin(NodeId node, ValueId id);
    TensorArg describe(ValueId id, const Shape& shape) const;
    void add(ValueId id, const Shape& shape);

    const PlanContext& context_;
    const GraphData& graph_;
    const PlanFacts& facts_;
    IdVector<ValueId, int32_t> at_;     // index in described_; -1: none
    std::vector<TensorArg> described_;  // twins share one
    int64_t largest_result_bytes_ = 0;
};

}  // namespace leat
