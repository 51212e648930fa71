#include "partition/split/split_axes.h"

#include <algorithm>
#include <utility>

#include "ops/conv/conv.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

std::optional<Shape> fixed_shape(const GraphData& graph, ValueId id) {
    const TypeInfo* type = id.valid() ? &graph.value(id).type : nullptr;
    return type != nullptr && type->is_tensor() ? type->fixed_shape() : std::nullopt;
}

bool has_whole_bytes(const GraphData& graph, ValueId id) {
    const DType dtype = graph.value(id).type.dtype;
    return dtype != DType::kString && bits_of(dtype) >= 8;
}

// Tensors of fixed shapes and whole bytes, one result, nothing inside.
bool may_be_divided(const GraphData& graph, const NodeData& node) {
    const auto is_fixed = [&graph](ValueId id) {
        return !id.valid() || (fixed_shape(graph, id) && has_whole_bytes(graph, id));
    };
    return !node.dead && node.def != nullptr && !node.def->nondeterministic && !node.def->is_view &&
           node.epilogue.empty() && !node.has_bodies() && node.outputs.size() == 1 &&
           node.outputs[0].valid() &&
           std::all_of(node.inputs.begin(), node.inputs.end(), is_fixed) &&
           is_fixed(node.outputs[0]);
}

TensorArg arg_of_value(const GraphData& graph, ValueId id) {
    if (!id.valid()) {
        return {};
    }
    const ValueData& value = graph.value(id);
    return row_major_arg(value.type.dtype, *value.type.fixed_shape(),
                         value.constant ? value.constant->bytes() : nullptr);
}

bool has_extent(const GraphData& graph, ValueId id, int axis, int64_t extent) {
    const std::optional<Shape> shape = fixed_shape(graph, id);
    return shape && axis < shape->rank() && (*shape)[axis] == extent;
}

// The operator's own rule for axis 0, for the operands that may have rows of their own: all that
// have as many, all but the second, or the first alone.
std::optional<SplitAxis> axis_of_rows(const GraphData& graph, const NodeData& node) {
    const Shape result = *fixed_shape(graph, node.outputs[0]);
    if (node.def->gives_rows == nullptr || result.rank() == 0 || node.inputs.empty()) {
        return std::nullopt;
    }
    const TensorArg output = arg_of_value(graph, node.outputs[0]);
    std::vector<TensorArg> inputs;
    std::vector<bool> has_rows;
    for (const ValueId id : node.inputs) {
        inputs.push_back(arg_of_value(graph, id));
        has_rows.push_back(id.valid() && fixed_shape(graph, id)->rank() == result.rank() &&
                           has_extent(graph, id, 0, result[0]));
    }
    // Of a product with a vector the matrix has another rank than the result.
    const bool has_first = has_extent(graph, node.inputs[0], 0, result[0]);
    const auto is_divided = [&](int attempt, size_t i) {
        return i == 0 && attempt == 3
                   ? has_first
                   : has_rows[i] && (attempt == 0 || i == 0 || (attempt == 1 && i != 1));
    };
    for (int attempt = 0; attempt < 4; ++attempt) {
        SplitAxis axis{result.rank() < 3 ? "rows" : "batch", 0, result[0], {}};
        std::vector<ShardPart> parts;
        for (size_t i = 0; i < inputs.size(); ++i) {
            const bool is_own = is_divided(attempt, i);
            parts.push_back(is_own ? ShardPart::kRows : ShardPart::kWhole);
            axis.input_axes.push_back(is_own ? 0 : kWholeOperand);
        }
        if (node.def->gives_rows({node, inputs, {&output, 1}, parts})) {
            return axis;
        }
    }
    return std::nullopt;
}

// Columns of the result are columns of the second operand.
std::optional<SplitAxis> matmul_columns(const GraphData& graph, const NodeData& node) {
    const Shape result = *fixed_shape(graph, node.outputs[0]);
    const Shape b = *fixed_shape(graph, node.inputs[1]);
    if (b.rank() < 2) {
        return std::nullopt;
    }
    const int last = result.rank() - 1;
    return SplitAxis{"columns", last, result[last], {kWholeOperand, b.rank() - 1}};
}

