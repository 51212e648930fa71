#include <algorithm>
#include <vector>

#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/open_result.h"

namespace leat {
namespace {

struct SelectedBox {
    int64_t batch;
    int64_t type;
    int64_t box;
};

// A product of two floats is exact in double, so that nothing is left for a compiler to join with
// the sum that it goes to.
float rounded_product(float a, float b) {
    return float(double(a) * double(b));
}

bool is_suppressed(const NmsBox& box, const NmsBox& by, float iou_threshold) {
    const float height = std::min(box.y_end, by.y_end) - std::max(box.y_begin, by.y_begin);
    const float width = std::min(box.x_end, by.x_end) - std::max(box.x_begin, by.x_begin);
    if (!box.has_area() || !by.has_area() || !(height > 0) || !(width > 0)) {
        return false;
    }
    const float common = rounded_product(width, height);
    const float both = box.area + by.area - common;
    return common > 0 && both > 0 && common / both > iou_threshold;
}

// Boxes whose scores are large enough, the best first.
std::vector<int64_t> ranked_boxes(const float* scores, int64_t spatial, const NmsLimits& limits) {
    std::vector<int64_t> boxes;
    for (int64_t i = 0; i < spatial; ++i) {
        if (!limits.has_score || scores[i] > limits.score) {
            boxes.push_back(i);
        }
    }
    std::stable_sort(boxes.begin(), boxes.end(), [scores](int64_t i, int64_t j) {
        return nms_rank(scores[i]) < nms_rank(scores[j]);
    });
    return boxes;
}

}  // namespace

Status nms_reference(const ReferenceArgs& args) {
    const NmsExtents extents = nms_extents(args.inputs);
    LEAT_ASSIGN_OR_RETURN(const NmsLimits limits, nms_limits(args.node, args.inputs));
    const bool is_center = args.node.attr("center_point_box", int64_t{0}) != 0;
    std::vector<SelectedBox> selected;
    for (int64_t list = 0; list < extents.lists() && limits.most_boxes > 0; ++list) {
        const int64_t batch = list / extents.classes;
        const float* const boxes =
            args.inputs[kNmsBoxes].as<const float>() + batch * extents.spatial * 4;
        const float* const scores =
            args.inputs[kNmsScores].as<const float>() + list * extents.spatial;
        std::vector<NmsBox> kept;
        for (const int64_t i : ranked_boxes(scores, extents.spatial, limits)) {
            const NmsBox box = nms_box(boxes + i * 4, is_center);
            const bool is_free = std::none_of(kept.begin(), kept.end(), [&](const NmsBox& by) {
                return is_suppressed(box, by, limits.iou);
            });
            if (is_free && int64_t(kept.size()) < limits.most_boxes) {
                kept.push_back(box);
                selected.push_back({batch, list % extents.classes, i});
            }
        }
    }
    LEAT_ASSIGN_OR_RETURN(
        int64_t * y, give_shape<int64_t>(args.outputs[0], {int64_t(selected.size()), int64_t{3}}));
    for (const SelectedBox& box : selected) {
        *y++ = box.batch;
        *y++ = box.type;
        *y++ = box.box;
    }
    return {};
}

}  // namespace leat
