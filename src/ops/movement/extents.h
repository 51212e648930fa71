// Pieces of shape inference that the movement operators share.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/op_def.h"

namespace leat {

using Dims = std::vector<DimSpec>;

// Longer vectors are data, not shapes: their elements are not tracked.
inline constexpr size_t kMaxTrackedExtents = 64;

inline Dims unknown_dims(int64_t rank) {
    return Dims(size_t(rank), DimSpec::unknown());
}

inline bool all_fixed(const Dims& dims) {
    for (const DimSpec& dim : dims) {
        if (!dim.is_fixed()) {
            return false;
        }
    }
    return true;
}

// Elements of a tensor of rank 0 or 1, -1 if unknown.
inline int64_t known_length(const TypeInfo& type) {
    if (!type.dims || type.rank() > 1) {
        return -1;
    }
    return type.rank() == 0 ? 1 : (*type.dims)[0].extent();
}

// False if a tensor of the type is known to be no scalar and no vector of one element. An open
// extent may be 1 in a run.
inline bool may_have_one_element(const TypeInfo& type) {
    const int64_t length = known_length(type);
    return type.rank() <= 1 && (length < 0 || length == 1);
}

// True if values of the type may be extents of a shape.
inline bool may_hold_extents(DType dtype) {
    return dtype == DType::kInt64 || dtype == DType::kInt32;
}

// Marks the elements of output `i`, a tensor of rank 0 or 1, if they can be extents.
inline void track_extents(InferContext& context, int i, DType dtype, Dims extents) {
    if (may_hold_extents(dtype) && extents.size() <= kMaxTrackedExtents) {
        context.set_extents(i, std::move(extents));
    }
}

inline Status check_output_rank(int64_t rank) {
    if (rank > kMaxRank) {
        return unsupported("the output has too many dimensions")
            .with_found(fmt::format("rank {}", rank))
            .with_needed(fmt::format("rank <= {}", kMaxRank));
    }
    return {};
}

// Operands that hold indices, axes or shapes are int32 or int64.
inline Status check_index_type(const InferContext& context, int i, std::string_view what) {
    const DType dtype = context.input(i).dtype;
    if (dtype != DType::kInt64 && dtype != DType::kInt32 && dtype != DType::kUndefined) {
        return invalid_argument("{} has the wrong type", what)
            .with_found(std::string(name_of(dtype)))
            .with_needed("i64 or i32");
    }
    return {};
}

// Two descriptions of one extent: the more exact one; an error if they contradict each other.
inline Result<DimSpec> merge_dims(const DimSpec& a, const DimSpec& b, std::string_view what) {
    if (a.is_fixed() && b.is_fixed() && a.extent() != b.extent()) {
        return invalid_argument("{} differs", what)
            .with_found(fmt::format("{} and {}", a.extent(), b.extent()))
            .with_needed("equal extents");
    }
    if (a.is_fixed() || (!b.is_fixed() && !a.name().empty())) {
        return a;
    }
    return b;
}

// normalize_axis() of an axis that follows others, of which it must be none.
inline Result<int> normalize_next_axis(int64_t axis, int rank, std::span<const int> others) {
    LEAT_ASSIGN_OR_RETURN(const int normal, normalize_axis(axis, rank));
    if (std::find(others.begin(), others.end(), normal) != others.end()) {
        return invalid_argument("axis {} is named twice", axis);
    }
    return normal;
}

// The axis operand or attribute as axes of a tensor of `rank`, each once.
inline Result<std::vector<int>> normalize_axes(const std::vector<int64_t>& axes, int rank) {
    std::vector<int> result;
    result.reserve(axes.size());
    for (const int64_t axis : axes) {
        LEAT_ASSIGN_OR_RETURN(const int normal, normalize_next_axis(axis, rank, result));
        result.push_back(normal);
    }
    return result;
}

}  // namespace leat
