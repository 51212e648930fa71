#include "partition/operator_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "ops/conv/conv.h"

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
           node.epilogue.empty() && node.subgraphs.empty() && node.outputs.size() == 1 &&
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

std::optional<SplitAxis> gemm_axis(const GraphData& graph, const NodeData& node, int result_axis) {
    const Shape result = *fixed_shape(graph, node.outputs[0]);
    const bool is_rows = result_axis == 0;
    const bool is_transposed = node.attr(is_rows ? "transA" : "transB", int64_t{0}) != 0;
    const int operand_axis = is_transposed ? 1 - result_axis : result_axis;
    SplitAxis axis{is_rows ? "rows" : "columns", result_axis, result[result_axis], {}};
    axis.input_axes = is_rows ? std::vector<int>{operand_axis, kWholeOperand}
                              : std::vector<int>{kWholeOperand, operand_axis};
    if (node.inputs.size() > 2) {
        axis.input_axes.push_back(node.inputs[2].valid()
                                      ? axis_of_c(graph, node, result_axis, axis.extent)
                                      : kWholeOperand);
    }
    return axis;
}
std::optional<SplitAxis> gemm_rows(const GraphData& graph, const NodeData& node) {
    return gemm_axis(graph, node, 0);
}
std::optional<SplitAxis> gemm_columns(const GraphData& graph, const NodeData& node) {
    return gemm_axis(graph, node, 1);
}

// Output channels, each of which has a filter of its own. Groups would be divided, too.
std::optional<SplitAxis> conv_channels(const GraphData& graph, const NodeData& node) {
    if (node.attr("group", int64_t{1}) != 1 || !weight_scale(node).empty()) {
        return std::nullopt;
    }
    SplitAxis axis{"channels", 1, (*fixed_shape(graph, node.outputs[0]))[1], {kWholeOperand, 0}};
    if (node.inputs.size() > 2) {
        axis.input_axes.push_back(node.inputs[2].valid() ? 0 : kWholeOperand);
    }
    return axis;
}

// Axes that OpDef::gives_rows does not speak of.
struct SplitRule {
    std::string_view op_type;
    std::optional<SplitAxis> (*find)(const GraphData& graph, const NodeData& node);
};
constexpr SplitRule kRules[] = {
    {"MatMul", matmul_rows}, {"MatMul", matmul_columns}, {"Gemm", gemm_rows},
    {"Gemm", gemm_columns},  {"Conv", conv_channels},
};

TypeInfo with_extent(TypeInfo type, int axis, int64_t extent) {
    if (axis != kWholeOperand) {
        (*type.dims)[size_t(axis)] = DimSpec(extent);
    }
    return type;
}

