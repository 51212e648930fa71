#include "ops/type_checks.h"

#include <algorithm>
#include <string>

namespace leat {

namespace {

std::string names_of(DTypeSet types) {
    std::string names;
    for (int i = 0; i < kDTypeCount; ++i) {
        if ((types >> unsigned(i) & 1U) != 0) {
            names += names.empty() ? "" : ", ";
            names += name_of(DType(i));
        }
    }
    return names;
}

int64_t bytes_of_all(std::span<const TensorArg> args) {
    // More than any machine has: sums of several such numbers are numbers, too.
    constexpr int64_t kMost = int64_t{1} << 60;
    int64_t bytes = 0;
    for (const TensorArg& arg : args) {
        if (arg.present()) {
            const int64_t own = storage_bytes(arg.dtype, arg.shape.element_count()).value_or(kMost);
            bytes += std::min(own, kMost - bytes);
        }
    }
    return bytes;
}

}  // namespace

Status require_dtype(const InferContext& context, int i, DTypeSet allowed, std::string_view what) {
    if (!context.has_input(i)) {
        return {};
    }
    const TypeInfo& type = context.input(i);
    if (!type.is_tensor()) {
        return invalid_argument("input {} must be a tensor", what)
            .with_found(type.to_string())
            .with_needed("a tensor");
    }
    if (type.dtype == DType::kUndefined || (allowed & dtype_bit(type.dtype)) != 0) {
        return {};
    }
    return invalid_argument("the element type of input {} is not supported", what)
        .with_found(std::string(name_of(type.dtype)))
        .with_needed("one of " + names_of(allowed));
}

Status require_same_dtype(const InferContext& context, int i, int j) {
    if (!context.has_input(i) || !context.has_input(j)) {
        return {};
    }
    const DType a = context.input(i).dtype;
    const DType b = context.input(j).dtype;
    if (a == b || a == DType::kUndefined || b == DType::kUndefined) {
        return {};
    }
    return invalid_argument("inputs {} and {} must have the same element type", i, j)
        .with_found(fmt::format("{} and {}", name_of(a), name_of(b)))
        .with_needed("one type; insert a Cast");
}

Status require_rank(const InferContext& context, int i, int rank, std::string_view what) {
    if (!context.has_input(i)) {
        return {};
    }
    const TypeInfo& type = context.input(i);
    if (type.rank() < 0 || type.rank() == rank) {
        return {};
    }
    return invalid_argument("input {} has the wrong rank", what)
        .with_found(type.to_string())
        .with_needed(fmt::format("rank {}", rank));
}

Status require_all_inputs(const InferContext& context) {
    for (int i = 0; i < context.input_count(); ++i) {
        if (!context.has_input(i)) {
            return invalid_argument("input {} is absent but required", i);
        }
    }
    return {};
}

int64_t moved_bytes(std::span<const TensorArg> inputs, std::span<const TensorArg> outputs) {
    return bytes_of_all(inputs) + bytes_of_all(outputs);
}

}  // namespace leat
