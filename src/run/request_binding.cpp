// What is bound to a request: the program's memory, as the instances of a run read and write it.
#include <algorithm>
#include <cstring>

#include "base/byte_range.h"
#include "base/error.h"
#include "base/tensor_check.h"
#include "run/request_impl.h"

namespace leat {
namespace {

std::string describe(const Tensor& tensor) {
    return fmt::format("{}[{}]", text_of(tensor.dtype()), tensor.shape().to_string());
}

// By address.
ByteRange range_of(const Tensor& tensor) {
    const auto begin = int64_t(reinterpret_cast<uintptr_t>(tensor.bytes()));
    return {begin, begin + tensor.byte_count()};
}

Status shared_memory(const std::string& first, const std::string& output) {
    return invalid_argument("{} and {} share memory", first, output)
        .with_needed("memory of its own for each output")
        .with_hint("bind other memory, or copy");
}

Status memory_of_request(const std::string& name) {
    return invalid_argument("{} is bound to memory of the request itself", name)
        .with_needed("memory that no run of the request writes")
        .with_hint("bind a copy of the earlier result, or bind that output to memory of your own");
}

std::string_view text_of_kind(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::kTensor:
            return "a tensor";
        case Value::Kind::kSequence:
            return "a sequence";
        default:
            return "an optional";
    }
}

bool has_kind(const Value& value, const TypeInfo& type) {
    switch (type.kind) {
        case TypeInfo::Kind::kTensor:
            return value.kind() == Value::Kind::kTensor;
        case TypeInfo::Kind::kSequence:
            return value.kind() == Value::Kind::kSequence;
        case TypeInfo::Kind::kOptional:
            return value.kind() == Value::Kind::kOptional;
        default:
            return false;
    }
}

// Operators read the elements as the graph declares them, and look at no type again. Any shape is
// an element's.
Status check_elements(const Value& value, const TypeInfo& type) {
    const std::span<const Value> elements = value.elements();
    if (value.kind() == Value::Kind::kOptional && elements.size() > 1) {
        return invalid_argument("an optional has one element, or none")
            .with_found(fmt::format("{} elements", elements.size()));
    }
    if (type.element == nullptr) {
        return {};
    }
    const TypeInfo& needed = *type.element;
    for (size_t i = 0; i < elements.size(); ++i) {
        const Value& element = elements[i];
        if (!has_kind(element, needed)) {
            return invalid_argument("element {} has the wrong kind", i)
                .with_found(std::string(text_of_kind(element)))
                .with_needed(needed.to_string());
        }
        if (!element.is_tensor()) {
            LEAT_RETURN_IF_ERROR(check_elements(element, needed));
            continue;
        }
        const Tensor& tensor = element.tensor();
        if (!tensor.defined() || tensor.dtype() != needed.dtype) {
            return invalid_argument("element {} has the wrong element type", i)
                .with_found(describe(tensor))
                .with_needed(std::string(name_of(needed.dtype)));
        }
        LEAT_RETURN_IF_ERROR(check_tensor(tensor));
    }
    return {};
}

}  // namespace

Status RequestState::bind(int input, Value value) {
    const ValueData& declared = compiled->graph.value(compiled->graph.inputs[size_t(input)]);
    const bool wants_tensor = declared.type.is_tensor();
    if (!has_kind(value, declared.type)) {
        return invalid_argument("input '{}' has the wrong kind", declared.name)
            .with_file(compiled->graph.file)
            .with_found(std::string(text_of_kind(value)))
            .with_needed(declared.type.to_string());
    }
    if (Status status = check_elements(value, declared.type); !status.ok()) {
        return std::move(status)
            .with_node(fmt::format("input '{}'", declared.name))
            .with_file(compiled->graph.file);
    }
    Tensor source;
    if (wants_tensor) {
        Tensor& tensor = value.tensor();
        if (tensor.dtype() != declared.type.dtype) {
            return invalid_argument("input '{}' has the wrong element type", declared.name)
                .with_file(compiled->graph.file)
                .with_found(describe(tensor))
                .with_needed(declared.type.to_string());
        }
        if (Status status = check_tensor(tensor); !status.ok()) {
            return std::move(status)
                .with_node(fmt::format("input '{}'", declared.name))
                .with_file(compiled->graph.file);
        }
        if (!tensor.is_aligned()) {
            LEAT_ASSIGN_OR_RETURN(Tensor copy, aligned_room(declared.name, tensor));
            source = std::exchange(tensor, std::move(copy));
        }
    }
    input_ranges_[size_t(input)] = range_of(source.defined() ? source : value.tensor());
    Tensor& unaligned = unaligned_[size_t(input)];
    if (unaligned.defined() || source.defined()) {
        unaligned_count_ += int(source.defined()) - int(unaligned.defined());
        unaligned = std::move(source);
    }
    inputs[size_t(input)] = std::move(value);
    bound[size_t(input)] = true;
    is_bound_anew_ = true;
    return {};
}