// Rows of the matrices of a batch.
std::optional<SplitAxis> matmul_rows(const GraphData& graph, const NodeData& node) {
    const Shape result = *fixed_shape(graph, node.outputs[0]);
    const Shape a = *fixed_shape(graph, node.inputs[0]);
    const Shape b = *fixed_shape(graph, node.inputs[1]);
    if (result.rank() < 3 || a.rank() < 2 || b.rank() < 2) {
        return std::nullopt;
    }
    const int rows = result.rank() - 2;
    return SplitAxis{"rows", rows, result[rows], {a.rank() - 2, kWholeOperand}};
}

// The axis of C that runs along `result_axis` of a [m, n] result.
int axis_of_c(const GraphData& graph, const NodeData& node, int result_axis, int64_t extent) {
    const Shape c = *fixed_shape(graph, node.inputs[2]);
    const int axis = c.rank() - 2 + result_axis;
    return axis >= 0 && c[axis] == extent && extent > 1 ? axis : kWholeOperand;
}

// Rows for axis 0 of the result, columns for axis 1.
template <int kResultAxis>
std::optional<SplitAxis> gemm_axis(const GraphData& graph, const NodeData& node) {
    const Shape result = *fixed_shape(graph, node.outputs[0]);
    const bool is_rows = kResultAxis == 0;
    const bool is_transposed = node.attr(is_rows ? "transA" : "transB", int64_t{0}) != 0;
    const int operand_axis = is_transposed ? 1 - kResultAxis : kResultAxis;
    SplitAxis axis{is_rows ? "rows" : "columns", kResultAxis, result[kResultAxis], {}};
    axis.input_axes = is_rows ? std::vector<int>{operand_axis, kWholeOperand}
                              : std::vector<int>{kWholeOperand, operand_axis};
    if (node.inputs.size() > 2) {
        axis.input_axes.push_back(node.inputs[2].valid()
                                      ? axis_of_c(graph, node, kResultAxis, axis.extent)
                                      : kWholeOperand);
    }
    return axis;
}

// Of all input channels, as it is. Groups would be divided, too.
bool has_one_filter_each(const NodeData& node) {
    return node.attr("group", int64_t{1}) == 1 && weight_scale(node).empty();
}

// Output channels, each of which has a filter of its own.
std::optional<SplitAxis> conv_channels(const GraphData& graph, const NodeData& node) {
    if (!has_one_filter_each(node)) {
        return std::nullopt;
    }
    SplitAxis axis{"channels", 1, (*fixed_shape(graph, node.outputs[0]))[1], {kWholeOperand, 0}};
    if (node.inputs.size() > 2) {
        axis.input_axes.push_back(node.inputs[2].valid() ? 0 : kWholeOperand);
    }
    return axis;
}

// Whether summands of the result have the precision of the result.
bool keeps_summands(DType dtype) {
    return bits_of(dtype) >= 32 && contains(kNumericTypes, dtype);
}

// Of shards that each reduce a range of `extent` indices.
std::optional<SplitAxis> summed_axis(const GraphData& graph,
                                     const NodeData& node,
                                     std::string_view name,
                                     int64_t extent,
                                     std::vector<int> input_axes) {
    const DType dtype = graph.value(node.outputs[0]).type.dtype;
    if (!keeps_summands(dtype)) {
        return std::nullopt;
    }
    return SplitAxis{name, kSummed, extent, std::move(input_axes), contains(kFloatTypes, dtype)};
}

// Zero points of a product of integers stay whole.
std::optional<SplitAxis> matmul_inner(const GraphData& graph, const NodeData& node) {
    const Shape a = *fixed_shape(graph, node.inputs[0]);
    const Shape b = *fixed_shape(graph, node.inputs[1]);
    std::vector<int> input_axes(node.inputs.size(), kWholeOperand);
    input_axes[0] = a.rank() - 1;
    input_axes[1] = std::max(b.rank() - 2, 0);
    return summed_axis(graph, node, "inner", a[a.rank() - 1], std::move(input_axes));
}

