#include <cmath>
#include <string>

#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/logic/logic.h"

namespace leat {
namespace {

template <class T>
bool compare(std::string_view op, const T& x, const T& y) {
    if (op == "Equal") {
        return x == y;
    }
    if (op == "Greater") {
        return x > y;
    }
    if (op == "GreaterOrEqual") {
        return x >= y;
    }
    if (op == "Less") {
        return x < y;
    }
    return x <= y;
}

bool combine(std::string_view op, bool x, bool y) {
    if (op == "And") {
        return x && y;
    }
    return op == "Or" ? x || y : x != y;
}

bool is_selected_infinity(const NodeData& node, double x) {
    const char* sign = x < 0 ? "detect_negative" : "detect_positive";
    return std::isinf(x) && node.attr(sign, int64_t{1}) != 0;
}

void unary(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    auto* y = args.outputs[0].as<uint8_t>();
    for (int64_t i = 0; i < x.shape.element_count(); ++i) {
        const double value = load_real(x.dtype, x.data, i);
        y[i] = args.node.op_type == "Not"     ? uint8_t(value == 0)
               : args.node.op_type == "IsNaN" ? uint8_t(std::isnan(value))
                                              : uint8_t(is_selected_infinity(args.node, value));
    }
}

}  // namespace

Status logic_reference(const ReferenceArgs& args) {
    if (args.inputs.size() == 1) {
        unary(args);
        return {};
    }
    const std::string_view op = args.node.op_type;
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.inputs[1];
    auto* z = args.outputs[0].as<uint8_t>();
    const bool is_logical = op == "And" || op == "Or" || op == "Xor";
    for_each_broadcast(args.outputs[0].shape, args.inputs, [&](int64_t o, const auto& at) {
        bool result = false;
        if (x.dtype == DType::kString) {
            result = compare(op, x.as<std::string>()[at[0]], y.as<std::string>()[at[1]]);
        } else if (contains(kFloatTypes, x.dtype)) {
            result =
                compare(op, load_real(x.dtype, x.data, at[0]), load_real(y.dtype, y.data, at[1]));
        } else {
            const int64_t a = load_integer(x.dtype, x.data, at[0]);
            const int64_t b = load_integer(y.dtype, y.data, at[1]);
            result = is_logical                  ? combine(op, a != 0, b != 0)
                     : x.dtype == DType::kUint64 ? compare(op, uint64_t(a), uint64_t(b))
                                                 : compare(op, a, b);
        }
        z[o] = uint8_t(result);
    });
    return {};
}

}  // namespace leat
