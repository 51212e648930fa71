#include <algorithm>

#include "ops/movement/movement.h"
#include "ops/reshape/reshape.h"

namespace leat {
namespace {

bool is_zero(const TensorArg& scalar) {
    const std::byte* data = scalar.data;
    for (int i = 0; i < bits_of(scalar.dtype) / 8; ++i) {
        // The sign of a negative zero sits in the last byte (little-endian).
        if ((data[i] & std::byte(i + 1 == bits_of(scalar.dtype) / 8 ? 0x7f : 0xff)) !=
            std::byte{0}) {
            return false;
        }
    }
    return true;
}

}  // namespace

Status check_dropout_is_identity(const TensorArg& ratio, const TensorArg& training_mode) {
    if (!training_mode.present() || *training_mode.as<uint8_t>() == 0) {
        return {};
    }
    if (ratio.present() && is_zero(ratio)) {
        return {};
    }
    return unsupported("dropout with random numbers is not implemented")
        .with_found("training_mode true and a ratio other than 0")
        .with_needed("training_mode false, or ratio 0");
}

Status view_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    if (x.data != y.data) {
        copy_elements(x.dtype, x.data, 0, y.data, 0, x.shape.element_count());
    }
    return {};
}

Status dropout_reference(const ReferenceArgs& args) {
    const auto operand = [&args](size_t i) {
        return i < args.inputs.size() ? args.inputs[i] : TensorArg{};
    };
    LEAT_RETURN_IF_ERROR(check_dropout_is_identity(operand(1), operand(2)));
    if (const TensorArg* mask = find_arg(args.outputs, 1)) {
        std::fill_n(mask->as<uint8_t>(), mask->shape.element_count(), uint8_t{1});
    }
    return view_reference(args);
}

}  // namespace leat
