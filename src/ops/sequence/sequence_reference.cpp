#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.h"
#include "ops/axis_split.h"
#include "ops/elementwise/element_access.h"
#include "ops/gather/gather.h"
#include "ops/movement/extents.h"
#include "ops/movement/movement.h"
#include "ops/sequence/sequence.h"

namespace leat {
namespace {

using Elements = std::vector<Value>;

bool has_operand(const ValueArgs& args, size_t i) {
    return i < args.inputs.size() && args.node.inputs[i].valid();
}

// Counted from the front. most: the last one that is allowed.
Result<size_t> position_of(const ValueArgs& args, size_t input, int64_t absent, int64_t most) {
    const auto length = int64_t(args.inputs[0].elements().size());
    int64_t position = absent;
    if (has_operand(args, input)) {
        if (args.inputs[input].tensor().element_count() != 1) {
            return invalid_argument("the position must have one element")
                .with_found(args.inputs[input].tensor().shape().to_string());
        }
        position = index_at(arg_of(args.inputs[input].tensor()), 0);
    }
    const int64_t counted = position < 0 ? position + length : position;
    if (counted < 0 || counted > most) {
        return invalid_argument("a position lies outside of the sequence")
            .with_found(std::to_string(position))
            .with_needed(
                fmt::format("{} to {}, as the sequence has {} elements", -length, most, length));
    }
    return size_t(counted);
}

// Copies parts of the whole along an axis, `extent` indices from `begin` on.
void copy_range(const TensorArg& whole,
                const AxisSplit& split,
                int64_t begin,
                int64_t extent,
                const TensorArg& part,
                bool is_into_whole) {
    for (int64_t outer = 0; outer < split.outer; ++outer) {
        const int64_t in_whole = (outer * split.extent + begin) * split.inner;
        const int64_t in_part = outer * extent * split.inner;
        const int64_t count = extent * split.inner;
        if (is_into_whole) {
            copy_elements(part.dtype, part.data, in_part, whole.data, in_whole, count);
        } else {
            copy_elements(whole.dtype, whole.data, in_whole, part.data, in_part, count);
        }
    }
}

Shape with_extent(const Shape& shape, int axis, int64_t extent) {
    Shape result = shape;
    result[axis] = extent;
    return result;
}

Shape without_axis(const Shape& shape, int axis) {
    std::vector<int64_t> extents(shape.begin(), shape.end());
    extents.erase(extents.begin() + axis);
    return Shape::make(extents).value_or(Shape());
}

// How many indices of the axis each element has.
Result<std::vector<int64_t>> parts_of_split(const ValueArgs& args, int64_t extent) {
    if (!has_operand(args, 1)) {
        return std::vector<int64_t>(size_t(extent), 1);
    }
    const TensorArg split = arg_of(args.inputs[1].tensor());
    std::vector<int64_t> parts;
    if (split.shape.rank() == 0) {
        const int64_t size = index_at(split, 0);
        if (size <= 0) {
            return invalid_argument("a part of a split must have a positive length")
                .with_found(std::to_string(size));
        }
        for (int64_t begin = 0; begin < extent; begin += std::min(size, extent - begin)) {
            parts.push_back(std::min(size, extent - begin));
        }
        return parts;
    }
    int64_t left = extent;
    for (int64_t i = 0; i < split.shape.element_count(); ++i) {
        parts.push_back(index_at(split, i));
        if (parts.back() < 0 || parts.back() > left) {
            left = -1;
            break;
        }
        left -= parts.back();
    }
    if (left != 0) {
        return invalid_argument("the parts of a split must add up to the extent")
            .with_found(fmt::format("{}", fmt::join(parts, " + ")))
            .with_needed(std::to_string(extent));
    }
    return parts;
}

}  // namespace

Status sequence_empty(const ValueArgs& args) {
    args.outputs[0] = Value::sequence({});
    return {};
}

Status sequence_construct(const ValueArgs& args) {
    Elements elements;
    elements.reserve(args.inputs.size());
    std::move(args.inputs.begin(), args.inputs.end(), std::back_inserter(elements));
    args.outputs[0] = Value::sequence(std::move(elements));
    return {};
}

Status sequence_insert(const ValueArgs& args) {
    const auto length = int64_t(args.inputs[0].elements().size());
    LEAT_ASSIGN_OR_RETURN(const size_t at, position_of(args, 2, length, length));
    Elements elements = std::move(args.inputs[0].mutable_elements());
    elements.insert(elements.begin() + std::ptrdiff_t(at), std::move(args.inputs[1]));
    args.outputs[0] = Value::sequence(std::move(elements));
    return {};
}

Status sequence_erase(const ValueArgs& args) {
    const auto length = int64_t(args.inputs[0].elements().size());
    LEAT_ASSIGN_OR_RETURN(const size_t at, position_of(args, 1, length - 1, length - 1));
    Elements elements = std::move(args.inputs[0].mutable_elements());
    elements.erase(elements.begin() + std::ptrdiff_t(at));
    args.outputs[0] = Value::sequence(std::move(elements));
    return {};
}

Status sequence_at(const ValueArgs& args) {
    const auto length = int64_t(args.inputs[0].elements().size());
    LEAT_ASSIGN_OR_RETURN(const size_t at, position_of(args, 1, 0, length - 1));
    args.outputs[0] = args.inputs[0].elements()[at];
    return {};
}

Status sequence_length(const ValueArgs& args) {
    LEAT_ASSIGN_OR_RETURN(Tensor length, args.allocate(DType::kInt64, {}));
    length.mutable_data<int64_t>()[0] = int64_t(args.inputs[0].elements().size());
    args.outputs[0] = Value(std::move(length));
    return {};
}

Status split_to_sequence(const ValueArgs& args) {
    const Tensor& whole = args.inputs[0].tensor();
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(args.node, whole.shape().rank()));
    const AxisSplit split = AxisSplit::make(whole.shape(), axis);
    LEAT_ASSIGN_OR_RETURN(const std::vector<int64_t> parts, parts_of_split(args, split.extent));
    const bool drops_axis = !has_operand(args, 1) && args.node.attr("keepdims", int64_t{1}) == 0;
    Elements elements;
    elements.reserve(parts.size());
    int64_t begin = 0;
    for (const int64_t extent : parts) {
        LEAT_ASSIGN_OR_RETURN(
            Tensor part, args.allocate(whole.dtype(), with_extent(whole.shape(), axis, extent)));
        copy_range(arg_of(whole), split, begin, extent, arg_of(part), false);
        begin += extent;
        elements.emplace_back(drops_axis ? part.reshaped(without_axis(part.shape(), axis))
                                         : std::move(part));
    }
    args.outputs[0] = Value::sequence(std::move(elements));
    return {};
}

