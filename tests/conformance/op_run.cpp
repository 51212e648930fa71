#include "conformance/op_run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "base/error.h"
#include "base/grown_tensor.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

#define LEAT_OP_FOLDER(folder) std::vector<OpCase> folder##_cases();
#include "op_table.inc"
#undef LEAT_OP_FOLDER

namespace {

constexpr int64_t kGuardBytes = 64;
constexpr auto kPattern = std::byte{0xc5};

// Random elements depend only on the case's name and the input's index.
Result<Tensor> random_input(const CaseInput& input, const std::string& case_name, size_t index) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(input.dtype, input.shape));
    uint64_t seed = 1469598103934665603U + index;
    for (const char c : case_name) {
        seed = (seed ^ uint8_t(c)) * 1099511628211U;
    }
    std::mt19937_64 engine(seed);
    const auto uniform = [&] { return double(engine() >> 11) * 0x1p-53; };
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
        const double value = input.low + uniform() * (input.high - input.low);
        if (input.dtype == DType::kString) {
            tensor.mutable_data<std::string>()[size_t(i)] =
                fmt::format("{}", int64_t(std::round(value)));
        } else if (input.dtype == DType::kBool) {
            store_real(input.dtype, tensor.mutable_bytes(), i, uniform() < 0.5 ? 1 : 0);
        } else if (contains(kFloatTypes | kSmallFloatTypes, input.dtype)) {
            store_real(input.dtype, tensor.mutable_bytes(), i, value);
        } else {
            store_real(input.dtype, tensor.mutable_bytes(), i, std::round(value));
        }
    }
    return tensor;
}

// The elements that the case gives, else random ones.
Result<Tensor> elements_of(const CaseInput& input, const std::string& case_name, size_t index) {
    if (input.value.defined()) {
        return input.value;
    }
    return random_input(input, case_name, index);
}

// Copies every element between two layouts of one shape.
void copy_elements(const TensorArg& from, const TensorArg& to) {
    const int64_t count = from.shape.element_count();
    const int64_t element_bytes = bits_of(from.dtype) / 8;
    if (bits_of(from.dtype) < 8) {
        std::memcpy(to.data, from.data, size_t(*storage_bytes(from.dtype, count)));
        return;
    }
    std::array<int64_t, kMaxRank> index{};
    for (int64_t i = 0; i < count; ++i) {
        int64_t source = 0;
        int64_t target = 0;
        for (int axis = 0; axis < from.shape.rank(); ++axis) {
            source += index[size_t(axis)] * from.strides[size_t(axis)];
            target += index[size_t(axis)] * to.strides[size_t(axis)];
        }
        if (from.dtype == DType::kString) {
            to.as<std::string>()[target] = from.as<std::string>()[source];
        } else {
            std::memcpy(to.data + target * element_bytes, from.data + source * element_bytes,
                        size_t(element_bytes));
        }
        for (int axis = from.shape.rank() - 1; axis >= 0; --axis) {
            if (++index[size_t(axis)] < from.shape[axis]) {
                break;
            }
            index[size_t(axis)] = 0;
        }
    }
}

// What a run of a kernel needs besides operands.
class KernelMemory {
  public:
    KernelMemory(const cpu::CpuKernel& kernel, int64_t threads)
        : state_(kernel.make_host_state()), shared_(DType::kUint8, kernel.shared_bytes + 64) {
        for (int64_t i = 0; i < threads; ++i) {
            scratch_.emplace_back(DType::kUint8, kernel.scratch_bytes + 64);
        }
        if (state_ != nullptr) {
            state_->begin_run();
        }
    }
    cpu::KernelArgs args(std::span<const TensorArg> inputs,
                         std::span<const TensorArg> outputs,
                         int64_t thread) {
        return {inputs, outputs, aligned(scratch_[size_t(thread)]), state_.get(), aligned(shared_)};
    }
    bool guards_intact() const {
        return shared_.guards_intact() &&
               std::all_of(scratch_.begin(), scratch_.end(),
                           [](const GuardedBuffer& b) { return b.guards_intact(); });
    }

  private:
    static std::byte* aligned(GuardedBuffer& buffer) {
        std::byte* const data = buffer.data();
        return data + (64 - reinterpret_cast<uintptr_t>(data) % 64) % 64;
    }

