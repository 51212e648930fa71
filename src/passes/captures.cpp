// What bodies of nodes do not need goes: captured values that are constants, that nobody in the
// bodies reads or that occur twice, and results that nobody around reads.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

class CaptureSimplifier {
  public:
    CaptureSimplifier(GraphData& graph, NodeHistory& history)
        : graph_(graph), rewriter_(graph, history) {}

    void run() {
        for (int n = 0; n < graph_.node_count(); ++n) {
            if (!graph_.node({n}).dead && graph_.node({n}).has_bodies()) {
                drop_captures({n});
                drop_outputs({n});
            }
        }
    }

    int captures() const { return captures_; }
    int outputs() const { return outputs_; }

  private:
    void drop_captures(NodeId id) {
        std::vector<Rewriter> bodies;
        for (const auto& [key, body] : graph_.node(id).bodies()) {
            bodies.emplace_back(*body, rewriter_.history());
        }
        for (size_t k = graph_.node(id).captured_count(); k-- > 0;) {
            if (is_superfluous(graph_.node(id), k, bodies)) {
                drop_capture(id, k);
            }
        }
    }

    // After this no body reads its input for the captured value.
    bool is_superfluous(const NodeData& node, size_t k, std::vector<Rewriter>& bodies) const {
        const auto captured = std::span(node.inputs).subspan(node.own_inputs());
        const size_t first =
            size_t(std::find(captured.begin(), captured.end(), captured[k]) - captured.begin());
        const Tensor* const constant = constant_of(graph_, captured[k]);
        bool is_read = false;
        for (Rewriter& body : bodies) {
            const auto inputs = std::span(body.graph().inputs).last(captured.size());
            if (constant != nullptr && !body.is_unused(inputs[k])) {
                body.replace_uses(inputs[k],
                                  body.add_constant(body.graph().value(inputs[k]).name, *constant));
            } else if (first < k) {
                body.replace_uses(inputs[k], inputs[first]);
            }
            is_read = is_read || !body.is_unused(inputs[k]);
        }
        return !is_read;
    }

    void drop_capture(NodeId id, size_t k) {
        NodeData& node = graph_.node(id);
        for (const auto& [key, body] : node.bodies()) {
            body->inputs.erase(body->inputs.end() - std::ptrdiff_t(node.captured_count() - k));
        }
        std::vector<ValueId> inputs = node.inputs;
        inputs.erase(inputs.begin() + std::ptrdiff_t(node.own_inputs() + k));
        rewriter_.set_inputs(id, std::move(inputs));
        ++captures_;
    }

    // Outputs of the bodies before those that may go: the condition, and what is carried.
    void drop_outputs(NodeId id) {
        NodeData& node = graph_.node(id);
        const auto own = int64_t(node.own_inputs());
        int64_t carried = 0;
        if (node.op_type == "Loop") {
            carried = std::max<int64_t>(own - 2, 0);
        } else if (node.op_type == "Scan") {
            carried = own - node.attr("num_scan_inputs", own);
        } else if (node.op_type != "If") {
            return;
        }
        const int64_t before = node.op_type == "Loop" ? 1 : 0;
        for (auto i = int64_t(node.outputs.size()); --i >= carried && node.outputs.size() > 1;) {
            const ValueId output = node.outputs[size_t(i)];
            if (output.valid() && !rewriter_.is_unused(output)) {
                continue;
            }
            for (const auto& [key, body] : node.bodies()) {
                body->outputs.erase(body->outputs.begin() + before + i);
                body->output_names.erase(body->output_names.begin() + before + i);
            }
            for (const char* const list : {"scan_output_axes", "scan_output_directions"}) {
                drop_element(node, list, size_t(i - carried));
            }
            node.outputs.erase(node.outputs.begin() + i);
            if (output.valid()) {
                graph_.value(output).producer = {};
            }
            ++outputs_;
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                graph_.value(node.outputs[i]).output_index = int32_t(i);
            }
        }
    }

    static void drop_element(NodeData& node, const char* key, size_t i) {
        const auto found = node.attributes.find(key);
        auto* const list = found == node.attributes.end()
                               ? nullptr
                               : std::get_if<std::vector<int64_t>>(&found->second);
        if (list != nullptr && i < list->size()) {
            list->erase(list->begin() + std::ptrdiff_t(i));
        }
    }

    GraphData& graph_;
    Rewriter rewriter_;
    int captures_ = 0;
    int outputs_ = 0;
};

}  // namespace

Result<bool> simplify_captures(GraphData& graph, PassContext& context) {
    CaptureSimplifier simplifier(graph, context.history);
    simplifier.run();
    if (simplifier.captures() + simplifier.outputs() == 0) {
        return false;
    }
    context.detail =
        fmt::format("{} captured values, {} results", simplifier.captures(), simplifier.outputs());
    return true;
}

}  // namespace leat
