#include "backends/vulkan/plugin/lower/node_probe.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "backends/lowered/plugin_graph.h"
#include "backends/vulkan/kernel/kernel_pipeline.h"
#include "base/transformed.h"
#include "graph/op_def.h"

namespace leat::vulkan {
namespace {

// Takes dispatches and keeps the first reason not to run one.
class DryWriter final : public KernelWriter {
  public:
    explicit DryWriter(const KernelLimits& limits) : limits_(limits) {}

    const KernelLimits& limits() const override { return limits_; }
    OperandRef scratch(int64_t /*size_bytes*/) override {
        return {OperandRef::Kind::kScratch, 0, 0};
    }
    OperandRef index_report(IndexReport /*report*/) override {
        return {OperandRef::Kind::kReport, 0, 0};
    }
    // As on most nodes; the kernels with windows and those without need the same arithmetic.
    bool can_be_window(const OperandRef& /*operand*/) const override {
        return limits_.max_window_texels > 0;
    }
    Status dispatch(const KernelDispatch& dispatch) override {
        const Result<std::string> missing = missing_features(dispatch.shader, limits_);
        if (reason_.empty() && missing.ok() && !missing->empty()) {
            reason_ = fmt::format("the device lacks {}, which kernel '{}' needs", *missing,
                                  dispatch.shader.name);
        }
        return Status();
    }
    // Copies and fills, and the kernels that stand in for them, need no arithmetic.
    Status copy(OperandRef /*from*/, OperandRef /*to*/, int64_t /*size_bytes*/) override {
        return Status();
    }
    Status fill(OperandRef /*to*/, int64_t /*size_bytes*/, uint32_t /*pattern*/) override {
        return Status();
    }

    std::string reason() && { return std::move(reason_); }

  private:
    const KernelLimits& limits_;
    std::string reason_;
};

std::vector<TensorArg> args_of(std::span<const ValueFact> facts) {
    std::vector<TensorArg> args(facts.size());
    for (size_t i = 0; i < facts.size(); ++i) {
        if (const std::optional<Shape> shape = facts[i].type.fixed_shape()) {
            args[i] = row_major_arg(facts[i].type.dtype, *shape,
                                    facts[i].value ? facts[i].value->bytes() : nullptr);
        }
    }
    return args;
}

constexpr int64_t kSymbolExtent = 2;

// What a node's kernel would be given, with numbers in place of those that come with the run.
class NodeFacts {
  public:
    // `stand_in`: each element of a host input that comes with the run.
    NodeFacts(const CheckedNode& checked, int64_t stand_in)
        : checked_(checked), stand_in_(stand_in) {}

    // False where a shape is not known.
    bool find();
    std::span<const ValueFact> inputs() const { return inputs_; }  // absent ones undefined
    std::span<const ValueFact> outputs() const { return outputs_; }
    bool is_made_up() const { return is_made_up_; }

  private:
    int64_t extent_of(const LeatDim& dim);
    std::optional<Shape> shape_of(const LeatValueView& value);
    std::optional<Tensor> host_value(const LeatValueView& view, const Shape& shape);
    bool find_inputs();
    bool infer();

