// The parts of a concatenation or a split, one after the other along an axis.
#pragma once

#include <span>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// `axis` may count from the end. A part that is absent has no box, but its shape moves the next; no
// boxes where it has none.
inline std::vector<CopiedBox> boxes_along(int64_t axis,
                                          std::span<const TensorArg> parts,
                                          bool is_output_whole) {
    std::vector<CopiedBox> boxes;
    boxes.reserve(parts.size());
    int64_t begin = 0;
    for (size_t i = 0; i < parts.size(); ++i) {
        if (parts[i].shape.rank() == 0) {
            return {};
        }
        const auto along = size_t(axis < 0 ? axis + parts[i].shape.rank() : axis);
        if (parts[i].present()) {
            CopiedBox& box = boxes.emplace_back();
            (is_output_whole ? box.input : box.output) = int(i);
            box.is_output_whole = is_output_whole;
            box.begin[along] = begin;
        }
        begin += parts[i].shape[int(along)];
    }
    return boxes;
}

}  // namespace leat
