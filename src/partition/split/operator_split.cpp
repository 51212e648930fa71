#include "partition/split/operator_split.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

// Elements [begin, end) of an axis.
struct AxisRange {
    int64_t begin = 0;
    int64_t end = 0;
};

bool is_contiguous(const Shape& shape, int axis) {
    return shape.element_count(0, axis) == 1;
}

Result<Tensor> range_of(const Tensor& whole, int axis, const AxisRange& range) {
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

class OperatorSplitter {
  public:
    explicit OperatorSplitter(const GraphData& graph) : graph_(graph) {
        for (const NodeData& node : graph.nodes) {
            names_.insert(node.name);
        }
    }

    Status split(const NodeSplit& split, int32_t index) {
        std::vector<ValueId> results;
        int64_t begin = 0;
        for (size_t shard = 0; shard < split.extents.size(); ++shard) {
            const AxisRange range{begin, begin + split.extents[shard]};
            LEAT_ASSIGN_OR_RETURN(const ValueId result,
                                  add_shard(split, index, int32_t(shard), range));
            results.push_back(result);
            begin = range.end;
        }
        const ValueId whole = graph_.node(split.node).outputs[0];
        graph_.node(split.node).outputs.clear();
        graph_.node(split.node).dead = true;
        if (split.axis.is_summed()) {
            add_up(split, index, results, whole);
        } else {
            concatenate(split, index, std::move(results), whole);
        }
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
    std::optional<std::pair<AxisRange, ValueId>> shard_with(ValueId id,
                                                            int axis,
                                                            const AxisRange& range) const {
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
        ValueId id, int axis, const AxisRange& range, const SplitAxis& way, int32_t split) {
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
                              const AxisRange& range) {
        NodeData node = graph_.node(split.node);
        if (!infers_shard(graph_, node, split.axis, range.end - range.begin)) {
            return unsupported("{} cannot run on {} {} to {} alone", node.label(), split.axis.name,
                               range.begin, range.end);
        }
        node.device_configurations.clear();
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const int axis = split.axis.input_axes[i];
            if (axis >= 0) {
                LEAT_ASSIGN_OR_RETURN(node.inputs[i],
                                      piece_of(node.inputs[i], axis, range, split.axis, index));
            } else if (axis == kFirstShardOnly && shard > 0) {
                node.inputs[i] = ValueId();
            }
        }
        const ValueId whole = node.outputs[0];
        const TypeInfo type =
            with_extent(graph_.value(whole).type, split.axis.result_axis, range.end - range.begin);
        const auto name_of = [&](std::string_view of) {
            return shard_name(of, split.axis.name, range.begin, range.end);
        };
        const ValueId result =
            graph_.add_value(graph_.fresh_name(name_of(graph_.value(whole).name)), type);
        const std::string name = name_of(node.name);
        add_node(std::move(node), name, result, {SplitPiece::Role::kShard, index, shard, false});
        if (!split.axis.is_summed()) {
            ranges_.emplace(
                std::make_tuple(whole.index, split.axis.result_axis, range.begin, range.end),
                result);
            shards_[{whole.index, split.axis.result_axis}].emplace_back(range, result);
        }
        return result;
    }

    // The join has the result that the whole node had.
    void concatenate(const NodeSplit& split,
                     int32_t index,
                     std::vector<ValueId> results,
                     ValueId whole) {
        const std::string name = graph_.node(split.node).name + "/joined";
        const Shape shape = *graph_.value(whole).type.fixed_shape();
        NodeData concat;
        concat.op_type = "Concat";
        concat.def = find_op("", "Concat");
        concat.inputs = std::move(results);
        concat.attributes.emplace("axis", int64_t{split.axis.result_axis});
        add_node(
            std::move(concat), name, whole,
            {SplitPiece::Role::kConcat, index, -1, is_contiguous(shape, split.axis.result_axis)});
    }

    // Two at a time, each rounded to the type: every kernel of Add gives the same bits. The last
    // sum is the result that the whole node had.
    void add_up(const NodeSplit& split,
                int32_t index,
                std::span<const ValueId> results,
                ValueId whole) {
        const std::string node = graph_.node(split.node).name;
        const ValueData of_whole = graph_.value(whole);
        ValueId sum = results[0];
        for (size_t shard = 1; shard < results.size(); ++shard) {
            const bool is_last = shard + 1 == results.size();
            const ValueId next =
                is_last ? whole
                        : graph_.add_value(graph_.fresh_name(sum_name(of_whole.name, shard)),
                                           of_whole.type);
            NodeData add;
            add.op_type = "Add";
            add.def = find_op("", "Add");
            add.inputs = {sum, results[shard]};
            add_node(std::move(add), sum_name(node, shard), next,
                     {SplitPiece::Role::kSum, index, int32_t(shard), false});
            sum = next;
        }
    }

    GraphData graph_;
    std::set<std::string> names_;               // of nodes
    std::map<std::string, SplitPiece> pieces_;  // by node
    std::map<int64_t, ValueId> indices_;        // constants with one element
    // By value and axis.
    std::map<std::pair<int32_t, int>, std::vector<std::pair<AxisRange, ValueId>>> shards_;
    // By value, axis, begin and end.
    std::map<std::tuple<int32_t, int, int64_t, int64_t>, ValueId> ranges_;
};

}  // namespace

std::string shard_name(std::string_view node, std::string_view axis, int64_t begin, int64_t end) {
    return fmt::format("{}/{}_{}_{}", node, axis, begin, end);
}

std::string sum_name(std::string_view node, size_t shard) {
    return fmt::format("{}/sum_{}", node, shard);
}

Result<SplitGraph> split_operators(const GraphData& graph, std::span<const NodeSplit> splits) {
    OperatorSplitter splitter(graph);
    for (size_t i = 0; i < splits.size(); ++i) {
        LEAT_RETURN_IF_ERROR(splitter.split(splits[i], int32_t(i)));
    }
    return splitter.take();
}

}  // namespace leat