    std::unique_ptr<KernelState> state_;
    GuardedBuffer shared_;
    std::vector<GuardedBuffer> scratch_;  // by thread
};

// An output whose shape the kernel says. Its memory has been used before, for other elements.
class OpenBuffer {
  public:
    // input_bytes: of the case's inputs; results of eight times as many are looked at for writes
    // beyond them.
    Status attach(TensorArg& output, int64_t input_bytes) {
        const bool is_strings = output.dtype == DType::kString;
        bytes_ = is_strings ? 0 : input_bytes * 8 + kGuardBytes;
        const Shape former({is_strings ? int64_t{3} : bytes_});
        LEAT_ASSIGN_OR_RETURN(
            std::byte* const data,
            grown_.set_shape(is_strings ? DType::kString : DType::kUint8, former));
        if (is_strings) {
            std::fill_n(reinterpret_cast<std::string*>(data), former[0], "of a former run");
        } else {
            std::fill_n(data, bytes_, kPattern);
        }
        data_ = data;
        output.data = reinterpret_cast<std::byte*>(&grown_);
        output.grows = true;
        return {};
    }

    // A copy; an error if the kernel wrote beyond it, or gave it another shape than inference says.
    Result<Tensor> result(const TypeInfo& type) const {
        const Tensor view = grown_.view();
        const std::vector<DimSpec>& dims = *type.dims;
        const bool fits = view.dtype() == type.dtype && view.shape().rank() == int(dims.size()) &&
                          std::equal(dims.begin(), dims.end(), view.shape().begin(),
                                     [](const DimSpec& dim, int64_t extent) {
                                         return !dim.is_fixed() || dim.extent() == extent;
                                     });
        if (!fits) {
            return internal_error("a kernel gave a result another type than inference")
                .with_found(fmt::format("{}[{}]", name_of(view.dtype()), view.shape().to_string()))
                .with_needed(type.to_string());
        }
        if (view.bytes() == data_ &&
            !std::all_of(data_ + std::min(view.byte_count(), bytes_), data_ + bytes_,
                         [](std::byte b) { return b == kPattern; })) {
            return internal_error("a kernel wrote beyond an open result");
        }
        LEAT_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(view.dtype(), view.shape()));
        copy_elements(arg_of(view), arg_of(copy));
        return copy;
    }

  private:
    GrownTensor grown_;
    const std::byte* data_ = nullptr;  // of the memory before the run
    int64_t bytes_ = 0;                // with the pattern
};

Status run_in_parallel(const cpu::CpuKernel& kernel,
                       KernelMemory& memory,
                       std::span<const TensorArg> inputs,
                       std::span<const TensorArg> outputs) {
    std::vector<Status> statuses(size_t(kernel.tile_count));
    std::vector<std::thread> threads;
    for (int64_t tile = 0; tile < kernel.tile_count; ++tile) {
        threads.emplace_back([&, tile] {
            statuses[size_t(tile)] = kernel.run(memory.args(inputs, outputs, tile), tile, tile + 1);
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    for (Status& status : statuses) {
        LEAT_RETURN_IF_ERROR(std::move(status));
    }
    return {};
}

Status run_tiles(const cpu::CpuKernel& kernel, const cpu::KernelArgs& args, TileOrder order) {
    if (order == TileOrder::kAllAtOnce) {
        return kernel.run(args, 0, kernel.tile_count);
    }
    for (int64_t i = 0; i < kernel.tile_count; ++i) {
        const int64_t tile = order == TileOrder::kReverse ? kernel.tile_count - 1 - i : i;
        LEAT_RETURN_IF_ERROR(kernel.run(args, tile, tile + 1));
    }
    return {};
}

}  // namespace

std::vector<OpCase> all_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](std::vector<OpCase> more) {
        cases.insert(cases.end(), more.begin(), more.end());
    };
    (void)add;
#define LEAT_OP_FOLDER(folder) add(folder##_cases());
#include "op_table.inc"
#undef LEAT_OP_FOLDER
    return cases;
}

std::vector<const cpu::CpuKernelEntry*> kernels_of(std::string_view op_type) {
    std::vector<const cpu::CpuKernelEntry*> kernels;
    for (const std::span<const cpu::CpuKernelEntry> table : cpu::all_cpu_kernels()) {
        for (const cpu::CpuKernelEntry& entry : table) {
            if (entry.op_type == op_type) {
                kernels.push_back(&entry);
            }
        }
    }
    return kernels;
}

