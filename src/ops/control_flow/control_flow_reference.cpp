// Bodies by reference kernels, one node at a time.
#include <cstring>
#include <limits>

#include "base/grown_tensor.h"
#include "base/out_of_memory.h"
#include "graph/bodies.h"
#include "ops/control_flow/control_flow.h"
#include "ops/movement/movement.h"

namespace leat {
namespace {

using Tensors = std::vector<Tensor>;

Tensor view_of(const TensorArg& arg) {
    return Tensor::view(arg.dtype, arg.shape, arg.data, nullptr);
}

// Of all operands from `first` on.
Tensors views_of(std::span<const TensorArg> args) {
    Tensors views;
    for (const TensorArg& arg : args) {
        views.push_back(view_of(arg));
    }
    return views;
}

Status check_shape(const Tensor& result, const TensorArg& output, size_t i) {
    if (result.shape() == output.shape && result.dtype() == output.dtype) {
        return {};
    }
    return unsupported("output {} has another shape than inference found", i)
        .with_found(result.shape().to_string())
        .with_needed(output.shape.to_string());
}

void copy_elements(const Tensor& from, const TensorArg& to) {
    if (from.dtype() == DType::kString) {
        const auto elements = from.data<std::string>();
        std::copy(elements.begin(), elements.end(), to.as<std::string>());
    } else if (from.byte_count() > 0) {
        std::memmove(to.data, from.bytes(), size_t(from.byte_count()));
    }
}

Status store(const Tensor& result, const TensorArg& output, size_t i) {
    if (!output.present()) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_shape(result, output, i));
    copy_elements(result, output);
    return {};
}

// Whoever stops a run says why.
Status check_stop(const RunStop& stop) {
    return stop.is_asked_for() ? Status::bare(StatusCode::kCancelled) : Status();
}

Status in_iteration(Status status, const NodeData& node, int64_t iteration) {
    return std::move(status).within(fmt::format("{}, iteration {}", node.label(), iteration));
}

Status check_whole_bytes(DType dtype) {
    if (bits_of(dtype) % 8 == 0) {
        return {};
    }
    return unsupported("slices of {} are not implemented", name_of(dtype));
}

// As copy_slice(), of elements of any type.
void copy_part(DType dtype,
               const AxisSplit& split,
               int64_t index,
               std::byte* whole,
               std::byte* part,
               bool is_into_whole) {
    if (dtype != DType::kString) {
        return copy_slice(split, *storage_bytes(dtype, split.inner), index, whole, part,
                          is_into_whole);
    }
    for (int64_t o = 0; o < split.outer; ++o) {
        const int64_t in_whole = (o * split.extent + index) * split.inner;
        const int64_t in_part = o * split.inner;
        if (is_into_whole) {
            copy_elements(dtype, part, in_part, whole, in_whole, split.inner);
        } else {
            copy_elements(dtype, whole, in_whole, part, in_part, split.inner);
        }
    }
}

Shape shape_of_part(const Shape& whole, int axis) {
    std::vector<int64_t> extents(whole.begin(), whole.end());
    extents.erase(extents.begin() + axis);
    return Shape(extents);
}

Status stack(const Tensor& part, const TensorArg& whole, int axis, int64_t index, size_t output) {
    if (!whole.present()) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_whole_bytes(whole.dtype));
    const AxisSplit split = AxisSplit::make(whole.shape, axis);
    const Shape wanted = shape_of_part(whole.shape, axis);
    const bool has_room = whole.grows || index < split.extent;
    if (part.dtype() != whole.dtype || part.shape() != wanted || !has_room) {
        return unsupported("output {} has another shape than it has in other iterations", output)
            .with_found(has_room ? part.shape().to_string() : fmt::format("{} parts", index + 1))
            .with_needed(has_room ? wanted.to_string() : fmt::format("{} parts", split.extent));
    }
    if (whole.grows) {
        LEAT_ASSIGN_OR_RETURN(std::byte* const room, whole.as<GrownTensor>()->add_part());
        copy_elements(whole.dtype, part.bytes(), 0, room, 0, part.element_count());
        return {};
    }
    copy_part(whole.dtype, split, index, whole.data, const_cast<std::byte*>(part.bytes()), true);
    return {};
}

void begin_stack(const TensorArg& whole) {
    if (whole.grows) {
        const int64_t elements = AxisSplit::make(whole.shape, 0).inner;
        whole.as<GrownTensor>()->begin(whole.dtype, whole.shape,
                                       storage_bytes(whole.dtype, elements).value_or(0));
    }
}

template <class T>
Result<Tensor> one_element(DType dtype, const GraphData& body, size_t input, T element) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::allocate(dtype, shape_of_one_element(body, input)));
    std::memcpy(tensor.mutable_bytes(), &element, sizeof(T));
    return tensor;
}

Status run_if(const ReferenceArgs& args) {
    const char* branch = condition_of(args.inputs[0]) ? "then_branch" : "else_branch";
    LEAT_ASSIGN_OR_RETURN(
        const Tensors results,
        evaluate_body(args.node, branch, views_of(args.inputs.subspan(args.node.own_inputs())),
                      args.stop));
    for (size_t i = 0; i < args.outputs.size(); ++i) {
        LEAT_RETURN_IF_ERROR(store(results[i], args.outputs[i], i));
    }
    return {};
}

