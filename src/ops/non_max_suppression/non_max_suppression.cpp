#include "ops/non_max_suppression/non_max_suppression.h"

#include <algorithm>

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status bad_iou(float found) {
    return invalid_argument("iou_threshold is no part of an area")
        .with_found(fmt::format("{}", found))
        .with_needed("a number from 0 to 1");
}

bool is_iou(float threshold) {
    return threshold >= 0 && threshold <= 1;
}

Status check_nms_number(const InferContext& context, int i, DType dtype, std::string_view what) {
    if (!context.has_input(i)) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(require_dtype(context, i, dtype_bit(dtype), what));
    if (!may_have_one_element(context.input(i))) {
        return invalid_argument("{} must have one element", what)
            .with_found(context.input(i).to_string())
            .with_needed(fmt::format("{}[1]", name_of(dtype)));
    }
    return {};
}

Status check_nms_extents(const TypeInfo& boxes, const TypeInfo& scores) {
    if (!boxes.dims) {
        return {};
    }
    const DimSpec& numbers = (*boxes.dims)[2];
    if (numbers.is_fixed() && numbers.extent() != 4) {
        return invalid_argument("a box has four numbers")
            .with_found(boxes.to_string())
            .with_needed("f32[batches,spatial,4]");
    }
    if (!scores.dims) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(
        merge_dims((*boxes.dims)[0], (*scores.dims)[0], "the number of batches of boxes and scores")
            .error());
    return merge_dims((*boxes.dims)[1], (*scores.dims)[2], "the number of boxes and of scores")
        .error();
}

Status infer_nms(InferContext& context) {
    constexpr DTypeSet kFloat = dtype_bit(DType::kFloat32);
    LEAT_RETURN_IF_ERROR(require_dtype(context, kNmsBoxes, kFloat, "boxes"));
    LEAT_RETURN_IF_ERROR(require_rank(context, kNmsBoxes, 3, "boxes"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, kNmsScores, kFloat, "scores"));
    LEAT_RETURN_IF_ERROR(require_rank(context, kNmsScores, 3, "scores"));
    LEAT_RETURN_IF_ERROR(check_nms_extents(context.input(kNmsBoxes), context.input(kNmsScores)));
    LEAT_RETURN_IF_ERROR(
        check_nms_number(context, kNmsMostBoxes, DType::kInt64, "max_output_boxes_per_class"));
    LEAT_RETURN_IF_ERROR(check_nms_number(context, kNmsIou, DType::kFloat32, "iou_threshold"));
    LEAT_RETURN_IF_ERROR(check_nms_number(context, kNmsScore, DType::kFloat32, "score_threshold"));
    const Tensor* const iou = context.has_input(kNmsIou) ? context.value(kNmsIou) : nullptr;
    if (iou != nullptr && !is_iou(iou->data<float>()[0])) {
        return bad_iou(iou->data<float>()[0]);
    }
    context.set_output(0, DType::kInt64, Dims{DimSpec::unknown(), DimSpec(3)});
    return {};
}

// Of each class ten boxes for each one that is selected. Which are, depends on more than shapes.
Cost nms_cost(const NodeData& /*node*/,
              std::span<const TensorArg> inputs,
              std::span<const TensorArg> outputs) {
    constexpr double kFlopsOfBox = 100;
    return {kFlopsOfBox * double(inputs[kNmsScores].shape.element_count()),
            moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kNmsAttributes[] = {
    {.name = "center_point_box", .kind = AttributeKind::kInt},
};

constexpr OpDef kNonMaxSuppressionOps[] = {
    {.name = "NonMaxSuppression",
     .min_inputs = 2,
     .max_inputs = 5,
     .open_outputs = 0b1,
     .attributes = kNmsAttributes,
     .infer = infer_nms,
     .reference = nms_reference,
     .cost = nms_cost},
};

struct Interval {
    float begin;
    float end;
};
// A NaN makes the difference of both a NaN, wherever it is.
Interval between(float a, float b) {
    return a >= b ? Interval{b, a} : Interval{a, b};
}
Interval around(float center, float length) {
    return {center - length / 2, center + length / 2};
}

}  // namespace

NmsExtents nms_extents(std::span<const TensorArg> inputs) {
    const Shape& scores = inputs[kNmsScores].shape;
    return {scores[0], scores[1], scores[2]};
}

int64_t nms_most_boxes(std::span<const TensorArg> inputs) {
    const TensorArg* const most = find_arg(inputs, kNmsMostBoxes);
    return most == nullptr
               ? 0
               : std::clamp<int64_t>(*most->as<int64_t>(), 0, nms_extents(inputs).spatial);
}

Result<NmsLimits> nms_limits(const NodeData& node, std::span<const TensorArg> inputs) {
    NmsLimits limits;
    limits.most_boxes = nms_most_boxes(inputs);
    if (const TensorArg* iou = find_arg(inputs, kNmsIou)) {
        limits.iou = *iou->as<float>();
        if (!is_iou(limits.iou)) {
            return bad_iou(limits.iou).with_node(node.label());
        }
    }
    if (const TensorArg* score = find_arg(inputs, kNmsScore)) {
        limits.has_score = true;
        limits.score = *score->as<float>();
    }
    return limits;
}

NmsBox nms_box(const float* numbers, bool is_center) {
    const Interval y = is_center ? around(numbers[1], numbers[3]) : between(numbers[0], numbers[2]);
    const Interval x = is_center ? around(numbers[0], numbers[2]) : between(numbers[1], numbers[3]);
    return {y.begin, x.begin, y.end, x.end, (x.end - x.begin) * (y.end - y.begin)};
}

std::span<const OpDef> non_max_suppression_ops() {
    return kNonMaxSuppressionOps;
}

}  // namespace leat
