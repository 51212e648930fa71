#include "backends/vulkan/plugin/node_features.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <vector>

#include "backends/lowered/plugin_graph.h"
#include "backends/vulkan/kernel_pipeline.h"
#include "graph/op_def.h"

namespace leat::vulkan {
namespace {

// Takes dispatches and keeps the first reason not to run one.
class FeatureProbe final : public KernelWriter {
  public:
    explicit FeatureProbe(const KernelLimits& limits) : limits_(limits) {}

    const KernelLimits& limits() const override { return limits_; }
    OperandRef scratch(int64_t /*size_bytes*/) override {
        return {OperandRef::Kind::kScratch, 0, 0};
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

constexpr int64_t kSymbolExtent = 2;

int64_t extent_of(const LeatDim& dim, const LeatGraphView& graph) {
    if (dim.extent >= 0 || dim.symbol < 0) {
        return dim.extent;
    }
    const LeatSymbolView& symbol = *graph.symbols[dim.symbol];
    const int64_t most = symbol.max_extent < 0 ? kSymbolExtent : symbol.max_extent;
    return std::max(symbol.min_extent, std::min(kSymbolExtent, most));
}

std::optional<Shape> shape_of(const LeatValueView& value, const LeatGraphView& graph) {
    if (value.rank < 0) {
        return std::nullopt;
    }
    std::vector<int64_t> extents;
    extents.reserve(size_t(value.rank));
    for (int32_t i = 0; i < value.rank; ++i) {
        extents.push_back(extent_of(value.dims[i], graph));
    }
    return Shape::make(extents);
}

// Of a host input: the constant's elements, or `stand_in` for each that comes with the run only.
std::optional<Tensor> known_value(const LeatValueView& view, const Shape& shape, int64_t stand_in) {
    Result<Tensor> tensor = Tensor::allocate(DType(view.dtype), shape);
    if (!tensor.ok()) {
        return std::nullopt;
    }
    if (view.constant != nullptr) {
        std::memcpy(tensor->mutable_bytes(), view.constant->tensor->data,
                    size_t(tensor->byte_count()));
    } else if (tensor->dtype() == DType::kInt64) {
        std::fill_n(tensor->mutable_data<int64_t>().begin(), tensor->element_count(), stand_in);
    } else if (tensor->dtype() == DType::kFloat32) {
        std::fill_n(tensor->mutable_data<float>().begin(), tensor->element_count(),
                    float(stand_in));
    }
    return *std::move(tensor);
}

// Facts of the node's inputs, absent ones undefined; none where a shape is not known.
std::optional<std::vector<ValueFact>> input_facts(const CheckedNode& checked, int64_t stand_in) {
    std::vector<ValueFact> facts(size_t(checked.view.input_count));
    for (size_t i = 0; i < facts.size(); ++i) {
        const int32_t value = checked.view.inputs[i];
        if (value < 0) {
            continue;
        }
        const LeatValueView& view = *checked.graph.values[value];
        const std::optional<Shape> shape = shape_of(view, checked.graph);
        if (!shape) {
            return std::nullopt;
        }
        facts[i].type = TypeInfo::tensor(DType(view.dtype), *shape);
        if (i < 32 && (checked.host_inputs >> i & 1U) != 0) {
            facts[i].value = known_value(view, *shape, stand_in);
        }
    }
    return facts;
}

std::vector<TensorArg> args_of(std::span<const ValueFact> facts) {
    std::vector<TensorArg> args(facts.size());
    for (size_t i = 0; i < facts.size(); ++i) {
        if (facts[i].type.dtype != DType::kUndefined) {
            args[i] = row_major_arg(facts[i].type.dtype, *facts[i].type.fixed_shape(),
                                    facts[i].value ? facts[i].value->bytes() : nullptr);
        }
    }
    return args;
}

std::string refusal_with(const CheckedNode& checked, const KernelLimits& limits, int64_t stand_in) {
    const std::optional<std::vector<ValueFact>> inputs = input_facts(checked, stand_in);
    if (!inputs) {
        return {};
    }
    std::vector<const ValueFact*> given;
    given.reserve(inputs->size());
    for (const ValueFact& fact : *inputs) {
        given.push_back(fact.type.dtype == DType::kUndefined ? nullptr : &fact);
    }
    std::vector<ValueFact> outputs(size_t(checked.view.output_count));
    if (!infer_node(checked.node, given, outputs).ok()) {
        return {};
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (checked.view.outputs[i] < 0) {
            outputs[i].type.dtype = DType::kUndefined;
        } else if (!outputs[i].type.fixed_shape()) {
            return {};
        }
    }
    FeatureProbe probe(limits);
    // What else the kernel refuses depends on shapes, which are made up here.
    (void)checked.entry.write({checked.node, args_of(*inputs), args_of(outputs)}, probe);
    return std::move(probe).reason();
}

}  // namespace

std::string feature_refusal(const CheckedNode& checked, const KernelLimits& limits) {
    if (limits.has_every_type()) {
        return {};
    }
    // Sizes and repeats of 0 leave nothing to do, and axes of 1 may be beyond the rank.
    for (const int64_t stand_in : {1, 0}) {
        std::string reason = refusal_with(checked, limits, stand_in);
        if (!reason.empty()) {
            return reason;
        }
    }
    return {};
}

}  // namespace leat::vulkan
