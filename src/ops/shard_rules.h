// When a shard's results are its rows of the whole run's: what the OpDef::gives_rows of many
// operators have in common.
#pragma once

#include <cstdint>

#include "graph/op_def.h"

namespace leat {

// For element-wise operators: each element of the result depends on the elements of the inputs that
// numpy broadcasting puts at the same index.
bool rows_by_broadcasting(const ShardArgs& args);

// For operators that work on each index of axis 0 of input 0 alone, and on all of the others.
bool rows_of_first_input(const ShardArgs& args);

// The same for those that mix the indices of one axis (attribute `axis`, else `default_axis`).
bool rows_unless_along_axis_0(const ShardArgs& args, int64_t default_axis);
// As a function of its own, for OpDef::gives_rows.
template <int64_t kDefaultAxis>
bool rows_unless_along_axis_0(const ShardArgs& args) {
    return rows_unless_along_axis_0(args, kDefaultAxis);
}

// For views of input 0: what belongs to an index of the batch is one block of elements.
bool rows_of_view(const ShardArgs& args);

// True if the inputs from `first` on are whole.
bool are_whole_from(const ShardArgs& args, size_t first);

// True if input `i` is absent or its elements are known.
bool is_absent_or_known(const ShardArgs& args, size_t i);

}  // namespace leat
