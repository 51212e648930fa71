// What kernels and operators say of themselves, checked before a plan multiplies and adds it.
#pragma once

#include <optional>
#include <string_view>

#include "backends/host_kernel.h"
#include "base/error.h"

namespace leat {

// Any estimate is at most 30 years: sums of many of these are numbers, too.
inline constexpr double kMostEstimatedNs = 1e18;

// Bytes of values, of which none is added twice: what is planned for them adds sizes and offsets.
class SizeSum {
  public:
    // out_of_memory that names the value with which there are more than any machine has. shape: the
    // fixed one of the type; a value without one adds nothing.
    Status add(const TypeInfo& type, const std::optional<Shape>& shape, std::string_view value);

  private:
    int64_t bytes_ = 0;
};

// An error says which number of a prepared kernel no program can have.
Status check_kernel(const HostKernel& kernel);

// What a node takes by its operator's definition, and how long that is on one worker. An error says
// what is wrong with the cost that a custom operator gives. Precondition of the first: the operator
// defines a cost.
Result<Cost> checked_cost(const NodeData& node,
                          std::span<const TensorArg> inputs,
                          std::span<const TensorArg> outputs);
Result<double> estimate_ns(const NodeData& node,
                           std::span<const TensorArg> inputs,
                           std::span<const TensorArg> outputs);

}  // namespace leat
