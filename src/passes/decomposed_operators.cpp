// Operators that exporters write as several nodes become one again: LayerNormalization, Gelu (erf
// and tanh form), GlobalAveragePool.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

bool near(float a, double b) {
    return std::abs(double(a) - b) <= 1e-5 * std::abs(b);
}

class OperatorFuser {
  public:
    OperatorFuser(GraphData& graph, PassContext& context)
        : graph_(graph), context_(context), rewriter_(graph, context.history) {}

    Result<int> run() {
        const int node_count = graph_.node_count();
        for (int n = 0; n < node_count; ++n) {
            const NodeData& node = graph_.node({n});
            if (node.dead || !node.domain.empty() || node.outputs.size() != 1 ||
                !context_.has_facts(node.outputs[0]) ||
                context_.type(node.outputs[0]).dtype != DType::kFloat32) {
                continue;
            }
            if (node.op_type == "Erf" || node.op_type == "Tanh") {
                fuse_gelu(node);
            } else if (node.op_type == "Sigmoid" || node.op_type == "HardSigmoid") {
                fuse_swish(node);
            } else if (node.op_type == "Sum" && node.inputs.size() == 2) {
                rewriter_.become({n}, "Add", std::vector<ValueId>(node.inputs), {});
                ++fused_;
            } else if (node.op_type == "Div") {
                LEAT_RETURN_IF_ERROR(fuse_layer_norm({n}));
            } else if (node.op_type == "ReduceMean") {
                LEAT_RETURN_IF_ERROR(fuse_global_average({n}));
            }
        }
        return fused_;
    }

  private:
    // ---- walking ----

    // The only reader of a value if it is of this operator.
    std::optional<NodeId> next(ValueId id, std::string_view op) const {
        const std::optional<NodeId> reader = rewriter_.only_reader(id);
        const bool matches = reader && graph_.node(*reader).domain.empty() &&
                             graph_.node(*reader).op_type == op &&
                             graph_.node(*reader).outputs.size() == 1;
        return matches ? reader : std::nullopt;
    }

    ValueId other_input(NodeId node, ValueId id) const {
        const std::vector<ValueId>& inputs = graph_.node(node).inputs;
        return inputs.size() != 2 ? ValueId{} : inputs[inputs[0] == id ? 1 : 0];
    }

    bool is_scalar(ValueId id, double number) const {
        const std::optional<float> scalar = scalar_of(graph_, id);
        return scalar && near(*scalar, number);
    }

    // If `id` is x * number (or x / (1 / number)) with a constant: x; else absent.
    ValueId without_factor(ValueId id, double number) const {
        if (const NodeData* mul = producer_of(graph_, id, "Mul"); mul != nullptr) {
            for (size_t i = 0; i < 2; ++i) {
                if (is_scalar(mul->inputs[i], number)) {
                    return mul->inputs[1 - i];
                }
            }
        }
        const NodeData* div = producer_of(graph_, id, "Div");
        return div != nullptr && is_scalar(div->inputs[1], 1 / number) ? div->inputs[0] : ValueId{};
    }

    ValueId output(NodeId node) const { return graph_.node(node).outputs[0]; }

    // `last` becomes the operator that it ends, unless parts of that are pinned to several devices.
    void fuse(NodeId last, const char* op, std::vector<ValueId> inputs, Attributes attributes) {
        const bool is_fused =
            rewriter_.replace_pattern(last, op, std::move(inputs), std::move(attributes));
        fused_ += is_fused ? 1 : 0;
    }

    // ---- Gelu ----

    // 0.5 * x * (1 + f), the factors in any order, where f is the result of Erf or Tanh.
    void fuse_gelu(const NodeData& inner) {
        const bool is_erf = inner.op_type == "Erf";
        const ValueId x = is_erf ? without_factor(inner.inputs[0], std::sqrt(0.5))
                                 : tanh_argument(inner.inputs[0]);
        const std::optional<NodeId> plus_one = next(inner.outputs[0], "Add");
        if (!x.valid() || !plus_one || !is_scalar(other_input(*plus_one, inner.outputs[0]), 1)) {
            return;
        }
        std::optional<NodeId> last = next(output(*plus_one), "Mul");
        if (!last) {
            return;
        }
        const ValueId factor = other_input(*last, output(*plus_one));
        if (factor == x || is_scalar(factor, 0.5)) {  // (x * p) * 0.5 or (p * 0.5) * x
            const std::optional<NodeId> second = next(output(*last), "Mul");
            const ValueId rest = second ? other_input(*second, output(*last)) : ValueId{};
            const bool complete = rest.valid() && (factor == x ? is_scalar(rest, 0.5) : rest == x);
            last = complete ? second : std::nullopt;
        } else if (without_factor(factor, 0.5) != x) {  // (x * 0.5) * p
            last = std::nullopt;
        }
        if (last && same_shape(context_.type(x), context_.type(output(*last)))) {
            Attributes attributes;
            attributes["approximate"] = std::string(is_erf ? "none" : "tanh");
            fuse(*last, "Gelu", {x}, std::move(attributes));
        }
    }

