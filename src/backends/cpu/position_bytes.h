// PositionBytes: the bytes of an image's positions, where channels are innermost in x and y.
#pragma once

#include <cstdint>

#include "backends/cpu/unit_kernel.h"
#include "ops/window.h"

namespace leat::cpu {

// Positions are counted in the order (n, d, h, w). Immutable.
class PositionBytes {
  public:
    // x: what windows go over; y: their results.
    PositionBytes(const TensorArg& x, const TensorArg& y) : x_bytes_(each(x)), y_bytes_(each(y)) {}

    // What the windows of these results read of an input: of x, which is input 0.
    ByteRange read(size_t input, const WindowGeometry& window, IndexRange results) const {
        if (input > 0 || x_bytes_ == 0 || results.count() == 0) {
            return kAllBytes;
        }
        const IndexRange positions = window.positions_read(results);
        return {positions.begin * x_bytes_, positions.end * x_bytes_};
    }
    ByteRange written(IndexRange results) const {
        return y_bytes_ == 0 ? kAllBytes
                             : ByteRange{results.begin * y_bytes_, results.end * y_bytes_};
    }

  private:
    static int64_t each(const TensorArg& arg) {
        return is_channels_last(arg) ? arg.shape[1] * int64_t{sizeof(float)} : 0;
    }

    int64_t x_bytes_;  // of a position; 0: they do not lie one after the other
    int64_t y_bytes_;
};

}  // namespace leat::cpu