bool bitwise_equal(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || a.shape() != b.shape()) {
        return false;
    }
    if (a.dtype() == DType::kString) {
        const auto x = a.data<std::string>();
        const auto y = b.data<std::string>();
        return std::equal(x.begin(), x.end(), y.begin(), y.end());
    }
    return a.byte_count() == 0 || std::memcmp(a.bytes(), b.bytes(), size_t(a.byte_count())) == 0;
}

GuardedBuffer::GuardedBuffer(DType dtype, int64_t elements) {
    if (dtype == DType::kString) {
        strings_.resize(size_t(elements) + 1);
        data_ = reinterpret_cast<std::byte*>(strings_.data());
        return;
    }
    data_bytes_ = storage_bytes(dtype, elements).value_or(0);
    // One element beyond a multiple of 64: kernels may assume no more than the alignment of an
    // element.
    const int64_t offset = kGuardBytes + std::clamp<int64_t>(bits_of(dtype) / 8, 1, 8);
    bytes_.assign(size_t(offset + data_bytes_ + kGuardBytes + 64), kPattern);
    const auto misalignment = int64_t(reinterpret_cast<uintptr_t>(bytes_.data()) % 64);
    data_ = bytes_.data() + (misalignment == 0 ? 0 : 64 - misalignment) + offset;
}

bool GuardedBuffer::guards_intact() const {
    const auto is_pattern = [](std::byte b) { return b == kPattern; };
    return data_bytes_ == 0 ||
           (std::all_of(data_ - kGuardBytes, data_, is_pattern) &&
            std::all_of(data_ + data_bytes_, data_ + data_bytes_ + kGuardBytes - 8, is_pattern));
}

Result<std::vector<Tensor>> inputs_of(const OpCase& op_case) {
    std::vector<Tensor> inputs(op_case.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
        if (!op_case.inputs[i].absent) {
            LEAT_ASSIGN_OR_RETURN(inputs[i], elements_of(op_case.inputs[i], op_case.name, i));
        }
    }
    return inputs;
}

Result<std::unique_ptr<PreparedCase>> PreparedCase::make(const OpCase& op_case) {
    std::unique_ptr<PreparedCase> prepared(new PreparedCase);
    NodeData& node = prepared->node_;
    node.name = op_case.name;
    const size_t dot = op_case.op_type.rfind('.');
    node.domain = dot == std::string::npos ? "" : op_case.op_type.substr(0, dot);
    node.op_type = dot == std::string::npos ? op_case.op_type : op_case.op_type.substr(dot + 1);
    node.attributes = op_case.attributes;
    node.def = find_op(node.domain, node.op_type);
    if (node.def == nullptr) {
        node.domain = "leat";
        node.def = find_op("leat", op_case.op_type);
    }
    if (node.def == nullptr) {
        return not_found("operator '{}' is in no table", op_case.op_type);
    }
    LEAT_ASSIGN_OR_RETURN(prepared->inputs_, inputs_of(op_case));
    int32_t value_index = 0;
    for (const Tensor& tensor : prepared->inputs_) {
        node.inputs.push_back(tensor.defined() ? ValueId{value_index} : ValueId{});
        ++value_index;
        ValueFact fact;
        if (tensor.defined()) {
            fact.type = TypeInfo::tensor(tensor.dtype(), tensor.shape());
            fact.value = tensor;
        }
        prepared->input_facts_.push_back(std::move(fact));
    }
    for (int i = 0; i < op_case.output_count; ++i) {
        node.outputs.push_back(ValueId{value_index++});
    }
    std::vector<const ValueFact*> facts;
    for (size_t i = 0; i < op_case.inputs.size(); ++i) {
        facts.push_back(op_case.inputs[i].absent ? nullptr : &prepared->input_facts_[i]);
        const bool constant = op_case.inputs[i].constant && !op_case.inputs[i].absent;
        prepared->constants_.push_back(constant ? &prepared->inputs_[i] : nullptr);
    }
    prepared->output_facts_.resize(size_t(op_case.output_count));
    LEAT_RETURN_IF_ERROR(infer_node(node, facts, prepared->output_facts_));
    for (size_t i = 0; i < prepared->output_facts_.size(); ++i) {
        const TypeInfo& type = prepared->output_facts_[i].type;
        const bool is_open = prepared->is_open(i);
        if (type.fixed_shape().has_value() == is_open || !type.least_shape()) {
            return internal_error(
                       "inference leaves the wrong outputs open where all inputs are known")
                .with_found(type.to_string());
        }
    }
    return prepared;
}