    // x of sqrt(2 / pi) * (x + 0.044715 * x^3).
    ValueId tanh_argument(ValueId id) const {
        constexpr double kTwoOverPi = 0.63661977236758134;
        const NodeData* sum = producer_of(graph_, without_factor(id, std::sqrt(kTwoOverPi)), "Add");
        if (sum == nullptr) {
            return {};
        }
        for (size_t i = 0; i < 2; ++i) {
            const ValueId x = sum->inputs[i];
            if (is_cube(without_factor(sum->inputs[1 - i], 0.044715), x)) {
                return x;
            }
        }
        return {};
    }

    bool is_cube(ValueId id, ValueId x) const {
        if (const NodeData* pow = producer_of(graph_, id, "Pow"); pow != nullptr) {
            return pow->inputs[0] == x && is_scalar(pow->inputs[1], 3);
        }
        const NodeData* mul = producer_of(graph_, id, "Mul");
        for (size_t i = 0; mul != nullptr && i < 2; ++i) {
            if (mul->inputs[i] == x && is_square(mul->inputs[1 - i], x)) {
                return true;
            }
        }
        return false;
    }

    bool is_square(ValueId id, ValueId x) const {
        if (const NodeData* pow = producer_of(graph_, id, "Pow"); pow != nullptr) {
            return pow->inputs[0] == x && is_scalar(pow->inputs[1], 2);
        }
        const NodeData* mul = producer_of(graph_, id, "Mul");
        return mul != nullptr && mul->inputs[0] == x && mul->inputs[1] == x;
    }

    // ---- Swish and HardSwish ----

    // x * Sigmoid(x); x * HardSigmoid(x) with the parameters of HardSwish.
    void fuse_swish(const NodeData& gate) {
        const bool hard = gate.op_type == "HardSigmoid";
        if (hard &&
            !(near(gate.attr("alpha", 0.2F), 1.0 / 6) && near(gate.attr("beta", 0.5F), 0.5))) {
            return;
        }
        const ValueId x = gate.inputs[0];
        const std::optional<NodeId> mul = next(gate.outputs[0], "Mul");
        if (mul && other_input(*mul, gate.outputs[0]) == x) {
            fuse(*mul, hard ? "HardSwish" : "Swish", {x}, {});
        }
    }

    // ---- LayerNormalization ----

    // (x - mean) / sqrt(mean((x - mean)^2) + epsilon) [* gamma [+ beta]] over the last axis, at its
    // Div.
    Status fuse_layer_norm(NodeId id) {
        const NodeData& div = graph_.node(id);
        const ValueId centered = div.inputs[0];
        const NodeData* sqrt = producer_of(graph_, div.inputs[1], "Sqrt");
        const NodeData* sum =
            sqrt == nullptr ? nullptr : producer_of(graph_, sqrt->inputs[0], "Add");
        const NodeData* sub = producer_of(graph_, centered, "Sub");
        if (sum == nullptr || sub == nullptr) {
            return {};
        }
        const ValueId x = sub->inputs[0];
        const bool constant_first = scalar_of(graph_, sum->inputs[0]).has_value();
        const std::optional<float> epsilon = scalar_of(graph_, sum->inputs[constant_first ? 0 : 1]);
        const ValueId square = last_axis_mean(sum->inputs[constant_first ? 1 : 0]);
        if (!epsilon || last_axis_mean(sub->inputs[1]) != x || !square.valid() ||
            !is_square(square, centered) || !context_.has_facts(x) || context_.type(x).rank() < 1) {
            return {};
        }
        const DimSpec& width = context_.type(x).dims->back();
        const std::optional<NodeId> scaled = next(div.outputs[0], "Mul");
        ValueId gamma = scaled ? other_input(*scaled, div.outputs[0]) : ValueId{};
        NodeId last = id;
        std::vector<ValueId> inputs = {x};
        if (is_row(gamma, width)) {
            last = *scaled;
        } else if (width.is_fixed()) {
            LEAT_ASSIGN_OR_RETURN(
                gamma, rewriter_.add_floats(div.name + ".scale", {width.extent()},
                                            std::vector<float>(size_t(width.extent()), 1.0F)));
        } else {
            return {};
        }
        inputs.push_back(gamma);
        const std::optional<NodeId> shifted = next(output(last), "Add");
        const ValueId beta = shifted ? other_input(*shifted, output(last)) : ValueId{};
        if (is_row(beta, width)) {
            last = *shifted;
            inputs.push_back(beta);
        }
        Attributes attributes;
        attributes["axis"] = int64_t{-1};
        attributes["epsilon"] = *epsilon;
        fuse(last, "LayerNormalization", std::move(inputs), std::move(attributes));
        return {};
    }

