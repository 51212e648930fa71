#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/element.h"
#include "ops/topk/topk.h"

namespace leat {

namespace {

// The k best of a line, whose elements are `stride` apart, to lines as far apart.
template <class T>
void write_best(const T* line,
                int64_t extent,
                int64_t stride,
                bool largest,
                int64_t k,
                T* values,
                int64_t* indices) {
    auto order = std::vector<int64_t>(size_t(extent));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
        const auto x = comparable(line[i * stride]);
        const auto y = comparable(line[j * stride]);
        return largest ? exceeds(x, y) : exceeds(y, x);
    });
    for (int64_t i = 0; i < k; ++i) {
        if (values != nullptr) {
            values[i * stride] = line[order[size_t(i)] * stride];
        }
        if (indices != nullptr) {
            indices[i * stride] = order[size_t(i)];
        }
    }
}

template <class T>
Status run_topk(const ReferenceArgs& args, const AxisSplit& split, int64_t k) {
    const bool largest = args.node.attr("largest", int64_t{1}) != 0;
    const TensorArg* values = find_arg(args.outputs, 0);
    const TensorArg* indices = find_arg(args.outputs, 1);
    for (int64_t outer = 0; outer < split.outer; ++outer) {
        if (args.stop.is_asked_for()) {
            return Status::bare(StatusCode::kCancelled);
        }
        for (int64_t inner = 0; inner < split.inner; ++inner) {
            const int64_t from = outer * split.extent * split.inner + inner;
            const int64_t to = outer * k * split.inner + inner;
            write_best(args.inputs[0].as<const T>() + from, split.extent, split.inner, largest, k,
                       values == nullptr ? nullptr : values->as<T>() + to,
                       indices == nullptr ? nullptr : indices->as<int64_t>() + to);
        }
    }
    return {};
}

}  // namespace

Status topk_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(args.node, x.shape.rank(), -1));
    const AxisSplit split = AxisSplit::make(x.shape, axis);
    return dispatch_number(x.dtype, [&](auto element) {
        return run_topk<typename decltype(element)::type>(args, split, args.outputs[0].shape[axis]);
    });
}

}  // namespace leat
