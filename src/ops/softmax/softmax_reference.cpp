#include <cmath>
#include <vector>

#include "graph/op_def.h"
#include "ops/element.h"
#include "ops/softmax/softmax.h"

namespace leat {

namespace {

using Row = std::vector<double>;

size_t first_largest(const Row& row) {
    size_t best = 0;
    for (size_t i = 1; i < row.size(); ++i) {
        best = exceeds(row[i], row[best]) ? i : best;
    }
    return best;
}

void softmax_row(Row& row, bool logarithm) {
    const double largest = row[first_largest(row)];
    double sum = 0;
    for (double& value : row) {
        value -= largest;
        sum += std::exp(value);
    }
    const double log_sum = std::log(sum);
    for (double& value : row) {
        value = logarithm ? value - log_sum : std::exp(value) / sum;
    }
}

void hardmax_row(Row& row) {
    const size_t best = first_largest(row);
    row.assign(row.size(), 0.0);
    row[best] = 1.0;
}

template <class T>
Status run_softmax(const ReferenceArgs& args, const AxisSplit& split) {
    const bool logarithm = args.node.op_type == "LogSoftmax";
    const bool hard = args.node.op_type == "Hardmax";
    const T* x = args.inputs[0].as<const T>();
    T* y = args.outputs[0].as<T>();
    if (split.extent == 0) {
        return {};
    }
    Row row(static_cast<size_t>(split.extent));
    for (int64_t outer = 0; outer < split.outer; ++outer) {
        for (int64_t inner = 0; inner < split.inner; ++inner) {
            const int64_t base = outer * split.extent * split.inner + inner;
            for (size_t i = 0; i < row.size(); ++i) {
                row[i] = widen(x[base + int64_t(i) * split.inner]);
            }
            if (hard) {
                hardmax_row(row);
            } else {
                softmax_row(row, logarithm);
            }
            for (size_t i = 0; i < row.size(); ++i) {
                y[base + int64_t(i) * split.inner] = narrow<T>(row[i]);
            }
        }
    }
    return {};
}

}  // namespace

Status softmax_reference(const ReferenceArgs& args) {
    const Shape& shape = args.inputs[0].shape;
    LEAT_ASSIGN_OR_RETURN(const AxisSplit split, AxisSplit::of(args.node, shape, -1));
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_softmax<typename decltype(element)::type>(args, split);
    });
}

}  // namespace leat
