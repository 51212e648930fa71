// Col2Im: images from columns, the adjoint of cutting images into blocks. Each element of a column
// is added to the pixel that it stood for; elements over the pads are left out.
//   x : [n, c * block, l]; block: the product of block_shape; l: blocks that fit an image
//   y : [n, c, image..]; image_shape, block_shape : i64 [k], k from 1 to 6
//   Attributes strides, dilations (1 by default), pads (0; begins, then ends), by spatial axis.
// Along an axis (image + pads - (block - 1) * dilation - 1) / stride + 1 blocks fit, rounded down.
// x, y : any number, bool, complex, string. Floats are added in f64 and rounded once, integers
// wrap around, bool is true where any is, strings are joined. ONNX Col2Im-18.
#pragma once

#include <vector>

#include "graph/op_def.h"

namespace leat {

Status col2im_reference(const ReferenceArgs& args);

// By spatial axis.
struct ColumnBlocks {
    std::vector<int64_t> image;
    std::vector<int64_t> block;
    std::vector<int64_t> stride;
    std::vector<int64_t> dilation;
    std::vector<int64_t> pad_begin;
    std::vector<int64_t> count;  // of blocks
    int64_t block_elements = 1;
    int64_t blocks = 1;

    // An error if attributes do not fit, no block fits, or products overflow.
    static Result<ColumnBlocks> make(const NodeData& node,
                                     std::vector<int64_t> image,
                                     std::vector<int64_t> block);
};

}  // namespace leat
