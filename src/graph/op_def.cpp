// Inference and evaluation of a single node, and tensors as kernels see them.
#include "graph/op_def.h"

#include <algorithm>
#include <cstring>

#include "base/grown_tensor.h"
#include "graph/dim_symbol.h"

namespace leat {
namespace {

// OpDef has a bit for each of so many outputs.
constexpr int kMaxMarkedOutputs = 32;

// Shapes have at most kMaxRank elements, so do lists that describe one per axis twice (Pad).
constexpr int64_t kMaxExtents = int64_t{4} * kMaxRank;

template <class T>
void append_ints(const Tensor& tensor, std::vector<int64_t>& out) {
    const std::span<const T> elements = tensor.data<T>();
    out.assign(elements.begin(), elements.end());
}

std::string describe_range(int low, int high) {
    if (high < 0) {
        return fmt::format("at least {}", low);
    }
    return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

Status check_count(const char* what, size_t count, int low, int high) {
    if (int64_t(count) >= low && (high < 0 || int64_t(count) <= high)) {
        return {};
    }
    return invalid_argument("wrong number of {}", what)
        .with_found(std::to_string(count))
        .with_needed(describe_range(low, high));
}

Status check_operands(const NodeData& node, std::span<const ValueFact* const> inputs) {
    const OpDef& def = *node.def;
    LEAT_RETURN_IF_ERROR(check_count("inputs", node.own_inputs(), def.min_inputs, def.max_inputs));
    LEAT_RETURN_IF_ERROR(
        check_count("outputs", node.outputs.size(), def.min_outputs, def.max_outputs));
    for (int i = 0; i < def.min_inputs; ++i) {
        if (inputs[size_t(i)] == nullptr) {
            return invalid_argument("input {} is absent but required", i);
        }
    }
    for (int i = 0; i < kMaxMarkedOutputs; ++i) {
        const bool has_name = size_t(i) < node.outputs.size() && node.outputs[size_t(i)].valid();
        if (needs_name(def, i) && !has_name) {
            return invalid_argument("output {} has no name, and is not optional", i)
                .with_needed(fmt::format("a name for output {}, whether it is read or not", i));
        }
    }
    return {};
}

// An epilogue's operand broadcasts to the result and leaves its shape as it is.
Status check_epilogue(const NodeData& node,
                      std::span<const ValueFact* const> inputs,
                      const ValueFact& result) {
    for (const EpilogueStep& step : node.epilogue) {
        if (step.operand_input < 0) {
            continue;
        }
        const bool present = size_t(step.operand_input) < inputs.size() &&
                             inputs[size_t(step.operand_input)] != nullptr;
        if (!present) {
            return internal_error("an epilogue's operand is absent");
        }
        const TypeInfo& operand = inputs[size_t(step.operand_input)]->type;
        if (operand.dims && result.type.dims && broadcasts_into(*operand.dims, *result.type.dims)) {
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(const std::optional<std::vector<DimSpec>> dims,
                              broadcast_dims(result.type, operand));
        const bool grows = dims && result.type.dims &&
                           (dims->size() != result.type.dims->size() ||
                            !std::equal(dims->begin(), dims->end(), result.type.dims->begin(),
                                        [](const DimSpec& a, const DimSpec& b) {
                                            return !a.is_fixed() || !b.is_fixed() || same_dim(a, b);
                                        }));
        if (grows) {
            return invalid_argument("the operand of a fused {} does not fit the result",
                                    step.op->name)
                .with_found(operand.to_string())
                .with_needed("a shape that broadcasts to " + result.type.to_string())
                .with_hint("two extents of the same name differ, or compile with optimize = false");
        }
    }
    return {};
}

// Extents that stand for a tensor's elements are all of them.
Status check_extents(const ValueFact& output) {
    if (!output.extents || !output.type.dims) {
        return {};
    }
    const std::vector<DimSpec>& dims = *output.type.dims;
    const bool is_open = dims.size() == 1 && !dims[0].is_fixed();
    const int64_t count = dims.empty() ? 1 : dims.size() == 1 ? dims[0].extent() : -1;
    if (is_open || count == int64_t(output.extents->size())) {
        return {};
    }
    return internal_error("inference follows {} elements of a result", output.extents->size())
        .with_found(output.type.to_string());
}

Status check_outputs(std::span<const ValueFact> outputs) {
    for (const ValueFact& output : outputs) {
        const TypeInfo& type = output.type;
        if (!type.is_tensor() || !type.dims) {
            continue;
        }
        LEAT_RETURN_IF_ERROR(check_extents(output));
        if (type.dims->size() > size_t(kMaxRank)) {
            return unsupported("a result has too many axes")
                .with_found(type.to_string())
                .with_needed(fmt::format("rank 0 to {}", kMaxRank));
        }
        for (const DimSpec& dim : *type.dims) {
            if (const std::string* const expression = find_overflow(dim)) {
                return invalid_argument("an extent of a result is too large for 64-bit sizes")
                    .with_found(*expression)
                    .with_needed("an extent below 2^63");
            }
        }
        const bool fixed = std::all_of(type.dims->begin(), type.dims->end(),
                                       [](const DimSpec& dim) { return dim.is_fixed(); });
        const std::optional<Shape> shape = fixed ? type.fixed_shape() : Shape();
        if (!shape || !storage_bytes(type.dtype, fixed ? shape->element_count() : 0)) {
            return invalid_argument("a result is too large for 64-bit sizes")
                .with_found(type.to_string());
        }
    }
    return {};
}

// Sequences and optionals are operands of those alone that work on whole values. Others look for
// an element type, which these have not.
Status check_kinds(const NodeData& node, std::span<const ValueFact* const> inputs) {
    const bool takes_all = node.def->run_values != nullptr || node.has_bodies() ||
                           (node.domain.empty() && node.op_type == "Identity");
    for (size_t i = 0; i < inputs.size() && !takes_all; ++i) {
        if (inputs[i] != nullptr && !inputs[i]->type.is_tensor()) {
            return invalid_argument("input {} must be a tensor", i)
                .with_found(inputs[i]->type.to_string())
                .with_needed("a tensor");
        }
    }
    return {};
}

Status infer_checked(const NodeData& node,
                     std::span<const ValueFact* const> inputs,
                     std::span<ValueFact> outputs,
                     BodyInputs* body_inputs) {
    if (node.def == nullptr || node.def->infer == nullptr) {
        return unsupported("the operator is not implemented")
            .with_hint("compile with another backend, or rewrite the model without it");
    }
    LEAT_RETURN_IF_ERROR(check_operands(node, inputs));
    InferContext context(node, inputs.first(node.operand_count()), outputs, body_inputs);
    LEAT_RETURN_IF_ERROR(node.def->infer(context));
    LEAT_RETURN_IF_ERROR(check_kinds(node, inputs));
    if (!node.epilogue.empty()) {
        LEAT_RETURN_IF_ERROR(check_epilogue(node, inputs, outputs[0]));
    }
    return check_outputs(outputs);
}

std::vector<TensorArg> args_of(std::span<const Tensor> tensors) {
    std::vector<TensorArg> args;
    args.reserve(tensors.size());
    for (const Tensor& tensor : tensors) {
        args.push_back(arg_of(tensor));
    }
    return args;
}

TensorArg growing_arg(const TypeInfo& type, GrownTensor& grown) {
    TensorArg arg = row_major_arg(type.dtype, type.least_shape().value_or(Shape()), &grown);
    arg.grows = true;
    return arg;
}

// Kernels store packed elements one by one, and leave what else is in the last byte.
void clear_padding(const TensorArg& tensor) {
    const int bits = tensor.present() && tensor.dtype != DType::kString ? bits_of(tensor.dtype) : 8;
    const int64_t used_bits = bits < 8 ? tensor.shape.element_count() * bits : 0;
    if (used_bits % 8 != 0) {
        tensor.data[used_bits / 8] &= std::byte((1U << (used_bits % 8)) - 1);
    }
}

// A bound of Clip: an attribute of an epilogue step, an input of the operator. Empty if absent.
Result<Tensor> clip_bound(const NodeData& step, const char* bound) {
    if (!step.has_attr(bound)) {
        return Tensor();
    }
    const std::array<float, 1> element = {step.attr(bound, 0.0F)};
    return Tensor::from<float>({}, std::span(element));
}

// One epilogue step through the reference kernel of its operator.
Result<Tensor> evaluate_step(const EpilogueStep& step, const Tensor& x, const Tensor* operand) {
    NodeData node;
    node.op_type = std::string(step.op->name);
    node.def = step.op;
    node.attributes = step.attributes;
    std::vector<Tensor> arguments;
    arguments.push_back(operand != nullptr && step.result_is_rhs ? *operand : x);
    if (operand != nullptr) {
        arguments.push_back(step.result_is_rhs ? x : *operand);
    }
    if (step.op->name == "Clip") {
        for (const char* bound : {"min", "max"}) {
            LEAT_ASSIGN_OR_RETURN(Tensor value, clip_bound(node, bound));
            arguments.push_back(std::move(value));
        }
    }
    LEAT_ASSIGN_OR_RETURN(Tensor y, Tensor::allocate(x.dtype(), x.shape()));
    const std::vector<TensorArg> inputs = args_of(arguments);
    const std::array<TensorArg, 1> outputs = {arg_of(y)};
    LEAT_RETURN_IF_ERROR(run_reference({node, inputs, outputs}));
    return y;
}

Result<std::vector<Tensor>> evaluate_checked(const NodeData& node,
                                             std::span<const Tensor* const> inputs,
                                             std::span<const ValueFact> outputs,
                                             RunStop stop) {
    std::vector<Tensor> given(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (inputs[i] != nullptr) {
            LEAT_ASSIGN_OR_RETURN(given[i], aligned(*inputs[i]));
        }
    }
    std::vector<Tensor> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
        const TypeInfo& type = outputs[i].type;
        if (is_open_output(node, int32_t(i))) {
            results.emplace_back();
            continue;
        }
        const std::optional<Shape> shape = type.fixed_shape();
        if (!shape) {
            return internal_error("evaluated with a result of unknown shape")
                .with_found(type.to_string());
        }
        if (node.def->is_view && results.empty() && node.epilogue.empty()) {
            results.push_back(given[0].reshaped(*shape));
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(type.dtype, *shape));
        results.push_back(std::move(result));
    }
    if (node.def->is_view && results.size() == 1) {
        return results;
    }
    const std::vector<TensorArg> arguments = args_of(std::span(given).first(node.operand_count()));
    std::vector<TensorArg> result_args = args_of(results);
    std::vector<GrownTensor> grown(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (is_open_output(node, int32_t(i))) {
            result_args[i] = growing_arg(outputs[i].type, grown[i]);
        }
    }
    LEAT_RETURN_IF_ERROR(run_reference({node, arguments, result_args, stop}));
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (result_args[i].grows) {
            results[i] = grown[i].view();
        }
    }
    for (const EpilogueStep& step : node.epilogue) {
        const Tensor* operand =
            step.operand_input < 0 ? nullptr : &given[size_t(step.operand_input)];
        LEAT_ASSIGN_OR_RETURN(results[0], evaluate_step(step, results[0], operand));
    }
    return results;
}

}  // namespace

Result<Tensor> copy_of(const Tensor& tensor) {
    LEAT_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(tensor.dtype(), tensor.shape()));
    if (tensor.byte_count() > 0) {
        std::memcpy(copy.mutable_bytes(), tensor.bytes(), size_t(tensor.byte_count()));
    }
    return copy;
}