    const CheckedNode& checked_;
    int64_t stand_in_;
    bool is_made_up_ = false;
    std::vector<ValueFact> inputs_;
    std::vector<ValueFact> outputs_;
};

int64_t NodeFacts::extent_of(const LeatDim& dim) {
    if (dim.extent >= 0 || dim.symbol < 0) {
        return dim.extent;
    }
    is_made_up_ = true;
    const LeatSymbolView& symbol = *checked_.graph.symbols[dim.symbol];
    const int64_t most = symbol.max_extent < 0 ? kSymbolExtent : symbol.max_extent;
    return std::max(symbol.min_extent, std::min(kSymbolExtent, most));
}

std::optional<Shape> NodeFacts::shape_of(const LeatValueView& value) {
    if (value.rank < 0) {
        return std::nullopt;
    }
    return Shape::make(transformed(std::span(value.dims, size_t(value.rank)),
                                   [this](const LeatDim& dim) { return extent_of(dim); }));
}

std::optional<Tensor> NodeFacts::host_value(const LeatValueView& view, const Shape& shape) {
    Result<Tensor> tensor = Tensor::allocate(DType(view.dtype), shape);
    if (!tensor.ok()) {
        return std::nullopt;
    }
    if (view.constant != nullptr) {
        std::memcpy(tensor->mutable_bytes(), view.constant->tensor->data,
                    size_t(tensor->byte_count()));
        return *std::move(tensor);
    }
    is_made_up_ = true;
    if (tensor->dtype() == DType::kInt64) {
        std::fill_n(tensor->mutable_data<int64_t>().begin(), tensor->element_count(), stand_in_);
    } else if (tensor->dtype() == DType::kFloat32) {
        std::fill_n(tensor->mutable_data<float>().begin(), tensor->element_count(),
                    float(stand_in_));
    }
    return *std::move(tensor);
}

bool NodeFacts::find_inputs() {
    inputs_.resize(size_t(checked_.view.input_count));
    for (size_t i = 0; i < inputs_.size(); ++i) {
        const int32_t value = checked_.view.inputs[i];
        if (value < 0) {
            continue;
        }
        const LeatValueView& view = *checked_.graph.values[value];
        const std::optional<Shape> shape = shape_of(view);
        if (!shape) {
            return false;
        }
        inputs_[i].type = TypeInfo::tensor(DType(view.dtype), *shape);
        if (i < 32 && (checked_.kernel.host_inputs >> i & 1U) != 0) {
            inputs_[i].value = host_value(view, *shape);
        }
    }
    return true;
}

bool NodeFacts::infer() {
    if (checked_.kernel.custom != nullptr) {
        try {
            checked_.operators.infer(checked_.node, args_of(inputs_), outputs_);
            return true;
        } catch (const plugin::Error&) {
            return false;  // the program's inference may not take what is made up
        }
    }
    const auto given = transformed(inputs_, [](const ValueFact& fact) {
        return fact.type.dtype == DType::kUndefined ? nullptr : &fact;
    });
    return infer_node(checked_.node, given, outputs_).ok();
}

bool NodeFacts::find() {
    if (!find_inputs()) {
        return false;
    }
    outputs_.resize(size_t(checked_.view.output_count));
    if (!infer()) {
        return false;
    }
    for (size_t i = 0; i < outputs_.size(); ++i) {
        if (checked_.view.outputs[i] < 0) {
            outputs_[i].type.dtype = DType::kUndefined;
        } else if (!outputs_[i].type.fixed_shape()) {
            return false;
        }
    }
    return true;
}

std::string refusal_of(const CheckedNode& checked,
                       const NodeFacts& facts,
                       const KernelLimits& limits) {
    DryWriter writer(limits);
    const Status written = checked.kernel.write(
        {checked.node, args_of(facts.inputs()), args_of(facts.outputs())}, writer);
    // Other errors are the node's own, which whoever makes its program tells with its name.
    const bool is_refused =
        !facts.is_made_up() && !written.ok() && written.code() == StatusCode::kUnsupported;
    return is_refused ? written.message() : std::move(writer).reason();
}

}  // namespace

std::string probe_node(const CheckedNode& checked, const KernelLimits& limits) {
    // Sizes and repeats of 0 leave nothing to do, and axes of 1 may be beyond the rank.
    for (const int64_t stand_in : {1, 0}) {
        NodeFacts facts(checked, stand_in);
        const bool is_found = facts.find();
        if (facts.is_made_up() && limits.has_every_type()) {
            return {};
        }
        std::string reason = is_found ? refusal_of(checked, facts, limits) : "";
        if (!reason.empty() || !facts.is_made_up()) {
            return reason;
        }
    }
    return {};
}

}  // namespace leat::vulkan
