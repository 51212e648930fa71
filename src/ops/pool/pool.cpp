#include "ops/pool/pool.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status pool_reference(const ReferenceArgs& args);

namespace {

bool is_global(const NodeData& node) {
    return node.op_type.rfind("Global", 0) == 0;
}

PoolKind kind_of(const NodeData& node) {
    if (node.op_type == "MaxPool" || node.op_type == "GlobalMaxPool") {
        return PoolKind::kMax;
    }
    return node.op_type == "LpPool" || node.op_type == "GlobalLpPool" ? PoolKind::kNorm
                                                                      : PoolKind::kAverage;
}

Result<double> read_p(const NodeData& node) {
    const double p = node.has_attr(kFractionalP) ? double(node.attr(kFractionalP, 2.0F))
                                                 : double(node.attr("p", int64_t{2}));
    if (!(p > 0 && std::isfinite(p))) {
        return invalid_argument("attribute 'p' makes no norm")
            .with_found(fmt::format("{}", p))
            .with_needed("a number > 0");
    }
    return p;
}

Status infer_pool(InferContext& context) {
    const NodeData& node = context.node();
    const DTypeSet types = node.op_type == "MaxPool" ? kFloatTypes | kByteTypes : kFloatTypes;
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, types, "X"));
    if (kind_of(node) == PoolKind::kNorm) {
        LEAT_RETURN_IF_ERROR(read_p(node).error());
    }
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        for (int i = 0; i < context.output_count(); ++i) {
            context.set_output(i, i == 0 ? x.dtype : DType::kInt64, std::nullopt);
        }
        return {};
    }
    if (x.rank() < 3) {
        return invalid_argument("input X has no spatial axes")
            .with_found(x.to_string())
            .with_needed("rank 3 or more: [n, c, spatial...]");
    }
    std::vector<DimSpec> dims = *x.dims;
    if (is_global(node)) {
        std::fill(dims.begin() + 2, dims.end(), DimSpec(int64_t{1}));
    } else {
        LEAT_ASSIGN_OR_RETURN(const Window window, Window::from_node(node));
        LEAT_RETURN_IF_ERROR(require_rank(context, 0, window.rank + 2, "X"));
        for (int axis = 0; axis < window.rank; ++axis) {
            LEAT_ASSIGN_OR_RETURN(dims[size_t(axis) + 2],
                                  window.output_dim(axis, (*x.dims)[size_t(axis) + 2]));
        }
    }
    for (int i = 0; i < context.output_count(); ++i) {
        context.set_output(i, i == 0 ? x.dtype : DType::kInt64, dims);
    }
    return {};
}

Cost pool_cost(const NodeData& node,
               std::span<const TensorArg> inputs,
               std::span<const TensorArg> outputs) {
    double taps = 1;
    if (const std::vector<int64_t>* kernel = node.ints("kernel_shape"); kernel != nullptr) {
        for (const int64_t extent : *kernel) {
            taps *= double(extent);
        }
        taps *= double(outputs[0].shape.element_count());
    } else {
        taps = double(inputs[0].shape.element_count());
    }
    return {taps, moved_bytes(inputs, outputs)};
}

// The indices of maxima count the elements of the images before, too.
bool pool_gives_rows(const ShardArgs& args) {
    const bool has_indices = find_arg(args.outputs, 1) != nullptr;
    return !has_indices && rows_of_first_input(args);
}

