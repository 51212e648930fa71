#include <string>

#include "ops/elementwise/element_access.h"
#include "ops/movement/movement.h"
#include "ops/nonzero/nonzero.h"
#include "ops/open_result.h"

namespace leat {
namespace {

bool is_nonzero(const TensorArg& x, int64_t i) {
    const auto is_zero = [&x](DType part, int64_t at) { return load_real(part, x.data, at) == 0; };
    switch (x.dtype) {
        case DType::kString:
            return !x.as<const std::string>()[i].empty();
        case DType::kComplex64:
            return !is_zero(DType::kFloat32, 2 * i) || !is_zero(DType::kFloat32, 2 * i + 1);
        case DType::kComplex128:
            return !is_zero(DType::kFloat64, 2 * i) || !is_zero(DType::kFloat64, 2 * i + 1);
        default:
            return !is_zero(x.dtype, i);
    }
}

}  // namespace

Status nonzero_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const int64_t elements = x.shape.element_count();
    const int rank = x.shape.rank();
    int64_t count = 0;
    for (int64_t i = 0; i < elements; ++i) {
        count += is_nonzero(x, i) ? 1 : 0;
    }
    LEAT_ASSIGN_OR_RETURN(int64_t* const y,
                          give_shape<int64_t>(args.outputs[0], {int64_t{rank}, count}));
    StridedIndex at(x.shape, x.strides);
    int64_t k = 0;
    for (int64_t i = 0; i < elements; ++i, at.advance()) {
        if (is_nonzero(x, i)) {
            for (int axis = 0; axis < rank; ++axis) {
                y[axis * count + k] = at.index(axis);
            }
            ++k;
        }
    }
    return {};
}

}  // namespace leat
