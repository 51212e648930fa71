#include "compile/segments/cut_segments.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "graph/bodies.h"
#include "graph/inference.h"

namespace leat {
namespace {

class SegmentCutter {
  public:
    // is_body: of a node, in a graph that is in segments itself.
    SegmentCutter(const GraphData& graph,
                  const CompileSegment& compile,
                  bool is_body,
                  bool is_traced)
        : graph_(graph),
          is_body_(is_body),
          compile_(compile),
          uses_(graph.uses()),
          slot_of_(graph.values.size(), -1),
          cut_(std::make_shared<Segments>()) {
        cut_->is_traced = is_traced;
    }

    Result<std::shared_ptr<const Segments>> cut(const std::vector<GivenInput>& given) {
        LEAT_ASSIGN_OR_RETURN(found_, find_segments(graph_, given));
        for (const ValueId id : graph_.inputs) {
            cut_->inputs.push_back(slot_of(id));
        }
        for (int32_t segment = -1; segment < found_.count(); ++segment) {
            LEAT_RETURN_IF_ERROR(add_segment(segment));
            LEAT_RETURN_IF_ERROR(add_own_steps(segment));
        }
        for (const ValueId id : graph_.outputs) {
            cut_->outputs.push_back(slot_of(id));
        }
        mark_last_uses();
        return std::shared_ptr<const Segments>(std::move(cut_));
    }

  private:
    const TypeInfo& type_of(ValueId id) const { return found_.facts[size_t(id.index)].type; }

    int32_t slot_of(ValueId id) {
        int32_t& slot = slot_of_[id];
        if (slot < 0) {
            slot = int32_t(cut_->slots.size());
            cut_->slots.push_back({graph_.value(id).name, graph_.value(id).constant});
        }
        return slot;
    }

    bool is_in(NodeId id, int32_t segment) const {
        return !graph_.node(id).dead && !found_.is_own_step[id] &&
               found_.segment_of_node[id] == segment;
    }

    // True if something else than the segment reads the value, which the segment computes.
    bool leaves(ValueId id, int32_t segment) const {
        const auto& readers = uses_.readers[size_t(id.index)];
        return uses_.output_uses[size_t(id.index)] > 0 ||
               std::any_of(readers.begin(), readers.end(),
                           [&](NodeId reader) { return !is_in(reader, segment); });
    }

    // A graph of the segment's nodes. What others compute is an input, what others read an output.
    Status add_segment(int32_t segment) {
        Graph made;
        GraphData& part = made.data();
        part.name = graph_.name;
        part.file = graph_.file;
        part.opset_imports = graph_.opset_imports;
        SegmentStep step;
        IdVector<ValueId, ValueId> inside(graph_.values.size());
        const auto inside_of = [&](ValueId id) {
            if (!id.valid()) {
                return id;
            }
            ValueId& own = inside[id];
            if (!own.valid()) {
                const ValueData& value = graph_.value(id);
                own = value.constant ? part.add_constant(value.name, *value.constant)
                                     : part.add_value(value.name, type_of(id));
                if (!value.constant) {
                    part.inputs.push_back(own);
                    step.inputs.push_back(slot_of(id));
                }
            }
            return own;
        };
        for (NodeId n{0}; size_t(n.index) < graph_.nodes.size(); ++n.index) {
            if (!is_in(n, segment)) {
                continue;
            }
            NodeData node = graph_.node(n);
            std::transform(node.inputs.begin(), node.inputs.end(), node.inputs.begin(), inside_of);
            for (ValueId& output : node.outputs) {
                if (!output.valid()) {
                    continue;
                }
                const ValueId whole = output;
                output = part.add_value(graph_.value(whole).name, type_of(whole));
                inside[whole] = output;
                part.value(output).producer = NodeId{int32_t(part.nodes.size())};
                part.value(output).output_index = graph_.value(whole).output_index;
                if (leaves(whole, segment)) {
                    part.outputs.push_back(output);
                    part.output_names.push_back(graph_.value(whole).name);
                    step.outputs.push_back(slot_of(whole));
                }
            }
            part.nodes.push_back(std::move(node));
        }
        if (part.nodes.empty()) {
            return {};
        }
        step.reason = segment <= 0 ? std::string() : found_.cuts[size_t(segment) - 1].reason;
        LEAT_ASSIGN_OR_RETURN(step.segment,
                              compile_({made, is_body_, is_body_ || !step.reason.empty()}));
        cut_->steps.push_back(std::move(step));
        return {};
    }