Result<std::vector<Tensor>> PreparedCase::run_reference() const {
    std::vector<TensorArg> inputs;
    for (const Tensor& input : inputs_) {
        inputs.push_back(input.defined() ? arg_of(input) : TensorArg{});
    }
    std::vector<Tensor> results;
    std::vector<TensorArg> outputs;
    std::vector<OpenBuffer> open(output_facts_.size());
    for (size_t i = 0; i < output_facts_.size(); ++i) {
        const DType dtype = output_facts_[i].type.dtype;
        LEAT_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(dtype, output_shape(i)));
        if (dtype != DType::kString) {
            std::fill_n(result.mutable_bytes(), result.byte_count(), kPattern);
        }
        outputs.push_back(arg_of(result));
        results.push_back(std::move(result));
        if (is_open(i)) {
            LEAT_RETURN_IF_ERROR(open[i].attach(outputs.back(), input_bytes()));
        }
    }
    if (def().is_view && def().reference == nullptr) {
        copy_elements(row_major_arg(inputs[0].dtype, results[0].shape(), inputs[0].data),
                      outputs[0]);
        return results;
    }
    if (def().reference == nullptr) {
        return internal_error("operator '{}' has no reference kernel", def().name);
    }
    LEAT_RETURN_IF_ERROR(def().reference({node_, inputs, outputs}));
    for (size_t i = 0; i < results.size(); ++i) {
        if (is_open(i)) {
            LEAT_ASSIGN_OR_RETURN(results[i], open[i].result(output_facts_[i].type));
        }
    }
    return results;
}

int64_t PreparedCase::input_bytes() const {
    return std::accumulate(
        inputs_.begin(), inputs_.end(), int64_t{0},
        [](int64_t sum, const Tensor& input) { return sum + input.byte_count(); });
}

bool PreparedCase::allows(Layout layout) const {
    switch (layout) {
        case Layout::kRowMajor:
            return true;
        case Layout::kChannelsLast:
            return allows_channels_last();
        case Layout::kTransposed:
            break;
    }
    bool any = false;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        any = any || (layout_of(inputs_[i].shape(), int(i), layout) == layout &&
                      inputs_[i].dtype() == DType::kFloat32 && constants_[i] == nullptr);
    }
    return any;
}

bool PreparedCase::allows_channels_last() const {
    const TypeInfo& type = output_facts_[0].type;
    if (def().layout_rule == LayoutRule::kRowMajorOnly || type.rank() != 4 ||
        bits_of(type.dtype) < 8) {
        return false;
    }
    return std::none_of(inputs_.begin(), inputs_.end(), [](const Tensor& input) {
        return input.defined() && bits_of(input.dtype()) < 8;
    });
}

// operand: index of an input, or -1 - index of an output.
Layout PreparedCase::layout_of(const Shape& shape, int operand, Layout layout) const {
    bool lies_so = false;
    switch (layout) {
        case Layout::kRowMajor:
            break;
        case Layout::kChannelsLast:
            lies_so = shape.rank() == 4 &&
                      (def().layout_rule == LayoutRule::kAgnostic || operand == 0 || operand == -1);
            break;
        case Layout::kTransposed:
            lies_so = shape.rank() >= 2 && operand >= 0 && operand < 32 &&
                      ((def().transposed_inputs >> operand) & 1U) != 0;
            break;
    }
    return lies_so ? layout : Layout::kRowMajor;
}

TensorArg PreparedCase::input_arg(int i, Layout layout) const {
    const Tensor& input = inputs_[size_t(i)];
    if (!input.defined()) {
        return {};
    }
    TensorArg arg = row_major_arg(input.dtype(), input.shape(), nullptr);
    arg.strides = strides_of(layout_of(input.shape(), i, layout), input.shape());
    return arg;
}

TensorArg PreparedCase::output_arg(int i, Layout layout) const {
    const TypeInfo& type = output_facts_[size_t(i)].type;
    const Shape shape = output_shape(size_t(i));
    TensorArg arg = row_major_arg(type.dtype, shape, nullptr);
    arg.strides = strides_of(layout_of(shape, -1 - i, layout), shape);
    arg.grows = is_open(size_t(i));
    return arg;
}

