#include <vector>

#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/variadic/variadic.h"

namespace leat {
namespace {

// Of two values by numpy's maximum and minimum: NaN wins.
template <class T>
T choose(bool larger, T x, T y) {
    if (x != x) {
        return x;
    }
    return y != y || (larger ? y > x : y < x) ? y : x;
}

template <class T, class Load, class Combine>
std::vector<T> accumulate(const ReferenceArgs& args, Load load, Combine combine) {
    const Shape& shape = args.outputs[0].shape;
    std::vector<T> results(size_t(shape.element_count()));
    for (size_t k = 0; k < args.inputs.size(); ++k) {
        const TensorArg& input = args.inputs[k];
        for_each_broadcast(shape, args.inputs.subspan(k, 1), [&](int64_t o, const auto& at) {
            const T value = load(input, at[0]);
            T& result = results[size_t(o)];
            result = k == 0 ? value : combine(result, value);
        });
    }
    return results;
}

template <class T>
std::vector<T> select_integers(const ReferenceArgs& args, bool larger) {
    const auto load = [](const TensorArg& x, int64_t i) {
        return T(load_integer(x.dtype, x.data, i));
    };
    return accumulate<T>(args, load, [larger](T x, T y) { return choose(larger, x, y); });
}

}  // namespace

Status variadic_reference(const ReferenceArgs& args) {
    const std::string_view op = args.node.op_type;
    const TensorArg& y = args.outputs[0];
    const int64_t count = y.shape.element_count();
    if (y.dtype == DType::kUint64) {
        const auto results = select_integers<uint64_t>(args, op == "Max");
        for (int64_t i = 0; i < count; ++i) {
            store_integer(y.dtype, y.data, i, int64_t(results[size_t(i)]));
        }
    } else if (contains(kIntTypes, y.dtype)) {
        const auto results = select_integers<int64_t>(args, op == "Max");
        for (int64_t i = 0; i < count; ++i) {
            store_integer(y.dtype, y.data, i, results[size_t(i)]);
        }
    } else {
        const auto load = [](const TensorArg& x, int64_t i) {
            return load_real(x.dtype, x.data, i);
        };
        const auto results = accumulate<double>(args, load, [op](double a, double b) {
            return op == "Max" || op == "Min" ? choose(op == "Max", a, b) : a + b;
        });
        const double divisor = op == "Mean" ? double(args.inputs.size()) : 1;
        for (int64_t i = 0; i < count; ++i) {
            store_real(y.dtype, y.data, i, results[size_t(i)] / divisor);
        }
    }
    return {};
}

}  // namespace leat
