#include <cstring>

#include "base/error.h"
#include "ops/cast/cast.h"

namespace leat {
namespace {

Status from_strings(const ReferenceArgs& args, const NarrowOptions& options) {
    const TensorArg& y = args.outputs[0];
    const auto* strings = args.inputs[0].as<std::string>();
    for (int64_t i = 0; i < y.shape.element_count(); ++i) {
        if (!string_to_element(strings[i], y.dtype, y.data, i, options)) {
            return invalid_argument("element {} of the input is no number", i)
                .with_found("'" + strings[i].substr(0, 40) + "'")
                .with_needed(std::string(name_of(y.dtype)));
        }
    }
    return {};
}

}  // namespace

Status cast_reference(const ReferenceArgs& args);

Status cast_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t count = y.shape.element_count();
    const NarrowOptions options = cast_options(args.node);
    constexpr DTypeSet kFloating = kFloatTypes | kSmallFloatTypes;
    if (y.dtype == DType::kString) {
        for (int64_t i = 0; i < count; ++i) {
            y.as<std::string>()[i] = element_to_string(x.dtype, x.data, i);
        }
        return {};
    }
    if (x.dtype == DType::kString) {
        return from_strings(args, options);
    }
    if (x.dtype == y.dtype && x.dtype != DType::kBool) {
        if (count > 0) {
            std::memcpy(y.data, x.data, size_t(x.byte_count()));
        }
        return {};
    }
    const bool from_integer = !contains(kFloating, x.dtype);
    for (int64_t i = 0; i < count; ++i) {
        if (from_integer && !contains(kFloating, y.dtype)) {
            store_integer(y.dtype, y.data, i, load_integer(x.dtype, x.data, i));
        } else if (from_integer && y.dtype == DType::kFloat32) {
            // 64-bit integers must not round twice.
            const int64_t value = load_integer(x.dtype, x.data, i);
            y.as<float>()[i] = x.dtype == DType::kUint64 ? float(uint64_t(value)) : float(value);
        } else {
            store_real(y.dtype, y.data, i, load_real(x.dtype, x.data, i), options);
        }
    }
    return {};
}

}  // namespace leat