Result<Tensor> aligned(const Tensor& tensor, int64_t alignment_bytes) {
    const auto address = reinterpret_cast<uintptr_t>(tensor.bytes());
    const bool lies_well = tensor.byte_count() == 0 || address % uintptr_t(alignment_bytes) == 0;
    return tensor.is_aligned() && lies_well ? Result<Tensor>(tensor) : copy_of(tensor);
}

ValueFact::ValueFact() = default;
ValueFact::ValueFact(TypeInfo fact_type, std::optional<Tensor> fact_value)
    : type(std::move(fact_type)), value(std::move(fact_value)) {}
ValueFact::ValueFact(const ValueFact&) = default;
ValueFact::ValueFact(ValueFact&&) noexcept = default;
ValueFact& ValueFact::operator=(const ValueFact&) = default;
ValueFact& ValueFact::operator=(ValueFact&&) noexcept = default;
ValueFact::~ValueFact() = default;

const Tensor* InferContext::value(int i) const {
    if (!has_input(i)) {
        return nullptr;
    }
    const std::optional<Tensor>& value = fact(i).value;
    return value ? &*value : nullptr;
}

std::optional<std::vector<int64_t>> InferContext::ints(int i) const {
    if (!has_input(i)) {
        return std::nullopt;
    }
    std::vector<int64_t> elements;
    if (const Tensor* tensor = value(i); tensor != nullptr) {
        switch (tensor->dtype()) {
            case DType::kInt64:
                append_ints<int64_t>(*tensor, elements);
                return elements;
            case DType::kInt32:
                append_ints<int32_t>(*tensor, elements);
                return elements;
            default:
                return std::nullopt;
        }
    }
    if (!fact(i).extents) {
        return std::nullopt;
    }
    for (const DimSpec& dim : *fact(i).extents) {
        if (!dim.is_fixed()) {
            return std::nullopt;
        }
        elements.push_back(dim.extent());
    }
    return elements;
}

