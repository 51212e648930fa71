#include "ops/movement/movement.h"
#include "ops/transpose/transpose.h"

namespace leat {

Status transpose_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const auto permutation, transpose_permutation(args.node, x.shape.rank()));
    StridedPlace source{x.data, 0, {}};
    for (int axis = 0; axis < y.shape.rank(); ++axis) {
        source.strides[size_t(axis)] = x.strides[size_t(permutation[size_t(axis)])];
    }
    copy_strided_plain(x.dtype, y.shape, source, {y.data, 0, y.strides});
    return {};
}

}  // namespace leat
