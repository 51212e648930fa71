#include "ops/clip/clip.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

template <class T, class Load, class Store>
void clip(const ReferenceArgs& args, Load load, Store store) {
    const TensorArg* lower = find_arg(args.inputs, 1);
    const TensorArg* upper = find_arg(args.inputs, 2);
    const T low = lower != nullptr ? load(*lower, 0) : T();
    const T high = upper != nullptr ? load(*upper, 0) : T();
    for (int64_t i = 0; i < args.outputs[0].shape.element_count(); ++i) {
        T value = load(args.inputs[0], i);
        value = lower != nullptr && value < low ? low : value;
        value = upper != nullptr && value > high ? high : value;
        store(i, value);
    }
}

}  // namespace

Status clip_reference(const ReferenceArgs& args);

Status clip_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const auto load_int = [](const TensorArg& x, int64_t i) {
        return load_integer(x.dtype, x.data, i);
    };
    const auto store_int = [&](int64_t i, auto value) {
        store_integer(y.dtype, y.data, i, int64_t(value));
    };
    if (y.dtype == DType::kUint64) {
        clip<uint64_t>(
            args, [&](const TensorArg& x, int64_t i) { return uint64_t(load_int(x, i)); },
            store_int);
    } else if (contains(kIntTypes, y.dtype)) {
        clip<int64_t>(args, load_int, store_int);
    } else {
        clip<double>(
            args, [](const TensorArg& x, int64_t i) { return load_real(x.dtype, x.data, i); },
            [&](int64_t i, double value) { store_real(y.dtype, y.data, i, value); });
    }
    return {};
}

}  // namespace leat