// Of integers the product with alpha would be rounded in each summand.
std::optional<SplitAxis> gemm_inner(const GraphData& graph, const NodeData& node) {
    if (!contains(kFloatTypes, graph.value(node.outputs[0]).type.dtype)) {
        return std::nullopt;
    }
    const int a_axis = node.attr("transA", int64_t{0}) != 0 ? 0 : 1;
    const int b_axis = node.attr("transB", int64_t{0}) != 0 ? 1 : 0;
    std::vector<int> input_axes = {a_axis, b_axis};
    input_axes.resize(node.inputs.size(), kFirstShardOnly);
    return summed_axis(graph, node, "inner", (*fixed_shape(graph, node.inputs[0]))[a_axis],
                       std::move(input_axes));
}

std::optional<SplitAxis> conv_input_channels(const GraphData& graph, const NodeData& node) {
    if (!has_one_filter_each(node)) {
        return std::nullopt;
    }
    std::vector<int> input_axes = {1, 1};
    input_axes.resize(node.inputs.size(), kFirstShardOnly);
    return summed_axis(graph, node, "input channels", (*fixed_shape(graph, node.inputs[0]))[1],
                       std::move(input_axes));
}

// Axes that OpDef::gives_rows does not speak of.
struct SplitRule {
    std::string_view op_type;
    std::optional<SplitAxis> (*find)(const GraphData& graph, const NodeData& node);
};
constexpr SplitRule kSplitRules[] = {
    {"MatMul", matmul_rows}, {"MatMul", matmul_columns},    {"MatMul", matmul_inner},
    {"Gemm", gemm_axis<0>},  {"Gemm", gemm_axis<1>},        {"Gemm", gemm_inner},
    {"Conv", conv_channels}, {"Conv", conv_input_channels}, {"MatMulInteger", matmul_inner},
};

}  // namespace

TypeInfo with_extent(TypeInfo type, int axis, int64_t extent) {
    if (axis >= 0) {
        (*type.dims)[size_t(axis)] = DimSpec(extent);
    }
    return type;
}

bool infers_shard(const GraphData& graph,
                  const NodeData& node,
                  const SplitAxis& axis,
                  int64_t extent) {
    std::vector<ValueFact> facts(node.inputs.size());
    std::vector<const ValueFact*> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!node.inputs[i].valid()) {
            inputs.push_back(nullptr);
            continue;
        }
        const ValueData& value = graph.value(node.inputs[i]);
        facts[i].type = with_extent(value.type, axis.input_axes[i], extent);
        if (axis.input_axes[i] < 0) {
            facts[i].value = value.constant;
        }
        inputs.push_back(&facts[i]);
    }
    std::vector<ValueFact> outputs(1);
    const TypeInfo& whole = graph.value(node.outputs[0]).type;
    const TypeInfo expected = with_extent(whole, axis.result_axis, extent);
    return infer_node(node, inputs, outputs).ok() && outputs[0].type.is_tensor() &&
           outputs[0].type.dtype == expected.dtype &&
           outputs[0].type.fixed_shape() == expected.fixed_shape();
}

std::vector<SplitAxis> split_axes(const GraphData& graph, const NodeData& node) {
    std::vector<SplitAxis> axes;
    if (!may_be_divided(graph, node)) {
        return axes;
    }
    const auto add = [&](std::optional<SplitAxis> axis) {
        const bool is_new =
            axis && std::none_of(axes.begin(), axes.end(), [&axis](const SplitAxis& known) {
                return known.result_axis == axis->result_axis;
            });
        if (is_new && axis->extent > 1 && infers_shard(graph, node, *axis, axis->extent / 2)) {
            axes.push_back(*std::move(axis));
        }
    };
    add(axis_of_rows(graph, node));
    for (const SplitRule& rule : kSplitRules) {
        if (node.domain.empty() && node.op_type == rule.op_type) {
            add(rule.find(graph, node));
        }
    }
    return axes;
}

}  // namespace leat