std::optional<std::vector<DimSpec>> InferContext::extents(int i) const {
    if (!has_input(i)) {
        return std::nullopt;
    }
    if (fact(i).extents) {
        return fact(i).extents;
    }
    const Tensor* tensor = value(i);
    if (tensor == nullptr || tensor->shape().rank() > 1 || tensor->element_count() > kMaxExtents) {
        return std::nullopt;
    }
    const std::optional<std::vector<int64_t>> elements = ints(i);
    if (!elements) {
        return std::nullopt;
    }
    return std::vector<DimSpec>(elements->begin(), elements->end());
}

Strides row_major_strides(const Shape& shape) {
    Strides strides{};
    int64_t stride = 1;
    for (int axis = shape.rank(); axis-- > 0;) {
        strides[size_t(axis)] = stride;
        stride *= std::max<int64_t>(shape[axis], 1);
    }
    return strides;
}

Strides channels_last_strides(const Shape& shape) {
    if (shape.rank() < 3) {
        return row_major_strides(shape);
    }
    Strides strides{};
    strides[1] = 1;
    int64_t stride = std::max<int64_t>(shape[1], 1);
    for (int axis = shape.rank(); axis-- > 0;) {
        if (axis != 1) {
            strides[size_t(axis)] = stride;
            stride *= std::max<int64_t>(shape[axis], 1);
        }
    }
    return strides;
}