constexpr AttributeSchema kMaxPoolAttributes[] = {
    {.name = "auto_pad", .kind = AttributeKind::kString},
    {.name = "ceil_mode", .kind = AttributeKind::kInt, .since = 10},
    {.name = "dilations", .kind = AttributeKind::kInts, .since = 10},
    {.name = "kernel_shape", .kind = AttributeKind::kInts, .is_required = true},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "storage_order", .kind = AttributeKind::kInt, .since = 8},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr AttributeSchema kAveragePoolAttributes[] = {
    {.name = "auto_pad", .kind = AttributeKind::kString},
    {.name = "ceil_mode", .kind = AttributeKind::kInt, .since = 10},
    {.name = "count_include_pad", .kind = AttributeKind::kInt, .since = 7},
    {.name = "dilations", .kind = AttributeKind::kInts, .since = 19},
    {.name = "kernel_shape", .kind = AttributeKind::kInts, .is_required = true},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr AttributeSchema kLpPoolAttributes[] = {
    {.name = "auto_pad", .kind = AttributeKind::kString},
    {.name = "ceil_mode", .kind = AttributeKind::kInt, .since = 18},
    {.name = "dilations", .kind = AttributeKind::kInts, .since = 18},
    {.name = "kernel_shape", .kind = AttributeKind::kInts, .before = 2},
    {.name = "kernel_shape", .kind = AttributeKind::kInts, .since = 2, .is_required = true},
    {.name = kFractionalP, .kind = AttributeKind::kFloat, .since = kCanonicalOpset},
    {.name = "p", .kind = AttributeKind::kFloat, .before = 2},
    {.name = "p", .kind = AttributeKind::kInt, .since = 2},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr AttributeSchema kGlobalLpPoolAttributes[] = {
    {.name = kFractionalP, .kind = AttributeKind::kFloat, .since = kCanonicalOpset},
    {.name = "p", .kind = AttributeKind::kFloat, .before = 2},
    {.name = "p", .kind = AttributeKind::kInt, .since = 2},
};

}  // namespace

Result<PoolGeometry> PoolGeometry::make(const NodeData& node, const Shape& x, const Shape& y) {
    PoolGeometry geometry;
    geometry.kind = kind_of(node);
    geometry.batch = x[0];
    geometry.channels = x[1];
    geometry.count_include_pad = node.attr("count_include_pad", int64_t{0}) != 0;
    if (geometry.kind == PoolKind::kNorm) {
        LEAT_ASSIGN_OR_RETURN(geometry.p, read_p(node));
    }
    if (is_global(node)) {  // any number of spatial axes, as one
        geometry.window.input[2] = x.element_count(2, x.rank());
        geometry.window.kernel[2] = geometry.window.input[2];
        return geometry;
    }
    LEAT_ASSIGN_OR_RETURN(const Window window, Window::from_node(node));
    geometry.window = WindowGeometry::make(window, x, y);
    return geometry;
}

int64_t PoolGeometry::axis_divisor(int axis, int64_t o) const {
    if (!count_include_pad) {
        return taps(axis, o).count();
    }
    const auto a = size_t(axis);
    const int64_t padded = window.pad_begin[a] + window.input[a] + window.pad_end[a];
    return taps_inside(o * window.stride[a], window.dilation[a], window.kernel[a], padded).count();
}

std::span<const OpDef> pool_ops() {
    static const std::array<OpDef, 6> kOps = [] {
        std::array<OpDef, 6> table{};
        table[0].name = "MaxPool";
        table[0].max_outputs = 2;
        table[0].attributes = kMaxPoolAttributes;
        table[1].name = "AveragePool";
        table[1].attributes = kAveragePoolAttributes;
        table[2].name = "GlobalMaxPool";
        table[3].name = "GlobalAveragePool";
        table[4].name = "LpPool";
        table[4].attributes = kLpPoolAttributes;
        table[5].name = "GlobalLpPool";
        table[5].attributes = kGlobalLpPoolAttributes;
        for (OpDef& op : table) {
            op.infer = infer_pool;
            op.reference = pool_reference;
            op.cost = pool_cost;
            op.gives_rows = pool_gives_rows;
            op.layout_rule = LayoutRule::kChannelsLastPreferred;
        }
        // Only the reference kernel runs them.
        table[4].layout_rule = table[5].layout_rule = LayoutRule::kRowMajorOnly;
        return table;
    }();
    return kOps;
}

}  // namespace leat
