// Chooses the order of elements in memory: channels last around convolutions and what belongs to
// them, row-major elsewhere, with leat.Layout nodes between. Greedy, in the order of the nodes,
// with a look at what the readers want; graph inputs and outputs are row-major. What a Transpose
// gives to nothing but products as their matrix B lies transposed, so that lines stay lines.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

constexpr int kMinRank = 3;
constexpr int kMaxChannelsLastRank = 5;

class LayoutAssigner {
  public:
    LayoutAssigner(GraphData& graph, PassContext& context)
        : graph_(graph),
          context_(context),
          rewriter_(graph, context.history),
          wants_channels_last_(graph.values.size(), false),
          wants_row_major_(graph.values.size(), false),
          takes_transposed_(find_takers()) {}

    bool run() {
        find_wishes();
        const int node_count = graph_.node_count();
        for (int n = 0; n < node_count; ++n) {
            assign({n});
        }
        for (ValueId& output : graph_.outputs) {
            // Readers inside of the graph keep the value as it is.
            output = in_layout(output, Layout::kRowMajor);
        }
        return channels_last_nodes_ > 0 || transposed_ > 0;
    }

    std::string detail() const {
        const std::string transposed =
            transposed_ == 0 ? "" : fmt::format(", {} transposed values", transposed_);
        return fmt::format("{} channels-last nodes, {} conversions{}", channels_last_nodes_,
                           converted_.size(), transposed);
    }

  private:
    enum class Rule : uint8_t {
        kRowMajor,
        kAlways,
        kPreferred,
        kAgnostic,
        kToLast,      // Transpose n c h w -> n h w c: free if its input is channels last
        kFromLast,    // Transpose n h w c -> n c h w: free if its result is channels last
        kTransposed,  // Transpose whose result lies transposed: free if nothing else moves
    };

    int rank(ValueId id) const { return context_.has_facts(id) ? context_.type(id).rank() : -1; }

    bool has_channels(ValueId id) const {
        return id.valid() && rank(id) >= kMinRank && rank(id) <= kMaxChannelsLastRank;
    }

    // Values of which each reader takes them transposed.
    std::vector<bool> find_takers() const {
        std::vector<bool> takes(graph_.values.size(), false);
        std::vector<bool> refuses(graph_.values.size(), false);
        for (const ValueId output : graph_.outputs) {
            refuses[size_t(output.index)] = true;
        }
        for (const NodeData& node : graph_.nodes) {
            for (size_t i = 0; i < node.inputs.size(); ++i) {
                if (node.inputs[i].valid()) {
                    const bool is_taker = i < node.own_inputs() && i < 32 &&
                                          ((node.def->transposed_inputs >> i) & 1U) != 0;
                    (is_taker ? takes : refuses)[size_t(node.inputs[i].index)] = true;
                }
            }
        }
        for (size_t value = 0; value < takes.size(); ++value) {
            takes[value] = takes[value] && !refuses[value];
        }
        return takes;
    }

    // The innermost axis becomes the last but one.
    bool gives_transposed(const NodeData& node) const {
        const ValueId result = node.outputs[0];
        const int result_rank = rank(result);
        if (result_rank < 2 || !takes_transposed_[size_t(result.index)] ||
            context_.type(result).dtype != DType::kFloat32) {
            return false;
        }
        const std::vector<int64_t>* perm = node.ints("perm");
        return perm == nullptr ? result_rank == 2
                               : (*perm)[size_t(result_rank - 2)] == result_rank - 1;
    }

