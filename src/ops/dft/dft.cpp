#include "ops/dft/dft.h"

#include <algorithm>
#include <cmath>

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/slice/slice.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// Roots of unity are exact up to here.
constexpr int64_t kMostDftLength = int64_t{1} << 56;

Status check_dft_flag(const NodeData& node, const char* key, int64_t fallback) {
    const int64_t value = node.attr(key, fallback);
    if (value != 0 && value != 1) {
        return invalid_argument("attribute {} is no truth value", key)
            .with_found(fmt::format("{}", value))
            .with_needed("0 or 1");
    }
    return {};
}

// Operand i, an integer scalar or absent.
Status check_dft_count(const InferContext& context, int i, std::string_view what) {
    if (!context.has_input(i)) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_index_type(context, i, what));
    if (!may_have_one_element(context.input(i))) {
        return invalid_argument("{} must have one element", what)
            .with_found(context.input(i).to_string());
    }
    return {};
}

// Its value as an extent; unknown where it is. An error unless it is in [1, 2^56].
Result<DimSpec> dft_count(const InferContext& context, int i, std::string_view what) {
    if (const auto values = context.ints(i)) {
        if ((*values)[0] < 1 || (*values)[0] > kMostDftLength) {
            return invalid_argument("{} is out of range", what)
                .with_found(fmt::format("{}", (*values)[0]))
                .with_needed(fmt::format("1 to {}", kMostDftLength));
        }
        return DimSpec((*values)[0]);
    }
    const auto extents = context.extents(i);
    return extents && extents->size() == 1 ? (*extents)[0] : DimSpec::unknown();
}

DimSpec half_dft_spectrum(const DimSpec& length) {
    return length.is_fixed() ? DimSpec(length.extent() / 2 + 1) : DimSpec::unknown();
}

// The last axis: 1 (real) or 2 (complex), or -1: not known.
Result<int64_t> dft_parts(const TypeInfo& x) {
    const int64_t parts = x.dims->back().extent();
    if (x.dims->back().is_fixed() && parts != 1 && parts != 2) {
        return invalid_argument("the last axis of the input has the wrong extent")
            .with_found(x.to_string())
            .with_needed("1 (real) or 2 (real and imaginary parts)");
    }
    return x.dims->back().is_fixed() ? parts : -1;
}

Status check_dft_onesided(int64_t parts, bool inverse, bool onesided) {
    if (onesided && parts == (inverse ? 1 : 2)) {
        return invalid_argument("onesided=1 needs {} input", inverse ? "complex" : "real")
            .with_found(fmt::format("a last axis of {}", parts))
            .with_needed(fmt::format("a last axis of {}, or onesided=0", inverse ? 2 : 1));
    }
    return {};
}

// The transform's length along an axis of x.
Result<DimSpec> dft_transform_length(const InferContext& context, int axis, bool is_half) {
    if (context.has_input(1)) {
        return dft_count(context, 1, "dft_length");
    }
    const DimSpec& extent = (*context.input(0).dims)[size_t(axis)];
    const bool onesided = context.node().attr("onesided", int64_t{0}) != 0;
    const int64_t least = is_half ? 2 : onesided ? 1 : 0;
    if (extent.is_fixed() && extent.extent() < least) {
        return invalid_argument("the signal has too few elements")
            .with_found(context.input(0).to_string())
            .with_needed(fmt::format("an extent of at least {}, or dft_length", least));
    }
    if (!is_half) {
        return extent;
    }
    return extent.is_fixed() ? DimSpec(2 * (extent.extent() - 1)) : DimSpec::unknown();
}

Status infer_dft(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "input"));
    LEAT_RETURN_IF_ERROR(check_dft_count(context, 1, "dft_length"));
    LEAT_RETURN_IF_ERROR(check_dft_count(context, 2, "axis"));
    LEAT_RETURN_IF_ERROR(check_dft_flag(context.node(), "inverse", 0));
    LEAT_RETURN_IF_ERROR(check_dft_flag(context.node(), "onesided", 0));
    const bool inverse = context.node().attr("inverse", int64_t{0}) != 0;
    const bool onesided = context.node().attr("onesided", int64_t{0}) != 0;
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    if (x.rank() < 2) {
        return invalid_argument("the input of a DFT has too few axes")
            .with_found(x.to_string())
            .with_needed("rank >= 2: signal axes and the parts of complex numbers");
    }
    LEAT_ASSIGN_OR_RETURN(const int64_t parts, dft_parts(x));
    LEAT_RETURN_IF_ERROR(check_dft_onesided(parts, inverse, onesided));
    Dims dims = *x.dims;
    dims.back() = DimSpec(inverse && onesided ? 1 : 2);
    const auto given = context.ints(2);
    if (context.has_input(2) && !given) {
        std::fill(dims.begin(), dims.end() - 1, DimSpec::unknown());
        context.set_output(0, x.dtype, std::move(dims));
        return {};
    }
    const int64_t axis = given ? (*given)[0] : -2;
    LEAT_ASSIGN_OR_RETURN(const int normal, normalize_axis(axis, x.rank()));
    if (normal == x.rank() - 1) {
        return invalid_argument("the last axis holds the parts of complex numbers")
            .with_found(fmt::format("axis {}", axis))
            .with_needed(fmt::format("an axis in [{}, -2] or [0, {}]", -x.rank(), x.rank() - 2));
    }
    LEAT_ASSIGN_OR_RETURN(const DimSpec length,
                          dft_transform_length(context, normal, inverse && onesided));
    dims[size_t(normal)] = onesided && !inverse ? half_dft_spectrum(length) : length;
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// Of STFT.
Result<DimSpec> stft_frame_length(const InferContext& context) {
    DimSpec length = DimSpec::unknown();
    if (context.has_input(3)) {
        LEAT_ASSIGN_OR_RETURN(length, dft_count(context, 3, "frame_length"));
    }
    if (context.has_input(2)) {
        const TypeInfo& window = context.input(2);
        const DimSpec extent = window.dims ? (*window.dims)[0] : DimSpec::unknown();
        return merge_dims(extent, length, "the length of window and frame");
    }
    if (!context.has_input(3) && context.input(0).dims) {
        return (*context.input(0).dims)[1];
    }
    return length;
}