// The operator itself says what a shard of so many indices gives: attributes and operands that hold
// extents (Expand) may still speak of the whole.
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
        if (axis.input_axes[i] == kWholeOperand) {
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

// Elements [begin, end) of an axis.
struct Range {
    int64_t begin = 0;
    int64_t end = 0;
};

bool is_contiguous(const Shape& shape, int axis) {
    return shape.element_count(0, axis) == 1;
}

Result<Tensor> range_of(const Tensor& whole, int axis, const Range& range) {
    Shape shape = whole.shape();
    const int64_t element_bytes = bits_of(whole.dtype()) / 8;
    const int64_t step_bytes = shape.element_count(axis + 1, shape.rank()) * element_bytes;
    const int64_t outer_bytes = shape[axis] * step_bytes;
    const int64_t outer_count = shape.element_count(0, axis);
    shape[axis] = range.end - range.begin;
    const std::byte* from = whole.bytes() + range.begin * step_bytes;
    if (outer_count == 1) {
        return Tensor::view(whole.dtype(), shape, from, whole.owner());
    }
    LEAT_ASSIGN_OR_RETURN(Tensor part, Tensor::allocate(whole.dtype(), shape));
    const int64_t part_bytes = shape[axis] * step_bytes;
    for (int64_t outer = 0; outer < outer_count; ++outer) {
        std::memcpy(part.mutable_bytes() + outer * part_bytes, from + outer * outer_bytes,
                    size_t(part_bytes));
    }
    return part;
}

class Splitter {
  public:
    explicit Splitter(const GraphData& graph) : graph_(graph) {
        for (const NodeData& node : graph.nodes) {
            names_.insert(node.name);
        }
    }

    Status split(const NodeSplit& split, int32_t index) {
        std::vector<ValueId> results;
        int64_t begin = 0;
        for (size_t shard = 0; shard < split.extents.size(); ++shard) {
            const Range range{begin, begin + split.extents[shard]};
            LEAT_ASSIGN_OR_RETURN(const ValueId result,
                                  add_shard(split, index, int32_t(shard), range));
            results.push_back(result);
            begin = range.end;
        }
        join(split, index, std::move(results));
        return {};
    }

    SplitGraph take() {
        graph_.compact();
        SplitGraph result{std::move(graph_), {}};
        for (const NodeData& node : result.graph.nodes) {
            const auto piece = pieces_.find(node.name);
            result.pieces.push_back(piece == pieces_.end() ? SplitPiece() : piece->second);
        }
        return result;
    }

  private:
    std::string fresh_node_name(std::string name) {
        while (!names_.insert(name).second) {
            name += '_';
        }
        return name;
    }

    NodeData& add_node(NodeData node, std::string name, ValueId result, const SplitPiece& piece) {
        node.name = fresh_node_name(std::move(name));
        node.outputs = {result};
        graph_.value(result).producer = {graph_.node_count()};
        graph_.value(result).output_index = 0;
        pieces_.emplace(node.name, piece);
        graph_.nodes.push_back(std::move(node));
        return graph_.nodes.back();
    }

    ValueId add_index(int64_t index) {
        const auto known = indices_.find(index);
        if (known != indices_.end()) {
            return known->second;
        }
        Result<Tensor> tensor = Tensor::from<int64_t>(Shape{1}, std::vector<int64_t>{index});
        const ValueId id =
            tensor.ok() ? graph_.add_constant(graph_.fresh_name(fmt::format("index_{}", index)),
                                              *std::move(tensor))
                        : ValueId();
        indices_.emplace(index, id);
        return id;
    }

    // The shard's result that has all of the range, which then waits for no other one.
    std::optional<std::pair<Range, ValueId>> shard_with(ValueId id,
                                                        int axis,
                                                        const Range& range) const {
        const auto shards = shards_.find({id.index, axis});
        if (shards == shards_.end()) {
            return std::nullopt;
        }
        for (const auto& [of_shard, result] : shards->second) {
            if (of_shard.begin <= range.begin && range.end <= of_shard.end) {
                return std::pair(of_shard, result);
            }
        }
        return std::nullopt;
    }

    // The range of a value: of a constant a constant, of a divided value its piece, else a slice.
    Result<ValueId> piece_of(
        ValueId id, int axis, const Range& range, const SplitAxis& way, int32_t split) {
        const auto key = std::make_tuple(id.index, axis, range.begin, range.end);
        if (const auto known = ranges_.find(key); known != ranges_.end()) {
            return known->second;
        }
        if (const auto shard = shard_with(id, axis, range); shard) {
            const auto& [of_shard, result] = *shard;
            LEAT_ASSIGN_OR_RETURN(
                const ValueId piece,
                piece_of(result, axis, {range.begin - of_shard.begin, range.end - of_shard.begin},
                         way, split));
            ranges_.emplace(key, piece);
            return piece;
        }
        const ValueData whole = graph_.value(id);
        const std::string name =
            fmt::format("{}/{}_{}_{}", whole.name, way.name, range.begin, range.end);
        const TypeInfo type = with_extent(whole.type, axis, range.end - range.begin);
        ValueId piece;
        if (whole.constant) {
            LEAT_ASSIGN_OR_RETURN(Tensor part, range_of(*whole.constant, axis, range));
            piece = graph_.add_constant(graph_.fresh_name(name), std::move(part));
            graph_.value(piece).type = type;
        } else {
            piece = graph_.add_value(graph_.fresh_name(name), type);
            NodeData slice;
            slice.op_type = "Slice";
            slice.def = find_op("", "Slice");
            slice.inputs = {id, add_index(range.begin), add_index(range.end), add_index(axis)};
            if (!slice.inputs[1].valid() || !slice.inputs[2].valid() || !slice.inputs[3].valid()) {
                return out_of_memory("no memory for the ends of a slice");
            }
            add_node(std::move(slice), name, piece,
                     {SplitPiece::Role::kSlice, split, -1,
                      is_contiguous(*whole.type.fixed_shape(), axis)});
        }
        ranges_.emplace(key, piece);
        return piece;
    }

    Result<ValueId> add_shard(const NodeSplit& split,
                              int32_t index,
                              int32_t shard,
                              const Range& range) {
        NodeData node = graph_.node(split.node);
        if (!infers_shard(graph_, node, split.axis, range.end - range.begin)) {
            return unsupported("{} cannot run on {} {} to {} alone", node.label(), split.axis.name,
                               range.begin, range.end);
        }
        node.device_configurations.clear();
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const int axis = split.axis.input_axes[i];
            if (axis != kWholeOperand) {
                LEAT_ASSIGN_OR_RETURN(node.inputs[i],
                                      piece_of(node.inputs[i], axis, range, split.axis, index));
            }
        }
        const ValueId whole = node.outputs[0];
        const TypeInfo type =
            with_extent(graph_.value(whole).type, split.axis.result_axis, range.end - range.begin);
        const std::string suffix =
            fmt::format("/{}_{}_{}", split.axis.name, range.begin, range.end);
        const ValueId result =
            graph_.add_value(graph_.fresh_name(graph_.value(whole).name + suffix), type);
        const std::string name = node.name + suffix;
        add_node(std::move(node), name, result, {SplitPiece::Role::kShard, index, shard, false});
        ranges_.emplace(
            std::make_tuple(whole.index, split.axis.result_axis, range.begin, range.end), result);
        shards_[{whole.index, split.axis.result_axis}].emplace_back(range, result);
        return result;
    }

    // The join has the result that the whole node had.
    void join(const NodeSplit& split, int32_t index, std::vector<ValueId> results) {
        const ValueId whole = graph_.node(split.node).outputs[0];
        const std::string name = graph_.node(split.node).name + "/joined";
        const Shape shape = *graph_.value(whole).type.fixed_shape();
        graph_.node(split.node).outputs.clear();
        graph_.node(split.node).dead = true;
        NodeData concat;
        concat.op_type = "Concat";
        concat.def = find_op("", "Concat");
        concat.inputs = std::move(results);
        concat.attributes.emplace("axis", int64_t{split.axis.result_axis});
        add_node(
            std::move(concat), name, whole,
            {SplitPiece::Role::kConcat, index, -1, is_contiguous(shape, split.axis.result_axis)});
    }

    GraphData graph_;
    std::set<std::string> names_;               // of nodes
    std::map<std::string, SplitPiece> pieces_;  // by node
    std::map<int64_t, ValueId> indices_;        // constants with one element
    // By value and axis.
    std::map<std::pair<int32_t, int>, std::vector<std::pair<Range, ValueId>>> shards_;
    // By value, axis, begin and end.
    std::map<std::tuple<int32_t, int, int64_t, int64_t>, ValueId> ranges_;
};

}  // namespace

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
    for (const SplitRule& rule : kRules) {
        if (node.domain.empty() && node.op_type == rule.op_type) {
            add(rule.find(graph, node));
        }
    }
    return axes;
}

Result<SplitGraph> split_operators(const GraphData& graph, std::span<const NodeSplit> splits) {
    Splitter splitter(graph);
    for (size_t i = 0; i < splits.size(); ++i) {
        LEAT_RETURN_IF_ERROR(splitter.split(splits[i], int32_t(i)));
    }
    return splitter.take();
}

}  // namespace leat