    Rule rule_of(const NodeData& node) const {
        const bool is_transpose = node.domain.empty() && node.op_type == "Transpose";
        if (is_transpose && gives_transposed(node)) {
            return Rule::kTransposed;
        }
        if (node.outputs.empty() || !has_channels(node.outputs[0]) || node.inputs.empty()) {
            return Rule::kRowMajor;
        }
        if (is_transpose) {
            return transpose_rule(node);
        }
        switch (node.def->layout_rule) {
            case LayoutRule::kRowMajorOnly:
                return Rule::kRowMajor;
            case LayoutRule::kAgnostic:
                return Rule::kAgnostic;
            case LayoutRule::kChannelsLastPreferred:
                break;
        }
        const bool only_first_result =
            std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                        [&](ValueId id) { return !id.valid() || rewriter_.is_unused(id); });
        if (!only_first_result || !has_channels(node.inputs[0]) ||
            context_.type(node.outputs[0]).dtype != DType::kFloat32) {
            return Rule::kRowMajor;
        }
        return node.op_type == "Conv" ? Rule::kAlways : Rule::kPreferred;
    }

    static Rule transpose_rule(const NodeData& node) {
        const std::vector<int64_t>* perm = node.ints("perm");
        if (perm == nullptr) {
            return Rule::kRowMajor;
        }
        const auto rank = int64_t(perm->size());
        bool to_last = true;
        bool from_last = true;
        for (int64_t i = 0; i < rank; ++i) {
            const int64_t axis = (*perm)[size_t(i)];
            to_last = to_last && axis == (i == 0 ? 0 : i == rank - 1 ? 1 : i + 1);
            from_last = from_last && axis == (i == 0 ? 0 : i == 1 ? rank - 1 : i - 1);
        }
        return to_last ? Rule::kToLast : from_last ? Rule::kFromLast : Rule::kRowMajor;
    }

    // True for operands of the node that take part in its layout.
    bool follows_layout(const NodeData& node, size_t i) const {
        if (!node.inputs[i].valid() || rank(node.inputs[i]) != rank(node.outputs[0])) {
            return false;
        }
        const bool is_operand = i >= node.own_inputs();
        return i == 0 || is_operand || node.def->layout_rule == LayoutRule::kAgnostic;
    }

    // Constants have their own order: these are the same in both, those that differ are converted.
    bool same_in_both(ValueId id) const {
        const std::vector<DimSpec>& dims = *context_.type(id).dims;
        const bool one_channel = dims[1].extent() == 1;
        const bool one_place = std::all_of(dims.begin() + 2, dims.end(),
                                           [](const DimSpec& dim) { return dim.extent() == 1; });
        return one_channel || one_place;
    }

    // Backwards: what the readers of each value want, through agnostic nodes.
    void find_wishes() {
        for (ValueId output : graph_.outputs) {
            wants_row_major_[size_t(output.index)] = true;
        }
        for (size_t n = graph_.nodes.size(); n-- > 0;) {
            const NodeData& node = graph_.nodes[n];
            const Rule rule = rule_of(node);
            for (size_t i = 0; i < node.inputs.size(); ++i) {
                if (!node.inputs[i].valid()) {
                    continue;
                }
                const auto input = size_t(node.inputs[i].index);
                if (rule == Rule::kRowMajor || rule == Rule::kTransposed ||
                    rule == Rule::kFromLast ||
                    (rule != Rule::kToLast && !follows_layout(node, i))) {
                    wants_row_major_[input] = true;
                } else if (rule == Rule::kAgnostic) {
                    const auto output = size_t(node.outputs[0].index);
                    wants_channels_last_[input] =
                        wants_channels_last_[input] || wants_channels_last_[output];
                    wants_row_major_[input] = wants_row_major_[input] || wants_row_major_[output];
                } else if (rule == Rule::kToLast || rule == Rule::kAlways ||
                           wants_channels_last_[size_t(node.outputs[0].index)]) {
                    wants_channels_last_[input] = true;
                }
            }
        }
    }

    bool is_in(ValueId id, Layout layout) const {
        return id.valid() && graph_.value(id).layout == layout;
    }
    bool is_channels_last(ValueId id) const { return is_in(id, Layout::kChannelsLast); }

    bool choose_channels_last(const NodeData& node) const {
        const auto output = size_t(node.outputs[0].index);
        switch (rule_of(node)) {
            case Rule::kRowMajor:
            case Rule::kTransposed:
            case Rule::kToLast:
                return false;
            case Rule::kFromLast:
                return wants_channels_last_[output];
            case Rule::kAlways:
                return true;
            case Rule::kPreferred:
                return is_channels_last(node.inputs[0]) || wants_channels_last_[output];
            case Rule::kAgnostic:
                break;
        }
        // The cheaper of the two, counted in conversions.
        int to_channels_last = wants_row_major_[output] ? 1 : 0;
        int to_row_major = wants_channels_last_[output] ? 1 : 0;
        bool any = false;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId input = node.inputs[i];
            if (!follows_layout(node, i) || constant_of(graph_, input) != nullptr) {
                continue;
            }
            any = any || is_channels_last(input);
            const bool has_other =
                converted_.count({input.index, is_channels_last(input) ? Layout::kRowMajor
                                                                       : Layout::kChannelsLast}) !=
                0;
            (is_channels_last(input) ? to_row_major : to_channels_last) += has_other ? 0 : 1;
        }
        return any && to_channels_last <= to_row_major;
    }

    void assign(NodeId id) {
        if (graph_.node(id).dead) {
            return;
        }
        const Rule rule = rule_of(graph_.node(id));
        const bool channels_last = choose_channels_last(graph_.node(id));
        const size_t input_count = graph_.node(id).inputs.size();
        for (size_t i = 0; i < input_count; ++i) {
            const ValueId input = graph_.node(id).inputs[i];
            const bool stays = rule == Rule::kToLast || is_in(input, Layout::kTransposed);
            if (!input.valid() || stays) {
                continue;
            }
            const bool follows =
                channels_last && rule != Rule::kFromLast && follows_layout(graph_.node(id), i);
            const ValueId needed =
                in_layout(input, follows ? Layout::kChannelsLast : Layout::kRowMajor);
            if (needed != input) {
                rewriter_.set_input(id, i, needed);
            }
        }
        if (rule == Rule::kTransposed) {
            graph_.value(graph_.node(id).outputs[0]).layout = Layout::kTransposed;
            ++transposed_;
        }
        if (!channels_last) {
            return;
        }
        ++channels_last_nodes_;
        for (ValueId output : graph_.node(id).outputs) {
            if (has_channels(output)) {
                graph_.value(output).layout = Layout::kChannelsLast;
            }
        }
    }

    // The value in that layout: itself, or the result of a conversion, which is made once.
    ValueId in_layout(ValueId id, Layout layout) {
        if (graph_.value(id).layout == layout ||
            (constant_of(graph_, id) != nullptr && same_in_both(id))) {
            return id;
        }
        const auto found = converted_.find({id.index, layout});
        if (found != converted_.end()) {
            return found->second;
        }
        const char* suffix = layout == Layout::kChannelsLast ? ".channels_last" : ".row_major";
        const NodeId node =
            rewriter_.add_node("leat", "Layout", {id}, graph_.value(id).name + suffix);
        const ValueId result = graph_.node(node).outputs[0];
        graph_.value(result).layout = layout;
        graph_.value(result).type = context_.type(id);
        converted_.emplace(std::pair(id.index, layout), result);
        return result;
    }

    GraphData& graph_;
    const PassContext& context_;
    Rewriter rewriter_;
    std::vector<bool> wants_channels_last_;
    std::vector<bool> wants_row_major_;
    std::vector<bool> takes_transposed_;
    std::map<std::pair<int32_t, Layout>, ValueId> converted_;
    int channels_last_nodes_ = 0;
    int transposed_ = 0;
};

}  // namespace

Result<bool> assign_layouts(GraphData& graph, PassContext& context) {
    LayoutAssigner assigner(graph, context);
    const bool changed = assigner.run();
    if (changed) {
        context.detail = assigner.detail();
    }
    return changed;
}

}  // namespace leat