    // A vector as long as the last axis.
    bool is_row(ValueId id, const DimSpec& width) const {
        return context_.has_facts(id) && context_.type(id).rank() == 1 &&
               context_.type(id).dtype == DType::kFloat32 &&
               same_dim(context_.type(id).dims->front(), width);
    }

    // v of ReduceMean(v) over the last axis that keeps it; else absent.
    ValueId last_axis_mean(ValueId id) const {
        const NodeData* mean = producer_of(graph_, id, "ReduceMean");
        if (mean == nullptr || mean->attr("keepdims", int64_t{1}) != 1) {
            return {};
        }
        const int rank =
            context_.has_facts(mean->inputs[0]) ? context_.type(mean->inputs[0]).rank() : -1;
        const std::vector<int64_t> axes = reduced_axes(*mean, rank);
        return axes.size() == 1 && axes[0] == rank - 1 ? mean->inputs[0] : ValueId{};
    }

    // Sorted, not negative; empty if unknown.
    std::vector<int64_t> reduced_axes(const NodeData& node, int rank) const {
        const std::optional<std::vector<int64_t>> axes =
            node.inputs.size() > 1 ? ints_of(graph_, node.inputs[1]) : std::nullopt;
        if (!axes || rank < 0) {
            return {};
        }
        std::vector<int64_t> sorted;
        for (int64_t axis : *axes) {
            sorted.push_back(axis < 0 ? axis + rank : axis);
        }
        std::sort(sorted.begin(), sorted.end());
        return sorted;
    }

    // ---- GlobalAveragePool ----

    // The mean over all axes but batch and channels, which has a channels-last kernel.
    Status fuse_global_average(NodeId id) {
        const NodeData& node = graph_.node(id);
        const ValueId x = node.inputs[0];
        const int rank = context_.has_facts(x) ? context_.type(x).rank() : -1;
        const std::vector<int64_t> axes = reduced_axes(node, rank);
        if (rank < 4 || rank > 5 || int(axes.size()) != rank - 2 || axes[0] != 2 ||
            std::adjacent_find(axes.begin(), axes.end()) != axes.end()) {
            return {};
        }
        if (node.attr("keepdims", int64_t{1}) == 1) {
            rewriter_.become(id, "GlobalAveragePool", {x}, {});
            ++fused_;
            return {};
        }
        const std::vector<DimSpec>& dims = *context_.type(x).dims;
        const TypeInfo pooled =
            TypeInfo::tensor(DType::kFloat32, std::vector<DimSpec>{dims[0], dims[1]});
        const std::optional<std::vector<int64_t>> target = reshape_target(context_.type(x), pooled);
        if (!target) {
            return {};
        }
        LEAT_ASSIGN_OR_RETURN(const ValueId shape,
                              rewriter_.add_ints(node.name + ".shape", *target));
        const NodeId pool =
            rewriter_.add_node("", "GlobalAveragePool", {x}, graph_.node(id).name + ".pool");
        rewriter_.history().copy_pin(graph_.node(id), graph_.node(pool));
        rewriter_.become(id, "Reshape", {output(pool), shape}, {});
        ++fused_;
        return {};
    }

    GraphData& graph_;
    const PassContext& context_;
    Rewriter rewriter_;
    int fused_ = 0;
};

}  // namespace

Result<bool> fuse_decomposed_operators(GraphData& graph, PassContext& context) {
    LEAT_ASSIGN_OR_RETURN(const int fused, OperatorFuser(graph, context).run());
    if (fused > 0) {
        context.detail = fmt::format("{} operators", fused);
    }
    return fused > 0;
}

}  // namespace leat
