#include <algorithm>

#include "ops/elementwise/element_access.h"
#include "ops/gather/gather.h"
#include "ops/movement/movement.h"
#include "ops/scatter/scatter.h"

namespace leat {
namespace {

enum class Reduction : uint8_t { kNone, kAdd, kMul, kMax, kMin };

Reduction reduction_of(const NodeData& node) {
    const std::string name = node.attr("reduction", "none");
    if (name == "add") {
        return Reduction::kAdd;
    }
    if (name == "mul") {
        return Reduction::kMul;
    }
    if (name == "max") {
        return Reduction::kMax;
    }
    return name == "min" ? Reduction::kMin : Reduction::kNone;
}

double combine_real(Reduction reduction, double a, double b) {
    if (reduction == Reduction::kAdd) {
        return a + b;
    }
    if (reduction == Reduction::kMul) {
        return a * b;
    }
    // A NaN on either side stays.
    if (a != a || b != b) {
        return a != a ? a : b;
    }
    return reduction == Reduction::kMax ? std::max(a, b) : std::min(a, b);
}

int64_t combine_integer(Reduction reduction, DType dtype, int64_t a, int64_t b) {
    if (reduction == Reduction::kAdd) {
        return int64_t(uint64_t(a) + uint64_t(b));
    }
    if (reduction == Reduction::kMul) {
        return int64_t(uint64_t(a) * uint64_t(b));
    }
    const bool a_is_less = dtype == DType::kUint64 ? uint64_t(a) < uint64_t(b) : a < b;
    return a_is_less == (reduction == Reduction::kMin) ? a : b;
}

// Combines `count` elements of the updates into y.
void update(Reduction reduction,
            const TensorArg& y,
            int64_t y_index,
            const TensorArg& updates,
            int64_t index,
            int64_t count) {
    if (reduction == Reduction::kNone) {
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

Status scatter_nd_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const TensorArg& indices = args.inputs[1];
    copy_data(args);
    // The positions are those of GatherND without batches; batch_dims is no attribute here.
    const GatherNdLoop loop = gather_nd_loop(args.node, y, indices);
    const Reduction reduction = reduction_of(args.node);
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
    LEAT_ASSIGN_OR_RETURN(const int axis,
                          normalize_axis(args.node.attr("axis", int64_t{0}), y.shape.rank()));
    const int64_t extent = y.shape[axis];
    const int64_t stride = y.strides[size_t(axis)];
    Strides others = y.strides;
    others[size_t(axis)] = 0;
    StridedIndex write(indices.shape, others);
    const Reduction reduction = reduction_of(args.node);
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
