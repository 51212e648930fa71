
#include "base/error.h"
#include "ops/gather/gather.h"
#include "ops/movement/movement.h"

namespace leat {

Status index_error(const std::string& node, int64_t index, int64_t extent) {
    return invalid_argument("an index is out of range")
        .with_node(node)
        .with_found(fmt::format("{}", index))
        .with_needed(fmt::format("[{}, {})", -extent, extent));
}

Status gather_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& indices = args.inputs[1];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(args.node, x.shape.rank()));
    const int64_t outer = x.shape.element_count(0, axis);
    const int64_t inner = x.shape.element_count(axis + 1, x.shape.rank());
    const int64_t extent = x.shape[axis];
    const int64_t picks = indices.shape.element_count();
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t p = 0; p < picks; ++p) {
            const int64_t index = normalize_index(index_at(indices, p), extent);
            if (index < 0) {
                return index_error(args.node.label(), index_at(indices, p), extent);
            }
            copy_elements(x.dtype, x.data, (o * extent + index) * inner, args.outputs[0].data,
                          (o * picks + p) * inner, inner);
        }
    }
    return {};
}

Status gather_elements_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& indices = args.inputs[1];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(args.node, x.shape.rank()));
    const int64_t extent = x.shape[axis];
    const int64_t stride = x.strides[size_t(axis)];
    Strides others = x.strides;
    others[size_t(axis)] = 0;
    StridedIndex read(indices.shape, others);
    const int64_t count = indices.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        const int64_t index = normalize_index(index_at(indices, i), extent);
        if (index < 0) {
            return index_error(args.node.label(), index_at(indices, i), extent);
        }
        copy_elements(x.dtype, x.data, read.offset() + index * stride, args.outputs[0].data, i, 1);
        read.advance();
    }
    return {};
}

GatherNdLoop gather_nd_loop(const NodeData& node, const TensorArg& x, const TensorArg& indices) {
    GatherNdLoop loop;
    const int last = indices.shape.rank() - 1;
    loop.first_axis = int(node.attr("batch_dims", int64_t{0}));
    loop.depth = int(indices.shape[last]);
    loop.batches = x.shape.element_count(0, loop.first_axis);
    loop.batch_elements = x.shape.element_count(loop.first_axis, x.shape.rank());
    loop.picks = indices.shape.element_count(loop.first_axis, last);
    loop.slice = x.shape.element_count(loop.first_axis + loop.depth, x.shape.rank());
    return loop;
}

int64_t gather_nd_offset(const GatherNdLoop& loop,
                         const TensorArg& x,
                         const TensorArg& indices,
                         int64_t position,
                         int* bad) {
    int64_t offset = 0;
    for (int i = 0; i < loop.depth; ++i) {
        const int axis = loop.first_axis + i;
        const int64_t index =
            normalize_index(index_at(indices, position * loop.depth + i), x.shape[axis]);
        if (index < 0) {
            *bad = i;
            return -1;
        }
        offset += index * x.strides[size_t(axis)];
    }
    return offset;
}

Status gather_nd_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& indices = args.inputs[1];
    const GatherNdLoop loop = gather_nd_loop(args.node, x, indices);
    for (int64_t position = 0; position < loop.batches * loop.picks; ++position) {
        int bad = 0;
        const int64_t offset = gather_nd_offset(loop, x, indices, position, &bad);
        if (offset < 0) {
            return index_error(args.node.label(), index_at(indices, position * loop.depth + bad),
                               x.shape[loop.first_axis + bad]);
        }
        const int64_t batch = position / loop.picks;
        copy_elements(x.dtype, x.data, batch * loop.batch_elements + offset, args.outputs[0].data,
                      position * loop.slice, loop.slice);
    }
    return {};
}

}  // namespace leat
