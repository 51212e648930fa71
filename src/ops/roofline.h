// What running a node takes by its operator's definition, and how long that is on a device or a
// link of given rates. Pure functions of numbers: no time is measured.
#pragma once

#include <cstdint>
#include <span>

#include "graph/op_def.h"

namespace leat {

// What a device does at most: arithmetic from registers, or moving bytes from and to its memory.
struct DeviceRates {
    double flops_per_s = 0;  // > 0
    double bytes_per_s = 0;  // > 0
};

// Between two memories, in one direction.
struct LinkRates {
    double latency_ns = 0;   // of each transfer, >= 0
    double bytes_per_s = 0;  // > 0
};

// Of an operand; 0 where it is not present.
int64_t bytes_of(const TensorArg& operand);

// Of an operator that says no more: bytes moved, a flop an element of the results.
Cost plain_work(std::span<const TensorArg> inputs, std::span<const TensorArg> outputs);

// What running the node once takes, by its definition; views take nothing.
Cost work_of(const NodeData& node,
             std::span<const TensorArg> inputs,
             std::span<const TensorArg> outputs);

// The longer of computing and moving: one hides behind the other.
double estimated_ns(const Cost& work, const DeviceRates& device);
double transfer_ns(int64_t bytes, const LinkRates& link);

}  // namespace leat