// For a copy of what is bound, which each run makes.
Result<Tensor> RequestState::aligned_room(const std::string& input, const Tensor& tensor) const {
    if (tensor.dtype() == DType::kString) {
        return invalid_argument("input '{}' is bound to unaligned memory", input)
            .with_file(compiled->graph.file)
            .with_found(describe(tensor))
            .with_needed("strings at an address where strings may be");
    }
    LEAT_ASSIGN_OR_RETURN(Tensor room, Tensor::allocate(tensor.dtype(), tensor.shape()));
    compiled->runtime->log(LogLevel::kInfo,
                           fmt::format("input '{}' is not aligned: each run copies it", input));
    return room;
}

void RequestState::copy_unaligned() {
    for (size_t i = 0; unaligned_count_ > 0 && i < unaligned_.size(); ++i) {
        if (const int64_t bytes = unaligned_[i].byte_count(); bytes > 0) {
            std::memcpy(inputs[i].tensor().mutable_bytes(), unaligned_[i].bytes(), size_t(bytes));
        }
    }
}

Status RequestState::bind_output(int output, Tensor tensor) {
    const std::string& name = compiled->graph.output_names[size_t(output)];
    if (Status status = check_tensor(tensor); !status.ok()) {
        return std::move(status)
            .with_node(fmt::format("output '{}'", name))
            .with_file(compiled->graph.file);
    }
    if (tensor.defined() && !tensor.is_aligned()) {
        return invalid_argument("output '{}' cannot be bound to this memory", name)
            .with_found(describe(tensor) + ", unaligned")
            .with_needed("memory that is aligned for its elements");
    }
    user_outputs[size_t(output)] = std::move(tensor);
    is_bound_anew_ = true;
    return {};
}

Status RequestState::take_over(const RequestState& former) {
    for (size_t i = 0; i < former.inputs.size(); ++i) {
        if (former.bound[i]) {
            const std::string& name =
                former.compiled->graph.value(former.compiled->graph.inputs[i]).name;
            LEAT_ASSIGN_OR_RETURN(const int same, compiled->signature.find_input(name));
            const bool is_copied = former.unaligned_[i].defined();
            LEAT_RETURN_IF_ERROR(
                bind(same, is_copied ? Value(former.unaligned_[i]) : former.inputs[i]));
        }
    }
    user_outputs = former.user_outputs;
    results = former.results;
    has_results_ = former.has_results_;
    return {};
}

Status RequestState::check_bound() const {
    for (size_t i = 0; i < bound.size(); ++i) {
        if (!bound[i]) {
            const ValueData& value = compiled->graph.value(compiled->graph.inputs[i]);
            return invalid_argument("input '{}' is missing", value.name)
                .with_file(compiled->graph.file)
                .with_needed(value.type.to_string())
                .with_hint("bind every input before run()");
        }
    }
    return {};
}

// Where a part's rows begin in the whole.
int64_t RequestState::first_byte(const Tensor& whole, int part) const {
    if (!is_divided() || whole.byte_count() == 0) {
        return 0;
    }
    const int64_t row_bytes = whole.byte_count() / whole.shape()[0];
    return division_->rows[size_t(part)].begin * row_bytes;
}

// Where an output is written to; null: to the arena.
Tensor* RequestState::target_of(int output) {
    Tensor& user = user_outputs[size_t(output)];
    if (user.defined()) {
        return &user;
    }
    return is_divided() ? &division_->outputs[size_t(output)] : nullptr;
}

