// NonMaxSuppression: of each batch and class the boxes with the best scores, without those that
// overlap a better one that was selected.
//   boxes  : f32 [batches, spatial, 4], two corners y, x, y, x of any diagonal, or with
//            center_point_box=1 the centre x, y, the width and the height
//   scores : f32 [batches, classes, spatial]
//   max_output_boxes_per_class : i64, one element; none, or less than 1: no boxes
//   iou_threshold   : f32, one element in [0, 1]; none: 0
//   score_threshold : f32, one element; none: boxes of any score
//   y      : i64 [n, 3], batch, class and box, of which only the run knows n. Batches and classes
//            ascend, scores descend; of equal ones the first box comes first.
// A box is left out if its score is not larger than score_threshold, or if the area that it has in
// common with a selected one is more than iou_threshold of the area of both together. All of that
// is arithmetic of f32, each operation rounded by itself, so that every kernel selects the same
// boxes, as ONNX Runtime does. Boxes without an area, or with a NaN, overlap nothing. A score that
// is NaN is not larger than any threshold, and without one comes last.
// ONNX NonMaxSuppression-11.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "graph/op_def.h"

namespace leat {

enum NmsInput : int { kNmsBoxes, kNmsScores, kNmsMostBoxes, kNmsIou, kNmsScore };

struct NmsExtents {
    int64_t batches = 0;
    int64_t classes = 0;
    int64_t spatial = 0;

    int64_t lists() const { return batches * classes; }
};
NmsExtents nms_extents(std::span<const TensorArg> inputs);

// Boxes that may be selected of a class, 0 to spatial.
int64_t nms_most_boxes(std::span<const TensorArg> inputs);

// What the optional inputs say.
struct NmsLimits {
    int64_t most_boxes = 0;
    float iou = 0;
    bool has_score = false;
    float score = 0;
};
// Error: a threshold that is none.
Result<NmsLimits> nms_limits(const NodeData& node, std::span<const TensorArg> inputs);

struct NmsBox {
    float y_begin = 0;
    float x_begin = 0;
    float y_end = 0;
    float x_end = 0;
    float area = 0;

    // False: it overlaps nothing.
    bool has_area() const { return area > 0; }
};
// From the four numbers of a box.
NmsBox nms_box(const float* numbers, bool is_center);

// Ascending numbers for descending scores; a NaN has the largest.
inline uint32_t nms_rank(float score) {
    constexpr uint32_t kSign = 0x80000000;
    const auto bits = std::bit_cast<uint32_t>(score + 0.0F);  // one zero
    const uint32_t ascending = (bits & kSign) != 0 ? ~bits : bits | kSign;
    return score != score ? ~uint32_t{0} : ~ascending;
}

Status nms_reference(const ReferenceArgs& args);

}  // namespace leat
