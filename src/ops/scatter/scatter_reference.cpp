#include <algorithm>

#include "ops/elementwise/element_access.h"
#include "ops/gather/gather.h"
#include "ops/movement/movement.h"
#include "ops/scatter/scatter.h"

namespace leat {
namespace {

double combine_real(ScatterReduction reduction, double a, double b) {
    if (reduction == ScatterReduction::kAdd) {
        return a + b;
    }
    if (reduction == ScatterReduction::kMul) {
        return a * b;
    }
    // A NaN on either side stays.
    if (a != a || b != b) {
        return a != a ? a : b;
    }
    return reduction == ScatterReduction::kMax ? std::max(a, b) : std::min(a, b);
}

int64_t combine_integer(ScatterReduction reduction, DType dtype, int64_t a, int64_t b) {
    if (reduction == ScatterReduction::kAdd) {
        return int64_t(uint64_t(a) + uint64_t(b));
    }
    if (reduction == ScatterReduction::kMul) {
        return int64_t(uint64_t(a) * uint64_t(b));
    }
    const bool a_is_less = dtype == DType::kUint64 ? uint64_t(a) < uint64_t(b) : a < b;
    return a_is_less == (reduction == ScatterReduction::kMin) ? a : b;
}

// Combines `count` elements of the updates into y.
void update(ScatterReduction reduction,
            const TensorArg& y,
            int64_t y_index,
            const TensorArg& updates,
            int64_t index,
            int64_t count) {
    if (reduction == ScatterReduction::kNone) {
        return copy_elements(y.dtype, updates.data, index, y.data, y_index, count);
    }
    const bool real = contains(kFloatTypes | kSmallFloatTypes, y.dtype);
    for (int64_t i = 0; i < count; ++i) {
        if (real) {
            store_real(y.dtype, y.data, y_index + i,
                       combine_real(reduction, load_real(y.dtype, y.data, y_index + i),
                                    load_real(y.dtype, updates.data, index + i)));
        } else {
            store_integer(
                y.dtype, y.data, y_index + i,
                combine_integer(reduction, y.dtype, load_integer(y.dtype, y.data, y_index + i),
                                load_integer(y.dtype, updates.data, index + i)));
        }
    }
}

void copy_data(const ReferenceArgs& args) {
    const TensorArg& data = args.inputs[0];
    if (data.data != args.outputs[0].data) {
        copy_elements(data.dtype, data.data, 0, args.outputs[0].data, 0,
                      data.shape.element_count());
    }
}

}  // namespace

ScatterReduction scatter_reduction(const NodeData& node) {
    constexpr std::string_view kNames[] = {"none", "add", "mul", "max", "min"};
    const auto* found =
        std::find(std::begin(kNames), std::end(kNames), node.attr("reduction", "none"));
    return ScatterReduction(found - std::begin(kNames));
}

Status scatter_nd_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const TensorArg& indices = args.inputs[1];
    copy_data(args);
    // The positions are those of GatherND without batches; batch_dims is no attribute here.
    const GatherNdLoop loop = gather_nd_loop(args.node, y, indices);
    const ScatterReduction reduction = scatter_reduction(args.node);
    for (int64_t position = 0; position < loop.picks; ++position) {
        int bad = 0;
        const int64_t offset = gather_nd_offset(loop, y, indices, position, &bad);
        if (offset < 0) {
            return index_error(args.node.label(), index_at(indices, position * loop.depth + bad),
                               y.shape[bad]);
        }
        update(reduction, y, offset, args.inputs[2], position * loop.slice, loop.slice);
    }
    return {};
}

Status scatter_elements_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const TensorArg& indices = args.inputs[1];
    copy_data(args);
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(args.node, y.shape.rank()));
    const int64_t extent = y.shape[axis];
    const int64_t stride = y.strides[size_t(axis)];
    Strides others = y.strides;
    others[size_t(axis)] = 0;
    StridedIndex write(indices.shape, others);
    const ScatterReduction reduction = scatter_reduction(args.node);
    const int64_t count = indices.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        const int64_t index = normalize_index(index_at(indices, i), extent);
        if (index < 0) {
            return index_error(args.node.label(), index_at(indices, i), extent);
        }
        update(reduction, y, write.offset() + index * stride, args.inputs[2], i, 1);
        write.advance();
    }
    return {};
}

}  // namespace leat
