// A scale and shift of each channel after a convolution or a Gemm with constant weights goes into
// its weights and bias: BatchNormalization in inference, and Mul, Div, Add, Sub with constants.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "ops/conv/conv.h"
#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

// y[c] = scale[c] * x[c] + shift[c].
struct Affine {
    ValueId x;
    std::vector<double> scale;
    std::vector<double> shift;
};

class AffineFolder {
  public:
    AffineFolder(GraphData& graph, PassContext& context)
        : graph_(graph), context_(context), rewriter_(graph, context.history) {}

    Result<int> run() {
        for (int n = 0; n < graph_.node_count(); ++n) {
            const NodeData& node = graph_.node({n});
            if (node.dead || !node.domain.empty() || !node.epilogue.empty()) {
                continue;
            }
            const std::optional<Affine> affine = affine_of(node);
            if (!affine) {
                continue;
            }
            const NodeId product = graph_.value(affine->x).producer;
            if (!context_.history.may_join(graph_.node(product), node)) {
                continue;
            }
            LEAT_ASSIGN_OR_RETURN(const bool folded, fold(product, *affine));
            if (folded) {
                take_result(product, {n});
                ++folded_;
            }
        }
        return folded_;
    }

  private:
    // ---- recognising ----

    // The node as a scale and shift of a Conv's or Gemm's result that only this node reads.
    std::optional<Affine> affine_of(const NodeData& node) const {
        if (node.op_type == "BatchNormalization") {
            return batch_norm(node);
        }
        if (node.inputs.size() != 2 || node.outputs.size() != 1 ||
            !(node.op_type == "Mul" || node.op_type == "Div" || node.op_type == "Add" ||
              node.op_type == "Sub")) {
            return std::nullopt;
        }
        for (size_t i = 0; i < 2; ++i) {
            const std::optional<int64_t> channels = product_channels(node.inputs[i]);
            const std::optional<std::vector<double>> operand =
                channels ? per_channel(node.inputs[1 - i], node.inputs[i], *channels)
                         : std::nullopt;
            if (operand) {
                return arithmetic(node, i, *operand);
            }
        }
        return std::nullopt;
    }

    std::optional<Affine> batch_norm(const NodeData& node) const {
        const std::optional<int64_t> channels =
            node.inputs.size() == 5 ? product_channels(node.inputs[0]) : std::nullopt;
        if (!channels || node.attr("training_mode", int64_t{0}) != 0) {
            return std::nullopt;
        }
        std::array<std::vector<float>, 4> parts;
        for (size_t i = 0; i < parts.size(); ++i) {
            std::optional<std::vector<float>> part = floats_of(graph_, node.inputs[i + 1]);
            if (!part || int64_t(part->size()) != *channels) {
                return std::nullopt;
            }
            parts[i] = std::move(*part);
        }
        const auto& [gamma, beta, mean, variance] = parts;
        const double epsilon = double(node.attr("epsilon", 1e-5F));
        Affine affine;
        affine.x = node.inputs[0];
        for (size_t c = 0; c < gamma.size(); ++c) {
            const double scale = double(gamma[c]) / std::sqrt(double(variance[c]) + epsilon);
            affine.scale.push_back(scale);
            affine.shift.push_back(double(beta[c]) - double(mean[c]) * scale);
        }
        return affine;
    }

    static std::optional<Affine> arithmetic(const NodeData& node,
                                            size_t x_index,
                                            const std::vector<double>& operand) {
        const bool x_is_rhs = x_index == 1;
        Affine affine;
        affine.x = node.inputs[x_index];
        for (double c : operand) {
            if (node.op_type == "Mul") {
                affine.scale.push_back(c);
                affine.shift.push_back(0);
            } else if (node.op_type == "Div") {
                affine.scale.push_back(1 / c);
                affine.shift.push_back(0);
            } else {
                const bool subtracts = node.op_type == "Sub";
                affine.scale.push_back(subtracts && x_is_rhs ? -1 : 1);
                affine.shift.push_back(subtracts && !x_is_rhs ? -c : c);
            }
        }
        // c / x is no scale; neither is what overflows.
        bool finite = node.op_type != "Div" || !x_is_rhs;
        for (double scale : affine.scale) {
            finite = finite && std::isfinite(scale);
        }
        return finite ? std::optional(std::move(affine)) : std::nullopt;
    }