Status run_loop(const ReferenceArgs& args) {
    const GraphData& body = *args.node.body("body");
    const size_t own = args.node.own_inputs();
    const TensorArg* const count = find_arg(args.inputs.first(own), 0);
    const TensorArg* const condition = find_arg(args.inputs.first(own), 1);
    const int64_t most =
        count != nullptr ? trip_count_of(*count) : std::numeric_limits<int64_t>::max();
    const size_t carried = carried_by_loop(args.node);
    const Tensors captured = views_of(args.inputs.subspan(own));
    Tensors values = views_of(args.inputs.subspan(std::min<size_t>(2, own), carried));
    for (size_t i = carried; i < args.outputs.size(); ++i) {
        begin_stack(args.outputs[i]);
    }
    bool goes_on = condition == nullptr || condition_of(*condition);
    bool given_condition = true;
    int64_t iteration = 0;
    for (; iteration < most && goes_on; ++iteration) {
        LEAT_RETURN_IF_ERROR(check_stop(args.stop));
        Tensors given;
        LEAT_ASSIGN_OR_RETURN(given.emplace_back(), one_element(DType::kInt64, body, 0, iteration));
        LEAT_ASSIGN_OR_RETURN(given.emplace_back(),
                              one_element(DType::kBool, body, 1, given_condition));
        given.insert(given.end(), values.begin(), values.end());
        given.insert(given.end(), captured.begin(), captured.end());
        LEAT_ASSIGN_OR_RETURN(const Tensors results,
                              evaluate_body(args.node, "body", given, args.stop, iteration));
        if (results[0].element_count() != 1) {
            return in_iteration(
                invalid_argument("the condition that the body gives must have one element")
                    .with_found(results[0].shape().to_string()),
                args.node, iteration);
        }
        given_condition = condition_of(arg_of(results[0]));
        goes_on = condition == nullptr || given_condition;
        values.assign(results.begin() + 1, results.begin() + 1 + std::ptrdiff_t(carried));
        for (size_t i = carried; i < args.outputs.size(); ++i) {
            Status status = stack(results[1 + i], args.outputs[i], 0, iteration, i);
            if (!status.ok()) {
                return in_iteration(std::move(status), args.node, iteration);
            }
        }
    }
    for (size_t i = 0; i < args.outputs.size(); ++i) {
        if (i < carried) {
            LEAT_RETURN_IF_ERROR(store(values[i], args.outputs[i], i));
        } else if (args.outputs[i].present() && !args.outputs[i].grows &&
                   args.outputs[i].shape[0] != iteration) {
            return unsupported("output {} has a part for each iteration", i)
                .with_found(fmt::format("{} iterations", iteration))
                .with_needed(fmt::format("{}, as inference found", args.outputs[i].shape[0]));
        }
    }
    return {};
}

Status run_scan(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const ScanForm form, scan_form(args.node));
    const size_t own = args.node.own_inputs();
    const Tensors captured = views_of(args.inputs.subspan(own));
    Tensors states = views_of(args.inputs.first(form.states));
    LEAT_ASSIGN_OR_RETURN(
        const int first_axis,
        normalize_axis(form.input_axes[0], args.inputs[form.states].shape.rank()));
    const int64_t length = args.inputs[form.states].shape[first_axis];
    for (int64_t iteration = 0; iteration < length; ++iteration) {
        LEAT_RETURN_IF_ERROR(check_stop(args.stop));
        Tensors given = states;
        for (size_t s = 0; s < form.sequences; ++s) {
            const TensorArg& whole = args.inputs[form.states + s];
            LEAT_RETURN_IF_ERROR(check_whole_bytes(whole.dtype));
            LEAT_ASSIGN_OR_RETURN(const int axis,
                                  normalize_axis(form.input_axes[s], whole.shape.rank()));
            const AxisSplit split = AxisSplit::make(whole.shape, axis);
            if (split.extent != length) {
                return invalid_argument("the sequences have different lengths")
                    .with_found(fmt::format("{} and {}", length, split.extent));
            }
            LEAT_ASSIGN_OR_RETURN(Tensor slice,
                                  Tensor::allocate(whole.dtype, shape_of_part(whole.shape, axis)));
            const int64_t index = form.input_is_reversed[s] ? length - 1 - iteration : iteration;
            copy_part(whole.dtype, split, index, whole.data, slice.mutable_bytes(), false);
            given.push_back(std::move(slice));
        }
        given.insert(given.end(), captured.begin(), captured.end());
        LEAT_ASSIGN_OR_RETURN(const Tensors results,
                              evaluate_body(args.node, "body", given, args.stop, iteration));
        states.assign(results.begin(), results.begin() + std::ptrdiff_t(form.states));
        for (size_t i = form.states; i < args.outputs.size(); ++i) {
            const size_t k = i - form.states;
            const int64_t index = form.output_is_reversed[k] ? length - 1 - iteration : iteration;
            const int rank = results[i].shape().rank() + 1;
            LEAT_ASSIGN_OR_RETURN(const int axis, normalize_axis(form.output_axes[k], rank));
            Status status = stack(results[i], args.outputs[i], axis, index, i);
            if (!status.ok()) {
                return in_iteration(std::move(status), args.node, iteration);
            }
        }
    }
    for (size_t c = 0; c < std::min(form.states, args.outputs.size()); ++c) {
        LEAT_RETURN_IF_ERROR(store(states[c], args.outputs[c], c));
    }
    return {};
}

}  // namespace

// Other kernels allocate nothing in a run.
Status if_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("run a branch", [&] { return run_if(args); });
}
Status loop_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("run a loop", [&] { return run_loop(args); });
}
Status scan_reference(const ReferenceArgs& args) {
    return catch_bad_alloc("run a scan", [&] { return run_scan(args); });
}

}  // namespace leat