Strides strides_of(Layout layout, const Shape& shape) {
    switch (layout) {
        case Layout::kRowMajor:
            break;
        case Layout::kChannelsLast:
            return channels_last_strides(shape);
        case Layout::kTransposed: {
            const int rank = shape.rank();
            if (rank < 2) {
                break;
            }
            Strides strides = row_major_strides(shape);
            strides[size_t(rank - 2)] = 1;
            strides[size_t(rank - 1)] = std::max<int64_t>(shape[rank - 2], 1);
            return strides;
        }
    }
    return row_major_strides(shape);
}

std::string_view name_of(Layout layout) {
    switch (layout) {
        case Layout::kRowMajor:
            break;
        case Layout::kChannelsLast:
            return "channels_last";
        case Layout::kTransposed:
            return "transposed";
    }
    return "row_major";
}

bool TensorArg::lies_as(Layout layout) const {
    const Strides dense = strides_of(layout, shape);
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] == 0) {
            return true;
        }
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] != 1 && strides[size_t(axis)] != dense[size_t(axis)]) {
            return false;
        }
    }
    return true;
}

TensorArg row_major_arg(DType dtype, const Shape& shape, const void* data) {
    TensorArg arg;
    arg.dtype = dtype;
    arg.shape = shape;
    arg.strides = row_major_strides(shape);
    arg.data = static_cast<std::byte*>(const_cast<void*>(data));
    return arg;
}

TensorArg arg_of(const Tensor& tensor) {
    return row_major_arg(tensor.dtype(), tensor.shape(), tensor.bytes());
}

bool broadcasts_to_rows(const TensorArg& operand, ShardPart part, const Shape& result) {
    const bool has_axis_0 = operand.shape.rank() == result.rank();
    if (part == ShardPart::kRows) {
        return has_axis_0 && operand.shape[0] == result[0];
    }
    return part == ShardPart::kWhole && (!has_axis_0 || operand.shape[0] == 1);
}

uint32_t shape_inputs_of(const NodeData& node) {
    const bool has_some = node.def->has_shape_inputs == nullptr || node.def->has_shape_inputs(node);
    return has_some ? node.def->shape_inputs : 0;
}

uint32_t open_outputs_of(const NodeData& node) {
    const bool has_some = node.def->has_open_outputs == nullptr || node.def->has_open_outputs(node);
    return has_some ? node.def->open_outputs : 0;
}

bool is_open_output(const NodeData& node, int32_t output) {
    return output < kMaxMarkedOutputs && (open_outputs_of(node) >> unsigned(output) & 1U) != 0;
}

bool needs_name(const OpDef& def, int output) {
    return output < kMaxMarkedOutputs && (def.named_outputs >> unsigned(output) & 1U) != 0;
}

Status infer_node(const NodeData& node,
                  std::span<const ValueFact* const> inputs,
                  std::span<ValueFact> outputs,
                  BodyInputs* body_inputs) {
    Status status = infer_checked(node, inputs, outputs, body_inputs);
    return status.ok() ? Status() : std::move(status).with_node(node.label());
}

Status run_reference(const ReferenceArgs& args) {
    LEAT_RETURN_IF_ERROR(args.node.def->reference(args));
    for (const TensorArg& output : args.outputs) {
        clear_padding(output);
    }
    return {};
}

Result<std::vector<Tensor>> evaluate_node(const NodeData& node,
                                          std::span<const Tensor* const> inputs,
                                          std::span<const ValueFact> outputs,
                                          RunStop stop) {
    Result<std::vector<Tensor>> results = evaluate_checked(node, inputs, outputs, stop);
    if (!results.ok()) {
        return std::move(results).error().with_node(node.label());
    }
    return results;
}

}  // namespace leat