    // Channels of the BatchNormalization with constant scale and shift that produces the value.
    std::optional<int64_t> norm_channels(ValueId id) const {
        const NodeData* norm = producer_of(graph_, id, "BatchNormalization");
        if (norm == nullptr || norm->outputs.size() != 1 || !floats_of(graph_, norm->inputs[1]) ||
            !floats_of(graph_, norm->inputs[2])) {
            return std::nullopt;
        }
        return constant_of(graph_, norm->inputs[1])->element_count();
    }

    // Output channels of the node with constant weights that produces the value for one reader.
    std::optional<int64_t> product_channels(ValueId id) const {
        if (!rewriter_.only_reader(id)) {
            return std::nullopt;
        }
        const NodeData* conv = producer_of(graph_, id, "Conv");
        const NodeData* gemm = producer_of(graph_, id, "Gemm");
        const NodeData* product = conv != nullptr ? conv : gemm;
        if (product == nullptr) {
            return norm_channels(id);
        }
        const Tensor* weights = constant_of(graph_, product->inputs[1]);
        const bool has_bias = product->inputs.size() > 2 && product->inputs[2].valid();
        if (weights == nullptr || weights->dtype() != DType::kFloat32 ||
            weights->shape().rank() < 2 || (has_bias && !floats_of(graph_, product->inputs[2]))) {
            return std::nullopt;
        }
        const bool columns_last = gemm != nullptr && gemm->attr("transB", int64_t{0}) == 0;
        return weights->shape()[columns_last ? 1 : 0];
    }

    // A constant that has one element, or one for each channel (axis 1) of `x`, as one a channel.
    std::optional<std::vector<double>> per_channel(ValueId id, ValueId x, int64_t channels) const {
        const std::optional<std::vector<float>> elements = floats_of(graph_, id);
        const int x_rank = context_.has_facts(x) ? context_.type(x).rank() : -1;
        if (!elements || x_rank < 2) {
            return std::nullopt;
        }
        const Shape& shape = constant_of(graph_, id)->shape();
        const int channel_axis = 1 - (x_rank - shape.rank());
        if (shape.rank() > x_rank) {
            return std::nullopt;
        }
        for (int axis = 0; axis < shape.rank(); ++axis) {
            if (shape[axis] != 1 && (axis != channel_axis || shape[axis] != channels)) {
                return std::nullopt;
            }
        }
        if (elements->size() == 1) {
            return std::vector<double>(size_t(channels), double(elements->front()));
        }
        return std::vector<double>(elements->begin(), elements->end());
    }

    // ---- folding ----

    Result<bool> fold(NodeId id, const Affine& affine) {
        const std::string& op = graph_.node(id).op_type;
        if (op == "Conv") {
            return fold_into_conv(id, affine);
        }
        return op == "Gemm" ? fold_into_gemm(id, affine) : fold_into_batch_norm(id, affine);
    }

    Result<bool> fold_into_batch_norm(NodeId id, const Affine& affine) {
        const NodeData& norm = graph_.node(id);
        std::vector<float> gamma = *floats_of(graph_, norm.inputs[1]);
        std::vector<float> beta = *floats_of(graph_, norm.inputs[2]);
        for (size_t c = 0; c < gamma.size(); ++c) {
            gamma[c] = float(double(gamma[c]) * affine.scale[c]);
            beta[c] = float(double(beta[c]) * affine.scale[c] + affine.shift[c]);
        }
        const Shape shape = {int64_t(gamma.size())};
        const std::string name = norm.name;
        LEAT_ASSIGN_OR_RETURN(const ValueId new_gamma,
                              rewriter_.add_floats(name + ".scale", shape, gamma));
        LEAT_ASSIGN_OR_RETURN(const ValueId new_beta,
                              rewriter_.add_floats(name + ".shift", shape, beta));
        rewriter_.set_input(id, 1, new_gamma);
        rewriter_.set_input(id, 2, new_beta);
        return true;
    }

