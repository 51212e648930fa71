#include "ops/slice/slice.h"

#include <algorithm>
#include <numeric>

#include "base/transformed.h"
#include "graph/dim_symbol.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

using Ints = std::vector<int64_t>;

struct Operands {
    Ints starts;
    Ints ends;
    Ints axes;
    Ints steps;
};

Status check_counts(const Operands& operands) {
    const size_t count = operands.starts.size();
    if (operands.ends.size() != count || operands.axes.size() != count ||
        operands.steps.size() != count) {
        return invalid_argument("starts, ends, axes and steps have different lengths")
            .with_found(fmt::format("{}, {}, {}, {}", count, operands.ends.size(),
                                    operands.axes.size(), operands.steps.size()))
            .with_needed("one length");
    }
    for (const int64_t step : operands.steps) {
        if (step == 0) {
            return invalid_argument("a step of a slice is zero").with_needed("step != 0");
        }
    }
    return {};
}

Ints default_axes(size_t count) {
    Ints axes(count);
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

// The axes that are sliced, by axis of x; an error if they cannot be. nullopt: unknown.
Result<std::optional<std::vector<int>>> sliced_axes(const InferContext& context) {
    std::optional<Ints> axes;
    if (context.has_input(3)) {
        axes = context.ints(3);
    } else if (const int64_t count = known_length(context.input(1));
               count >= 0 && count <= kMaxRank) {
        axes = default_axes(size_t(count));
    }
    if (!axes) {
        return std::optional<std::vector<int>>();
    }
    LEAT_ASSIGN_OR_RETURN(std::vector<int> normal, normalize_axes(*axes, context.input(0).rank()));
    return std::optional<std::vector<int>>(std::move(normal));
}

// Element i of an operand: its value, if known.
std::optional<int64_t> element(const InferContext& context, int operand, size_t i) {
    if (const auto values = context.ints(operand); values && i < values->size()) {
        return (*values)[i];
    }
    const auto extents = context.extents(operand);
    if (extents && i < extents->size() && (*extents)[i].is_fixed()) {
        return (*extents)[i].extent();
    }
    return std::nullopt;
}

// Extent of a sliced axis.
Result<DimSpec> sliced_extent(const InferContext& context, size_t i, const DimSpec& dim) {
    const auto start = element(context, 1, i);
    const auto end = element(context, 2, i);
    const auto step = context.has_input(4) ? element(context, 4, i) : std::optional<int64_t>(1);
    if (step && *step == 0) {
        return invalid_argument("a step of a slice is zero").with_needed("step != 0");
    }
    if (start && end && step && dim.is_fixed()) {
        return DimSpec(clamp_slice(*start, *end, *step, dim.extent()).extent);
    }
    if (const auto starts = context.extents(1), ends = context.extents(2);
        step && *step == 1 && starts && ends && i < starts->size() && i < ends->size()) {
        if (const auto length = length_within((*starts)[i], (*ends)[i], dim)) {
            return DimSpec(*length);
        }
    }
    if (start && step && *start == 0 && *step == 1) {
        const auto ends = context.extents(2);
        const bool to_the_end =
            (end && *end >= INT32_MAX) ||
            (ends && i < ends->size() && same_dim((*ends)[i], dim) && !(*ends)[i].name().empty());
        if (to_the_end) {
            return dim;
        }
    }
    return DimSpec::unknown();
}

// Elements of a sliced shape vector.
void slice_extents(InferContext& context) {
    const auto all = context.extents(0);
    const auto start = element(context, 1, 0);
    const auto end = element(context, 2, 0);
    const auto step = context.has_input(4) ? element(context, 4, 0) : std::optional<int64_t>(1);
    if (!all || context.input(0).rank() != 1 || !start || !end || !step || *step == 0 ||
        known_length(context.input(1)) != 1) {
        return;
    }
    const SliceAxis axis = clamp_slice(*start, *end, *step, int64_t(all->size()));
    Dims kept;
    for (int64_t i = 0; i < axis.extent; ++i) {
        kept.push_back((*all)[size_t(axis.start + i * axis.step)]);
    }
    track_extents(context, 0, context.input(0).dtype, std::move(kept));
}

Status infer_slice(InferContext& context) {
    static constexpr std::string_view kNames[] = {"data", "starts", "ends", "axes", "steps"};
    for (int i = 1; i < context.input_count(); ++i) {
        if (context.has_input(i)) {
            LEAT_RETURN_IF_ERROR(check_index_type(context, i, kNames[i]));
        }
    }
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const auto axes, sliced_axes(context));
    if (!axes) {
        context.set_output(0, x.dtype, unknown_dims(x.rank()));
        return {};
    }
    for (int i = 1; i < context.input_count(); ++i) {
        const int64_t length = context.has_input(i) ? known_length(context.input(i)) : -1;
        if (length >= 0 && length != int64_t(axes->size())) {
            return invalid_argument("{} has a wrong length", kNames[i])
                .with_found(fmt::format("{}", length))
                .with_needed(fmt::format("{}, one for each axis", axes->size()));
        }
    }
    Dims dims = *x.dims;
    for (size_t i = 0; i < axes->size(); ++i) {
        DimSpec& dim = dims[size_t((*axes)[i])];
        LEAT_ASSIGN_OR_RETURN(dim, sliced_extent(context, i, dim));
    }
    if (axes->size() == 1) {
        slice_extents(context);
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

std::vector<CopiedBox> slice_boxes(const NodeData& /*node*/,
                                   std::span<const TensorArg> inputs,
                                   std::span<const TensorArg> /*outputs*/) {
    const bool is_known = std::all_of(inputs.begin() + 1, inputs.end(), [](const TensorArg& arg) {
        return !arg.present() || arg.data != nullptr || arg.shape.element_count() == 0;
    });
    if (!is_known) {
        return {};
    }
    const Result<std::vector<SliceAxis>> sliced = slice_axes(inputs);
    if (!sliced.ok()) {
        return {};
    }
    CopiedBox box;
    for (size_t axis = 0; axis < sliced->size(); ++axis) {
        const SliceAxis& along = (*sliced)[axis];
        if (along.step != 1 && along.extent > 1) {
            return {};
        }
        box.begin[axis] = along.start;
    }
    return {box};
}

// The ends may be the shard's own: starts, steps and the result's extents say what is read.
bool slice_gives_rows(const ShardArgs& args) {
    for (size_t i = 1; i < args.inputs.size(); ++i) {
        const bool is_end = i == 2;
        if (!is_absent_or_known(args, i) || args.parts[i] == ShardPart::kRows ||
            (!is_end && args.parts[i] == ShardPart::kOwn)) {
            return false;
        }
    }
    const Result<std::vector<SliceAxis>> sliced = slice_axes(args.inputs);
    return args.parts[0] == ShardPart::kRows && sliced.ok() && sliced->front().start == 0 &&
           sliced->front().step == 1 && sliced->front().extent == args.inputs[0].shape[0];
}

constexpr AttributeSchema kSliceAttributes[] = {
    {.name = "axes", .kind = AttributeKind::kInts, .before = 10},
    {.name = "ends", .kind = AttributeKind::kInts, .before = 10, .is_required = true},
    {.name = "starts", .kind = AttributeKind::kInts, .before = 10, .is_required = true},
};

constexpr OpDef kSliceOps[] = {
    {.name = "Slice",
     .min_inputs = 3,
     .max_inputs = 5,
     .attributes = kSliceAttributes,
     .infer = infer_slice,
     .reference = slice_reference,
     .shape_inputs = 0b11110,
     .copied_boxes = slice_boxes,
     .gives_rows = slice_gives_rows,
     .layout_rule = LayoutRule::kAgnostic},
};

}  // namespace

SliceAxis clamp_slice(int64_t start, int64_t end, int64_t step, int64_t extent) {
    const auto from_end = [extent](int64_t index) { return index < 0 ? index + extent : index; };
    // A negative step begins at most at the last element and ends at least before the first.
    const int64_t low = step > 0 ? 0 : -1;
    const int64_t high = step > 0 ? extent : extent - 1;
    const int64_t first =
        std::clamp(from_end(start), step > 0 ? low : int64_t{0}, std::max(high, int64_t{0}));
    const int64_t last = std::clamp(from_end(end), low, std::max(high, low));
    int64_t count = 0;
    if (extent > 0 && step > 0 && last > first) {
        count = (last - first - 1) / step + 1;
    } else if (extent > 0 && step < 0 && last < first) {
        // The smallest step has no negative.
        count = step == INT64_MIN ? 1 : (first - last - 1) / -step + 1;
    }
    return {first, step, count};
}

Result<std::vector<SliceAxis>> slice_axes(std::span<const TensorArg> inputs) {
    const Shape& x = inputs[0].shape;
    const Ints starts = read_ints(inputs[1]);
    const std::optional<Ints> axes = find_ints(inputs, 3);
    const std::optional<Ints> steps = find_ints(inputs, 4);
    const Operands operands{starts, read_ints(inputs[2]),
                            axes ? *axes : default_axes(starts.size()),
                            steps ? *steps : Ints(starts.size(), 1)};
    LEAT_RETURN_IF_ERROR(check_counts(operands));
    LEAT_ASSIGN_OR_RETURN(const std::vector<int> normal, normalize_axes(operands.axes, x.rank()));
    std::vector<SliceAxis> result = transformed(x.extents(), [](int64_t extent) {
        return SliceAxis{0, 1, extent};
    });
    for (size_t i = 0; i < normal.size(); ++i) {
        const int axis = normal[i];
        result[size_t(axis)] =
            clamp_slice(operands.starts[i], operands.ends[i], operands.steps[i], x[axis]);
    }
    return result;
}

std::span<const OpDef> slice_ops() {
    return kSliceOps;
}

}  // namespace leat
