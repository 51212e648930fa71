// Plain loops: each sum visits all taps of its window.
#include "base/error.h"
#include "ops/conv_integer/conv_integer.h"
#include "ops/elementwise/element_access.h"
#include "ops/matmul_integer/requantize.h"

namespace leat {
namespace {

class QuantizedConv {
  public:
    QuantizedConv(const ReferenceArgs& args, const ConvGeometry& geometry)
        : args_(args), operands_(QuantizedConvOperands::of(args.node)), geometry_(geometry) {}

    void run() const {
        const Extents& output = geometry_.window.output;
        const int64_t plane = geometry_.window.output_count();
        const int64_t count = geometry_.batch * geometry_.out_channels * plane;
        for (int64_t at = 0; at < count; ++at) {
            const int64_t o = at / plane % geometry_.out_channels;
            const int64_t p = at % plane;
            store(at, o, sum(at / plane / geometry_.out_channels, o, position_of(p, output)));
        }
    }

  private:
    // The element of channel o, or the only one; 0 where the parameter is absent.
    double parameter(int input, int64_t o) const {
        const TensorArg* arg = find_arg(args_.inputs, input);
        if (arg == nullptr) {
            return 0;
        }
        return load_real(arg->dtype, arg->data, arg->shape.element_count() == 1 ? 0 : o);
    }

    uint32_t sum(int64_t n, int64_t o, const Extents& p) const {
        const int64_t channels = geometry_.in_channels_per_group();
        const int64_t first = o / geometry_.out_channels_per_group() * channels;
        const int64_t taps = geometry_.window.kernel_count();
        uint32_t total = 0;
        for (int64_t c = 0; c < channels; ++c) {
            total +=
                plane_sum(n * geometry_.in_channels + first + c, o, (o * channels + c) * taps, p);
        }
        return total;
    }

    // One channel: weights begin at w_at.
    uint32_t plane_sum(int64_t plane, int64_t o, int64_t w_at, const Extents& p) const {
        const WindowGeometry& g = geometry_.window;
        const TensorArg& x = args_.inputs[size_t(operands_.x)];
        const TensorArg& w = args_.inputs[size_t(operands_.w)];
        const auto x_zero = int64_t(parameter(operands_.x_zero, 0));
        const auto w_zero = int64_t(parameter(operands_.w_zero, o));
        uint32_t total = 0;
        for (int64_t tap = 0; tap < g.kernel_count(); ++tap) {
            const Extents t = position_of(tap, g.kernel);
            int64_t at = plane;
            bool is_inside = true;
            for (size_t axis = 0; axis < t.size(); ++axis) {
                const int64_t i = g.origin(int(axis), p[axis]) + t[axis] * g.dilation[axis];
                is_inside = is_inside && i >= 0 && i < g.input[axis];
                at = at * g.input[axis] + i;
            }
            if (is_inside) {
                total += uint32_t((load_integer(x.dtype, x.data, at) - x_zero) *
                                  (load_integer(w.dtype, w.data, w_at + tap) - w_zero));
            }
        }
        return total;
    }

    void store(int64_t at, int64_t o, uint32_t total) const {
        const TensorArg& y = args_.outputs[0];
        if (operands_.y_zero < 0) {
            y.as<int32_t>()[at] = int32_t(total);
            return;
        }
        total += uint32_t(int32_t(parameter(operands_.bias, o)));
        const float factor = requantize_factor(float(parameter(operands_.x_scale, 0)),
                                               float(parameter(operands_.w_scale, o)),
                                               float(parameter(operands_.y_scale, 0)));
        const int zero = int(parameter(operands_.y_zero, 0));
        if (y.dtype == DType::kUint8) {
            y.as<uint8_t>()[at] = requantize<uint8_t>(int32_t(total), factor, zero);
        } else {
            y.as<int8_t>()[at] = requantize<int8_t>(int32_t(total), factor, zero);
        }
    }

    const ReferenceArgs& args_;
    QuantizedConvOperands operands_;
    ConvGeometry geometry_;
};

}  // namespace

Status conv_integer_reference(const ReferenceArgs& args) {
    const auto operands = QuantizedConvOperands::of(args.node);
    LEAT_ASSIGN_OR_RETURN(
        const ConvGeometry geometry,
        ConvGeometry::make(args.node, args.inputs[size_t(operands.x)].shape,
                           args.inputs[size_t(operands.w)].shape, args.outputs[0].shape));
    QuantizedConv(args, geometry).run();
    return {};
}

}  // namespace leat