Status concat_from_sequence(const ValueArgs& args) {
    const std::span<const Value> elements = args.inputs[0].elements();
    if (elements.empty()) {
        return invalid_argument("an empty sequence has nothing to concatenate")
            .with_needed("one element or more");
    }
    const bool has_new_axis = args.node.attr("new_axis", int64_t{0}) != 0;
    const Tensor& first = elements[0].tensor();
    const int rank = first.shape().rank() + (has_new_axis ? 1 : 0);
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(args.node, rank));
    LEAT_RETURN_IF_ERROR(check_output_rank(rank));
    std::vector<Tensor> parts;
    parts.reserve(elements.size());
    int64_t extent = 0;
    for (const Value& element : elements) {
        Tensor part = element.tensor();
        if (has_new_axis && part.shape().rank() < kMaxRank) {
            std::vector<int64_t> extents(part.shape().begin(), part.shape().end());
            extents.insert(extents.begin() + std::min(axis, part.shape().rank()), 1);
            part = part.reshaped(Shape(extents));
        }
        const bool fits = element.tensor().shape().rank() == first.shape().rank() &&
                          (parts.empty() || with_extent(part.shape(), axis, 1) ==
                                                with_extent(parts[0].shape(), axis, 1));
        if (!fits) {
            return invalid_argument("elements of a sequence do not fit each other on axis {}", axis)
                .with_found(element.tensor().shape().to_string())
                .with_needed(first.shape().to_string() + ", but for the axis");
        }
        extent += part.shape()[axis];
        parts.push_back(std::move(part));
    }
    LEAT_ASSIGN_OR_RETURN(
        Tensor whole, args.allocate(first.dtype(), with_extent(parts[0].shape(), axis, extent)));
    const AxisSplit split = AxisSplit::make(whole.shape(), axis);
    int64_t begin = 0;
    for (const Tensor& part : parts) {
        copy_range(arg_of(whole), split, begin, part.shape()[axis], arg_of(part), true);
        begin += part.shape()[axis];
    }
    args.outputs[0] = Value(std::move(whole));
    return {};
}

Status optional_of(const ValueArgs& args) {
    Elements elements;
    if (has_operand(args, 0)) {
        elements.push_back(std::move(args.inputs[0]));
    }
    args.outputs[0] = Value::optional(std::move(elements));
    return {};
}

Status optional_has_element(const ValueArgs& args) {
    LEAT_ASSIGN_OR_RETURN(Tensor answer, args.allocate(DType::kBool, {}));
    answer.mutable_data<bool>()[0] =
        has_operand(args, 0) &&
        (args.inputs[0].kind() != Value::Kind::kOptional || !args.inputs[0].elements().empty());
    args.outputs[0] = Value(std::move(answer));
    return {};
}

Status optional_get_element(const ValueArgs& args) {
    Value& given = args.inputs[0];
    if (given.kind() != Value::Kind::kOptional) {
        args.outputs[0] = std::move(given);
        return {};
    }
    if (given.elements().empty()) {
        return invalid_argument("an optional without an element was asked for it")
            .with_hint("ask OptionalHasElement before");
    }
    args.outputs[0] = given.elements()[0];
    return {};
}

}  // namespace leat