    // The weights stay as they are: kernels scale them where they pack them.
    Result<bool> fold_into_conv(NodeId id, const Affine& affine) {
        NodeData& conv = graph_.node(id);
        const std::span<const float> before = weight_scale(conv);
        std::vector<float> scale(affine.scale.size());
        std::vector<float> bias(affine.scale.size());
        if (conv.inputs.size() > 2 && conv.inputs[2].valid()) {
            bias = *floats_of(graph_, conv.inputs[2]);
        }
        for (size_t c = 0; c < bias.size(); ++c) {
            scale[c] = float(affine.scale[c] * (before.empty() ? 1 : double(before[c])));
            bias[c] = float(double(bias[c]) * affine.scale[c] + affine.shift[c]);
        }
        const bool is_one = std::all_of(scale.begin(), scale.end(), [](float s) { return s == 1; });
        if (is_one) {
            conv.attributes.erase(std::string(kWeightScale));
        } else {
            conv.attributes.insert_or_assign(std::string(kWeightScale), std::move(scale));
        }
        return set_weights(id, conv.inputs[1], bias);
    }

    Result<bool> fold_into_gemm(NodeId id, const Affine& affine) {
        const NodeData& gemm = graph_.node(id);
        const Shape shape = constant_of(graph_, gemm.inputs[1])->shape();
        const bool transposed = gemm.attr("transB", int64_t{0}) != 0;
        const size_t channels = affine.scale.size();
        std::vector<float> bias(channels);
        if (gemm.inputs.size() > 2 && gemm.inputs[2].valid()) {
            const std::vector<float> c = *floats_of(graph_, gemm.inputs[2]);
            const Shape& c_shape = constant_of(graph_, gemm.inputs[2])->shape();
            const bool a_row = c.size() == 1 || (c.size() == channels &&
                                                 c_shape[c_shape.rank() - 1] == int64_t(channels));
            if (!a_row) {
                return false;
            }
            for (size_t i = 0; i < channels; ++i) {
                bias[i] = gemm.attr("beta", 1.0F) * c[c.size() == 1 ? 0 : i];
            }
        }
        std::vector<float> weights = *floats_of(graph_, gemm.inputs[1]);
        const auto columns = size_t(shape[1]);
        for (size_t i = 0; i < weights.size(); ++i) {
            const size_t channel = transposed ? i / columns : i % columns;
            weights[i] = float(double(weights[i]) * affine.scale[channel]);
        }
        for (size_t c = 0; c < channels; ++c) {
            bias[c] = float(double(bias[c]) * affine.scale[c] + affine.shift[c]);
        }
        LEAT_ASSIGN_OR_RETURN(const ValueId scaled,
                              rewriter_.add_floats(gemm.name + ".weights", shape, weights));
        LEAT_ASSIGN_OR_RETURN(const bool done, set_weights(id, scaled, bias));
        graph_.node(id).attributes.erase("beta");
        return done;
    }

    Result<bool> set_weights(NodeId id, ValueId weights, const std::vector<float>& bias) {
        LEAT_ASSIGN_OR_RETURN(
            const ValueId new_bias,
            rewriter_.add_floats(graph_.node(id).name + ".bias", {int64_t(bias.size())}, bias));
        rewriter_.set_inputs(id, {graph_.node(id).inputs[0], weights, new_bias});
        return true;
    }

    // The product writes the result of the node that it took in.
    void take_result(NodeId product, NodeId absorbed) {
        const ValueId result = graph_.node(absorbed).outputs[0];
        rewriter_.history().join(graph_.node(product), graph_.node(absorbed));
        rewriter_.remove(absorbed);
        graph_.node(absorbed).outputs.clear();
        graph_.value(graph_.node(product).outputs[0]).producer = {};
        graph_.node(product).outputs[0] = result;
        graph_.value(result).producer = product;
    }

    GraphData& graph_;
    const PassContext& context_;
    Rewriter rewriter_;
    int folded_ = 0;
};

}  // namespace

Result<bool> fold_batch_norm(GraphData& graph, PassContext& context) {
    LEAT_ASSIGN_OR_RETURN(const int folded, AffineFolder(graph, context).run());
    if (folded > 0) {
        context.detail = fmt::format("{} nodes", folded);
    }
    return folded > 0;
}

}  // namespace leat
