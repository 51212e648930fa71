// CenterCropPad: the middle of x where an axis has to shrink, x between zeros where it has to grow.
//   x, y : any type, any layout. shape : i32 or i64, an extent >= 0 for each of the axes.
//   Attribute axes: distinct ones, which may count from the end; absent: all.
// Of an odd difference the part before has one less: crops begin at (x - y) / 2, pads end x at
// (y - x) / 2 from the beginning, both rounded down. Zero is the empty string in strings.
// ONNX CenterCropPad-18.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status center_crop_pad_reference(const ReferenceArgs& args);

// The elements that x and y share: a box of each, which begins at the offsets.
struct CenterBox {
    Shape extents;
    Shape x_begin;  // by axis
    Shape y_begin;

    static CenterBox make(const Shape& x, const Shape& y);
};

// The offset in elements of the box that begins there.
int64_t box_offset(const Shape& begin, const Strides& strides);

}  // namespace leat
