#include "base/error.h"
#include "ops/cumsum/cumsum.h"
#include "ops/elementwise/element_access.h"
#include "ops/gather/gather.h"

namespace leat {

Result<AxisSplit> cumsum_loop(const Shape& x, const TensorArg& axis) {
    LEAT_ASSIGN_OR_RETURN(const int normal, normalize_axis(index_at(axis, 0), x.rank()));
    return AxisSplit::make(x, normal);
}

Status cumsum_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    auto found = cumsum_loop(x.shape, args.inputs[1]);
    if (!found.ok()) {
        return std::move(found).error().with_node(args.node.label());
    }
    const AxisSplit loop = *found;
    const bool exclusive = args.node.attr("exclusive", int64_t{0}) != 0;
    const bool reverse = args.node.attr("reverse", int64_t{0}) != 0;
    const bool is_real = contains(kFloatTypes, x.dtype);
    const bool is_product = args.node.op_type == "CumProd";
    for (int64_t line = 0; line < loop.outer * loop.inner; ++line) {
        const int64_t base = line / loop.inner * loop.extent * loop.inner + line % loop.inner;
        double real = is_product ? 1 : 0;
        uint64_t integer = is_product ? 1 : 0;
        for (int64_t k = 0; k < loop.extent; ++k) {
            const int64_t i = base + (reverse ? loop.extent - 1 - k : k) * loop.inner;
            if (is_real) {
                const double before = real;
                const double element = load_real(x.dtype, x.data, i);
                real = is_product ? real * element : real + element;
                store_real(y.dtype, y.data, i, exclusive ? before : real);
            } else {
                const uint64_t before = integer;
                const auto element = uint64_t(load_integer(x.dtype, x.data, i));
                integer = is_product ? integer * element : integer + element;
                store_integer(y.dtype, y.data, i, int64_t(exclusive ? before : integer));
            }
        }
    }
    return {};
}

}  // namespace leat
