#include "ops/movement/zero_elements.h"
#include "ops/trilu/trilu.h"

namespace leat {

Status trilu_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    if (x.shape.element_count() == 0) {
        return {};
    }
    const Triangle triangle = Triangle::make(args.node, x.shape).moved_by(find_arg(args.inputs, 1));
    const int64_t columns = triangle.columns;
    const int64_t lines = x.shape.element_count() / columns;
    for (int64_t line = 0; line < lines; ++line) {
        const int64_t begin = line * columns;
        const int64_t edge = begin + triangle.edge(line % triangle.rows);
        const int64_t kept = triangle.is_upper ? edge : begin;
        const int64_t kept_end = triangle.is_upper ? begin + columns : edge;
        zero_elements(y.dtype, y.data, begin, kept - begin);
        copy_elements(x.dtype, x.data, kept, y.data, kept, kept_end - kept);
        zero_elements(y.dtype, y.data, kept_end, begin + columns - kept_end);
    }
    return {};
}

}  // namespace leat
