#include "ops/pad/pad.h"

#include <numeric>

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/slice/slice.h"

namespace leat {
namespace {

Result<DimSpec> padded_extent(const DimSpec& dim, const PadAxis& pad, PadMode mode, size_t axis) {
    int64_t grown = 0;
    if (__builtin_add_overflow(pad.before, pad.after, &grown)) {
        return invalid_argument("the pads of axis {} are too large", axis)
            .with_found(fmt::format("{} and {}", pad.before, pad.after));
    }
    if (!dim.is_fixed()) {
        if (grown == 0) {
            return dim;
        }
        return grown > 0 ? add_dims(dim, DimSpec(grown)) : DimSpec::unknown();
    }
    int64_t extent = 0;
    if (__builtin_add_overflow(dim.extent(), grown, &extent) || extent < 0) {
        return invalid_argument("axis {} cannot be padded so", axis)
            .with_found(
                fmt::format("extent {}, pads {} and {}", dim.extent(), pad.before, pad.after))
            .with_needed("a result with an extent >= 0");
    }
    if (dim.extent() == 0 && extent > 0 && mode != PadMode::kConstant) {
        return invalid_argument("axis {} is empty, so there is no element to repeat", axis)
            .with_found(fmt::format("pads {} and {}", pad.before, pad.after))
            .with_needed("mode constant, or no pads");
    }
    return DimSpec(extent);
}

// Extents if the pads are not known: axes that are surely not padded stay.
Dims partly_known(const InferContext& context) {
    const TypeInfo& x = context.input(0);
    const auto axes = context.has_input(3) ? context.ints(3) : std::nullopt;
    if (!axes) {
        return unknown_dims(x.rank());
    }
    Dims dims = *x.dims;
    for (const int64_t axis : *axes) {
        if (const auto normal = normalize_axis(axis, x.rank()); normal.ok()) {
            dims[size_t(*normal)] = DimSpec::unknown();
        }
    }
    return dims;
}

Status infer_pad(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "pads"));
    LEAT_ASSIGN_OR_RETURN(const PadMode mode, pad_mode(context.node()));
    const TypeInfo& x = context.input(0);
    if (context.has_input(2) && context.input(2).dtype != x.dtype) {
        return invalid_argument("the constant has another type than the data")
            .with_found(std::string(name_of(context.input(2).dtype)))
            .with_needed(std::string(name_of(x.dtype)));
    }
    if (!x.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    const auto pads = context.ints(1);
    const auto axes = context.has_input(3) ? context.ints(3) : std::nullopt;
    if (!pads || (context.has_input(3) && !axes)) {
        context.set_output(0, x.dtype, partly_known(context));
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<PadAxis> all,
                          pad_axes(x.rank(), *pads, axes ? &*axes : nullptr));
    Dims dims = *x.dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) {
        LEAT_ASSIGN_OR_RETURN(dims[axis], padded_extent(dims[axis], all[axis], mode, axis));
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

bool pad_gives_rows(const ShardArgs& args) {
    if (!rows_of_first_input(args) || !is_absent_or_known(args, 1) ||
        !is_absent_or_known(args, 3)) {
        return false;
    }
    const auto padded = pad_axes(args.inputs);
    return padded.ok() && padded->front().before == 0 && padded->front().after == 0;
}

constexpr AttributeSchema kPadAttributes[] = {
    {.name = "mode", .kind = AttributeKind::kString},
    {.name = "paddings", .kind = AttributeKind::kInts, .before = 2, .is_required = true},
    {.name = "pads", .kind = AttributeKind::kInts, .since = 2, .before = 11, .is_required = true},
    {.name = "value", .kind = AttributeKind::kFloat, .before = 11},
};

constexpr OpDef kPadOps[] = {
    {.name = "Pad",
     .min_inputs = 2,
     .max_inputs = 4,
     .attributes = kPadAttributes,
     .infer = infer_pad,
     .reference = pad_reference,
     .shape_inputs = 0b1010,
     .gives_rows = pad_gives_rows,
     .layout_rule = LayoutRule::kAgnostic},
};

}  // namespace

Result<PadMode> pad_mode(const NodeData& node) {
    const std::string mode = node.attr("mode", "constant");
    if (mode == "constant") {
        return PadMode::kConstant;
    }
    if (mode == "edge") {
        return PadMode::kEdge;
    }
    if (mode == "reflect") {
        return PadMode::kReflect;
    }
    if (mode == "wrap") {
        return PadMode::kWrap;
    }
    return invalid_argument("attribute mode has no such value")
        .with_found(mode)
        .with_needed("constant, edge, reflect or wrap");
}

Result<std::vector<PadAxis>> pad_axes(int rank,
                                      const std::vector<int64_t>& pads,
                                      const std::vector<int64_t>* axes) {
    std::vector<int> normal(static_cast<size_t>(rank));
    std::iota(normal.begin(), normal.end(), 0);
    if (axes != nullptr) {
        LEAT_ASSIGN_OR_RETURN(normal, normalize_axes(*axes, rank));
    }
    if (pads.size() != 2 * normal.size()) {
        return invalid_argument("pads has a wrong length")
            .with_found(fmt::format("{}", pads.size()))
            .with_needed(fmt::format("{}, two for each axis", 2 * normal.size()));
    }
    std::vector<PadAxis> result(static_cast<size_t>(rank));
    for (size_t i = 0; i < normal.size(); ++i) {
        result[size_t(normal[i])] = {pads[i], pads[i + normal.size()]};
    }
    return result;
}

Result<std::vector<PadAxis>> pad_axes(std::span<const TensorArg> inputs) {
    const auto axes = find_ints(inputs, 3);
    return pad_axes(inputs[0].shape.rank(), read_ints(inputs[1]), axes ? &*axes : nullptr);
}

int64_t pad_source(PadMode mode, int64_t index, int64_t extent) {
    if (index >= 0 && index < extent) {
        return index;
    }
    switch (mode) {
        case PadMode::kConstant:
            return -1;
        case PadMode::kEdge:
            return index < 0 ? 0 : extent - 1;
        case PadMode::kWrap:
            return (index % extent + extent) % extent;
        case PadMode::kReflect:
            break;
    }
    if (extent == 1) {
        return 0;
    }
    const int64_t period = 2 * (extent - 1);
    const int64_t phase = (index % period + period) % period;
    return phase < extent ? phase : period - phase;
}

std::span<const OpDef> pad_ops() {
    return kPadOps;
}

}  // namespace leat