Result<DimSpec> stft_frame_count(const InferContext& context, const DimSpec& length) {
    LEAT_ASSIGN_OR_RETURN(const DimSpec step, dft_count(context, 1, "frame_step"));
    if (!context.input(0).dims || !length.is_fixed()) {
        return DimSpec::unknown();
    }
    const DimSpec& extent = (*context.input(0).dims)[1];
    if (!extent.is_fixed()) {
        return DimSpec::unknown();
    }
    if (extent.extent() < length.extent() || length.extent() < 1) {
        return invalid_argument("the frames do not fit the signal")
            .with_found(
                fmt::format("frames of {}, a signal of {}", length.extent(), extent.extent()))
            .with_needed("frames of at least 1, and no longer than the signal");
    }
    return step.is_fixed() ? DimSpec((extent.extent() - length.extent()) / step.extent() + 1)
                           : DimSpec::unknown();
}

Status infer_stft(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "signal"));
    LEAT_RETURN_IF_ERROR(check_dft_count(context, 1, "frame_step"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 2));
    LEAT_RETURN_IF_ERROR(require_rank(context, 2, 1, "window"));
    LEAT_RETURN_IF_ERROR(check_dft_count(context, 3, "frame_length"));
    LEAT_RETURN_IF_ERROR(check_dft_flag(context.node(), "onesided", 1));
    const bool onesided = context.node().attr("onesided", int64_t{1}) != 0;
    const TypeInfo& signal = context.input(0);
    DimSpec batch = DimSpec::unknown();
    if (signal.dims) {
        if (signal.rank() != 2 && signal.rank() != 3) {
            return invalid_argument("the signal of a STFT has the wrong rank")
                .with_found(signal.to_string())
                .with_needed("[batch, length, 1 or 2], or [batch, length]");
        }
        LEAT_RETURN_IF_ERROR(signal.rank() == 3 ? dft_parts(signal).error() : Status());
        batch = (*signal.dims)[0];
    }
    LEAT_ASSIGN_OR_RETURN(const DimSpec length, stft_frame_length(context));
    LEAT_ASSIGN_OR_RETURN(const DimSpec frames, stft_frame_count(context, length));
    context.set_output(
        0, signal.dtype,
        Dims{batch, frames, onesided ? half_dft_spectrum(length) : length, DimSpec(2)});
    return {};
}

// A transform takes some 5 n log2(n) flops.
Cost dft_cost(const NodeData& /*node*/,
              std::span<const TensorArg> inputs,
              std::span<const TensorArg> outputs) {
    const auto elements = double(outputs[0].shape.element_count());
    return {5 * elements * std::log2(std::max(elements, 2.0)), moved_bytes(inputs, outputs)};
}

bool dft_gives_rows(const ShardArgs& args) {
    if (!rows_of_first_input(args) || !is_absent_or_known(args, 2)) {
        return false;
    }
    const TensorArg* given = find_arg(args.inputs, 2);
    const Result<int> axis =
        normalize_axis(given == nullptr ? -2 : read_ints(*given)[0], args.inputs[0].shape.rank());
    return axis.ok() && *axis != 0;
}

constexpr AttributeSchema kDftAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt, .before = 20},
    {.name = "inverse", .kind = AttributeKind::kInt},
    {.name = "onesided", .kind = AttributeKind::kInt},
};

constexpr AttributeSchema kStftAttributes[] = {
    {.name = "onesided", .kind = AttributeKind::kInt},
};

constexpr OpDef kDftOps[] = {
    {.name = "DFT",
     .max_inputs = 3,
     .attributes = kDftAttributes,
     .infer = infer_dft,
     .reference = dft_reference,
     .cost = dft_cost,
     .shape_inputs = 0b110,
     .gives_rows = dft_gives_rows},
    {.name = "STFT",
     .min_inputs = 2,
     .max_inputs = 4,
     .attributes = kStftAttributes,
     .infer = infer_stft,
     .reference = stft_reference,
     .cost = dft_cost,
     .shape_inputs = 0b1010,
     .gives_rows = rows_of_first_input},
};

}  // namespace

std::span<const OpDef> dft_ops() {
    return kDftOps;
}

}  // namespace leat