Result<std::unique_ptr<cpu::CpuKernel>> PreparedCase::make_kernel(cpu::CpuKernelFactory factory,
                                                                  Layout layout,
                                                                  int workers) {
    std::vector<TensorArg> inputs;
    constant_buffers_.clear();
    constant_buffers_.resize(inputs_.size());
    for (size_t i = 0; i < inputs_.size(); ++i) {
        inputs.push_back(input_arg(int(i), layout));
        if (constants_[i] != nullptr) {
            constant_buffers_[i] = GuardedBuffer(inputs[i].dtype, inputs_[i].element_count());
            inputs[i].data = constant_buffers_[i].data();
            copy_elements(arg_of(inputs_[i]), inputs[i]);
        }
    }
    std::vector<TensorArg> outputs;
    for (size_t i = 0; i < output_facts_.size(); ++i) {
        outputs.push_back(output_arg(int(i), layout));
    }
    const PlacedWeights weights(weights_);
    cpu::PrepareContext context{node_, inputs, outputs, constants_, weights};
    context.workers = workers;
    LEAT_ASSIGN_OR_RETURN(std::unique_ptr<cpu::CpuKernel> kernel, factory(context));
    packed_inputs_ = context.packed_inputs;
    return kernel;
}

bool PreparedCase::allows_in_place(int input, Layout layout) const {
    if (((def().in_place_inputs >> unsigned(input)) & 1U) == 0 ||
        constants_[size_t(input)] != nullptr) {
        return false;
    }
    const TensorArg a = input_arg(input, layout);
    const TensorArg b = output_arg(0, layout);
    return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides;
}

Result<std::vector<Tensor>> PreparedCase::run_kernel(const cpu::CpuKernel& kernel,
                                                     Layout layout,
                                                     TileOrder order,
                                                     int in_place_input) const {
    std::vector<GuardedBuffer> buffers;
    std::vector<TensorArg> inputs;
    for (size_t i = 0; i < inputs_.size(); ++i) {
        TensorArg arg = input_arg(int(i), layout);
        if (constants_[i] != nullptr) {
            const bool packed = ((packed_inputs_ >> i) & 1U) != 0;
            arg.data = packed ? nullptr : const_cast<GuardedBuffer&>(constant_buffers_[i]).data();
        } else if (arg.present()) {
            buffers.emplace_back(arg.dtype, inputs_[i].element_count());
            arg.data = buffers.back().data();
            copy_elements(arg_of(inputs_[i]), arg);
        }
        inputs.push_back(arg);
    }
    std::vector<TensorArg> outputs;
    std::vector<OpenBuffer> open(output_facts_.size());
    for (size_t i = 0; i < output_facts_.size(); ++i) {
        TensorArg arg = output_arg(int(i), layout);
        if (arg.grows) {
            LEAT_RETURN_IF_ERROR(open[i].attach(arg, input_bytes()));
        } else if (i == 0 && in_place_input >= 0) {
            arg.data = inputs[size_t(in_place_input)].data;
        } else {
            buffers.emplace_back(arg.dtype, arg.shape.element_count());
            arg.data = buffers.back().data();
        }
        outputs.push_back(arg);
    }
    const bool is_parallel = order == TileOrder::kInParallel;
    KernelMemory memory(kernel, is_parallel ? kernel.tile_count : 1);
    LEAT_RETURN_IF_ERROR(is_parallel ? run_in_parallel(kernel, memory, inputs, outputs)
                                     : run_tiles(kernel, memory.args(inputs, outputs, 0), order));
    if (!std::all_of(buffers.begin(), buffers.end(),
                     [](const GuardedBuffer& b) { return b.guards_intact(); }) ||
        !memory.guards_intact()) {
        return internal_error("kernel '{}' wrote beyond a buffer", kernel.kernel_name);
    }
    std::vector<Tensor> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
        const TensorArg& output = outputs[i];
        if (output.grows) {
            LEAT_ASSIGN_OR_RETURN(Tensor grown, open[i].result(output_facts_[i].type));
            results.push_back(std::move(grown));
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(Tensor result, Tensor::allocate(output.dtype, output.shape));
        copy_elements(output, arg_of(result));
        results.push_back(std::move(result));
    }
    return results;
}

}  // namespace leat::testing
