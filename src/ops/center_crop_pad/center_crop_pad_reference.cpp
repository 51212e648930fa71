#include "ops/center_crop_pad/center_crop_pad.h"
#include "ops/movement/zero_elements.h"

namespace leat {

Status center_crop_pad_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const CenterBox box = CenterBox::make(x.shape, y.shape);
    if (box.extents != y.shape) {
        zero_all_elements(y);
    }
    if (box.extents.element_count() > 0) {
        copy_strided_plain(x.dtype, box.extents,
                           {x.data, box_offset(box.x_begin, x.strides), x.strides},
                           {y.data, box_offset(box.y_begin, y.strides), y.strides});
    }
    return {};
}

}  // namespace leat
