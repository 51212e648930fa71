#include "ops/split/split.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/movement/boxes.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

// Extents of the outputs along the axis.
Result<Dims> part_extents(const InferContext& context, const DimSpec& whole) {
    const int count = context.output_count();
    if (context.has_input(1)) {
        const auto values = context.ints(1);
        const auto parts = values ? Dims(values->begin(), values->end())
                                  : context.extents(1).value_or(unknown_dims(count));
        if (int(parts.size()) != count) {
            return invalid_argument("split must have an extent for each output")
                .with_found(fmt::format("{} extents", parts.size()))
                .with_needed(fmt::format("{}", count));
        }
        if (values && whole.is_fixed()) {
            int64_t sum = 0;
            for (const int64_t part : *values) {
                // Each part lies within the whole, so that the sum cannot overflow.
                sum = part < 0 || part > whole.extent() || sum < 0 ? -1 : sum + part;
            }
            if (sum != whole.extent()) {
                return invalid_argument("the extents of split do not sum to the axis")
                    .with_found(fmt::format("[{}]", fmt::join(*values, ",")))
                    .with_needed(fmt::format("extents >= 0 with sum {}", whole.extent()));
            }
        }
        return parts;
    }
    const int64_t wanted = context.node().attr("num_outputs", int64_t{count});
    if (wanted != count) {
        return invalid_argument("num_outputs does not match the outputs")
            .with_found(fmt::format("{}", wanted))
            .with_needed(fmt::format("{}", count));
    }
    Dims dims = unknown_dims(count);
    if (whole.is_fixed()) {
        const int64_t each = (whole.extent() + count - 1) / count;
        for (int i = 0; i < count; ++i) {
            dims[size_t(i)] = DimSpec(std::clamp(whole.extent() - each * i, int64_t{0}, each));
        }
    } else if (count == 1) {
        dims[0] = whole;
    }
    return dims;
}

Status infer_split(InferContext& context) {
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        for (int i = 0; i < context.output_count(); ++i) {
            context.set_output(i, x.dtype, std::nullopt);
        }
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), x.rank()));
    LEAT_ASSIGN_OR_RETURN(const Dims parts, part_extents(context, (*x.dims)[size_t(axis)]));
    const auto extents = x.rank() == 1 && all_fixed(parts) ? context.extents(0) : std::nullopt;
    int64_t begin = 0;
    for (int i = 0; i < context.output_count(); ++i) {
        Dims dims = *x.dims;
        dims[size_t(axis)] = parts[size_t(i)];
        context.set_output(i, x.dtype, std::move(dims));
        if (extents) {
            const int64_t end =
                std::min(begin + parts[size_t(i)].extent(), int64_t(extents->size()));
            track_extents(context, i, x.dtype,
                          Dims(extents->begin() + begin, extents->begin() + end));
            begin = end;
        }
    }
    return {};
}

std::vector<CopiedBox> split_boxes(const NodeData& node,
                                   std::span<const TensorArg> /*inputs*/,
                                   std::span<const TensorArg> outputs) {
    return boxes_along(node.attr("axis", int64_t{0}), outputs, /*is_output_whole=*/false);
}

constexpr AttributeSchema kSplitAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "num_outputs", .kind = AttributeKind::kInt, .since = 18},
    {.name = "split", .kind = AttributeKind::kInts, .before = 13},
};

constexpr OpDef kSplitOps[] = {
    {.name = "Split",
     .max_inputs = 2,
     .max_outputs = -1,
     .named_outputs = 0,
     .attributes = kSplitAttributes,
     .infer = infer_split,
     .reference = split_reference,
     .shape_inputs = 0b10,
     .copied_boxes = split_boxes,
     .gives_rows = rows_unless_along_axis_0<0>,
     .layout_rule = LayoutRule::kAgnostic},
};

}  // namespace

std::span<const OpDef> split_ops() {
    return kSplitOps;
}

}  // namespace leat