// What grows has any extent where the plan has 0, until the run has ended.
Status RequestState::check_user_outputs() const {
    for (size_t i = 0; i < user_outputs.size(); ++i) {
        const PlanOutput& output = current()->plan().storage.outputs[i];
        Shape shape = is_divided() ? division_->outputs[i].shape() : output.shape;
        const Tensor& tensor = user_outputs[i];
        const bool grows = output.storage.kind == Storage::Kind::kGrown;
        for (int axis = 0; grows && tensor.shape().rank() == shape.rank() && axis < shape.rank();
             ++axis) {
            shape[axis] = shape[axis] == 0 ? tensor.shape()[axis] : shape[axis];
        }
        Status status = check_user_output(int(i), output.dtype, shape);
        if (!status.ok()) {
            return grows ? std::move(status).with_hint(
                               "only the run knows how large this output is: 0 stands for that")
                         : std::move(status);
        }
    }
    return {};
}

Status RequestState::check_user_output(int output, DType dtype, const Shape& shape) const {
    const Tensor& tensor = user_outputs[size_t(output)];
    if (!tensor.defined() || (tensor.dtype() == dtype && tensor.shape() == shape)) {
        return {};
    }
    return invalid_argument("output '{}' is bound to memory of another shape",
                            compiled->graph.output_names[size_t(output)])
        .with_file(compiled->graph.file)
        .with_found(describe(tensor))
        .with_needed(fmt::format("{}[{}]", name_of(dtype), shape.to_string()));
}

// A run writes outputs, and its own memory, at any time: nothing else may lie there.
Status RequestState::check_overlaps() {
    const auto name_of_input = [this](size_t input) {
        return fmt::format("input '{}'", compiled->graph.value(compiled->graph.inputs[input]).name);
    };
    const auto name_of_output = [this](size_t output) {
        return fmt::format("output '{}'", compiled->graph.output_names[output]);
    };
    for (size_t output = 0; output < results.size(); ++output) {
        const Tensor* const target = target_of(int(output));
        if (target == nullptr) {
            continue;
        }
        const ByteRange written = range_of(*target);
        for (size_t other = 0; other < output; ++other) {
            const Tensor* const before = target_of(int(other));
            if (before != nullptr && range_of(*before).meets(written)) {
                return shared_memory(name_of_output(other), name_of_output(output));
            }
        }
        for (size_t input = 0; input < inputs.size(); ++input) {
            if (input_ranges_[input].meets(written)) {
                return shared_memory(name_of_input(input), name_of_output(output));
            }
        }
        if (uses_memory(written)) {
            return memory_of_request(name_of_output(output));
        }
    }
    for (size_t input = 0; input < inputs.size(); ++input) {
        if (uses_memory(input_ranges_[input])) {
            return memory_of_request(name_of_input(input));
        }
    }
    return {};
}

bool RequestState::uses_memory(const ByteRange& range) const {
    return std::any_of(active_.begin(), active_.end(), [&](int part) {
        const Instance* const instance = parts_[size_t(part)].current();  // null: it has segments
        return instance != nullptr && instance->uses_memory(range);
    });
}

// Something may have been bound since they were looked for.
Status RequestState::check_new_overlaps() {
    if (is_bound_anew_) {
        if (Status status = check_overlaps(); !status.ok()) {
            return std::move(status).with_file(compiled->graph.file);
        }
        is_bound_anew_ = false;
    }
    return {};
}

// Points the current instances at what is bound now; only addresses, no allocation.
Status RequestState::bind_addresses() {
    LEAT_RETURN_IF_ERROR(check_user_outputs());
    LEAT_RETURN_IF_ERROR(check_new_overlaps());
    for (const int part : active_) {
        Instance& instance = *parts_[size_t(part)].current();
        for (size_t i = 0; i < inputs.size(); ++i) {
            if (inputs[i].is_tensor()) {
                const Tensor& tensor = inputs[i].tensor();
                const bool is_part = is_divided() && division_->is_divided_input[i];
                instance.addresses().set_input(
                    int(i), tensor.bytes() + (is_part ? first_byte(tensor, part) : 0));
            }
        }
        for (size_t i = 0; i < results.size(); ++i) {
            instance.addresses().set_output(int(i), nullptr);
        }
        for (size_t i = 0; i < results.size(); ++i) {
            if (Tensor* target = target_of(int(i))) {
                instance.addresses().set_output(
                    int(i), target->mutable_bytes() + first_byte(*target, part));
            }
        }
    }
    return {};
}

}  // namespace leat
