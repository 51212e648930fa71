#include "graph/op_def.h"
#include "ops/arg_reduce/arg_reduce.h"
#include "ops/element.h"

namespace leat {

namespace {

// A NaN wins over every number.
template <class T>
bool wins(T candidate, T best, bool is_max, bool last) {
    const auto x = comparable(candidate);
    const auto y = comparable(best);
    const bool better = is_max ? exceeds(x, y) : is_below(x, y);
    return better || (last && (x == y || (x != x && y != y)));
}

template <class T>
Status run_arg_reduce(const ReferenceArgs& args, const AxisSplit& split) {
    const bool is_max = args.node.op_type == "ArgMax";
    const bool last = args.node.attr("select_last_index", int64_t{0}) != 0;
    const T* x = args.inputs[0].as<const T>();
    auto* y = args.outputs[0].as<int64_t>();
    for (int64_t outer = 0; outer < split.outer; ++outer) {
        for (int64_t inner = 0; inner < split.inner; ++inner) {
            const T* row = x + outer * split.extent * split.inner + inner;
            int64_t best = 0;
            for (int64_t i = 1; i < split.extent; ++i) {
                best = wins(row[i * split.inner], row[best * split.inner], is_max, last) ? i : best;
            }
            *y++ = best;
        }
    }
    return {};
}

}  // namespace

Status arg_reduce_reference(const ReferenceArgs& args) {
    const Shape& shape = args.inputs[0].shape;
    LEAT_ASSIGN_OR_RETURN(const AxisSplit split, AxisSplit::of(args.node, shape, 0));
    return dispatch_number(args.inputs[0].dtype, [&](auto element) {
        return run_arg_reduce<typename decltype(element)::type>(args, split);
    });
}

}  // namespace leat