    Status add_own_steps(int32_t segment) {
        for (NodeId n{0}; size_t(n.index) < graph_.nodes.size(); ++n.index) {
            const NodeData& node = graph_.node(n);
            if (node.dead || !found_.is_own_step[n] || found_.segment_of_node[n] != segment) {
                continue;
            }
            SegmentStep step;
            step.node = node;
            for (const ValueId id : node.inputs) {
                step.inputs.push_back(id.valid() ? slot_of(id) : -1);
            }
            for (const ValueId id : node.outputs) {
                step.outputs.push_back(id.valid() ? slot_of(id) : -1);
                step.output_types.push_back(id.valid() ? type_of(id) : TypeInfo());
            }
            LEAT_RETURN_IF_ERROR(add_bodies(node, step));
            cut_->steps.push_back(std::move(step));
        }
        return {};
    }

    // What all iterations have in common is known of the inputs of a body: types.
    Status add_bodies(const NodeData& node, SegmentStep& step) {
        const std::vector<const ValueFact*> operands = operand_facts(
            node,
            [this](ValueId id) -> const ValueFact& { return found_.facts[size_t(id.index)]; });
        LEAT_ASSIGN_OR_RETURN(const BodyInputs common, infer_body_inputs(node, operands));
        for (const auto& [key, body] : node.bodies()) {
            const auto inputs = common.find(key);
            if (inputs == common.end()) {
                continue;  // it never runs
            }
            std::vector<GivenInput> given;
            given.reserve(inputs->second.size());
            for (const ValueFact& fact : inputs->second) {
                given.push_back({ValueFact(fact.type), false});
            }
            Result<std::shared_ptr<const Segments>> segments =
                SegmentCutter(*body, compile_, /*is_body=*/true, cut_->is_traced).cut(given);
            if (!segments.ok()) {
                return std::move(segments).error().within(body_path(node, key));
            }
            step.bodies.emplace(key, *std::move(segments));
        }
        return {};
    }

    // Results stay; so do constants.
    void mark_last_uses() {
        std::vector<bool> is_needed(cut_->slots.size(), false);
        for (const int32_t slot : cut_->outputs) {
            is_needed[size_t(slot)] = true;
        }
        for (size_t s = cut_->steps.size(); s-- > 0;) {
            SegmentStep& step = cut_->steps[s];
            step.is_last_use.assign(step.inputs.size(), false);
            for (size_t i = step.inputs.size(); i-- > 0;) {
                const int32_t slot = step.inputs[i];
                if (slot >= 0) {
                    step.is_last_use[i] = !is_needed[size_t(slot)];
                    is_needed[size_t(slot)] = true;
                }
            }
        }
    }

    const GraphData& graph_;
    const bool is_body_;
    const CompileSegment& compile_;
    const GraphData::Uses uses_;
    GraphSegments found_;
    IdVector<ValueId, int32_t> slot_of_;
    std::shared_ptr<Segments> cut_;
};

}  // namespace

Result<std::shared_ptr<const Segments>> cut_segments(const GraphData& graph,
                                                     const std::vector<GivenInput>& given,
                                                     const CompileSegment& compile,
                                                     bool is_traced) {
    return SegmentCutter(graph, compile, /*is_body=*/false, is_traced).cut(given);
}

}  // namespace leat
