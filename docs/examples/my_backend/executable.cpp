#include "executable.h"

#include <algorithm>

#include "slab.h"

namespace my {
namespace {

constexpr int32_t kFloat32 = 1;  // of ONNX's TensorProto.DataType

using leat::plugin::invalid_argument;
using leat::plugin::made;

class Requirements final : public leat::plugin::Requirements {
  public:
    Requirements(const Program& program, const LeatRunShape& shape)
        : steps_of_(size_t(program.transient_count)),
          transients_(size_t(program.transient_count), made<LeatTransient>()) {
        for (size_t i = 0; i < program.steps.size(); ++i) {
            for (const int32_t value : {program.steps[i].from, program.steps[i].to}) {
                add_use(program, value, int32_t(i), shape);
            }
            if (i > 0) {
                edges_.push_back({int32_t(i) - 1, int32_t(i)});
            }
        }
        for (size_t i = 0; i < transients_.size(); ++i) {
            transients_[i].step_count = int32_t(steps_of_[i].size());
            transients_[i].steps = steps_of_[i].data();
            pointers_.push_back(&transients_[i]);
        }
        for (const int32_t value : program.outputs) {
            bytes_.push_back(program.elements(value, shape) * int64_t(sizeof(float)));
        }
        are_bounded_.assign(bytes_.size(), 0);
        step_count = int32_t(program.steps.size());
        edge_count = int32_t(edges_.size());
        edges = edges_.data();
        transient_count = int32_t(pointers_.size());
        transients = pointers_.data();
        output_count = int32_t(bytes_.size());
        output_bytes = bytes_.data();
        output_is_bounded = are_bounded_.data();
    }

  private:
    void add_use(const Program& program, int32_t value, int32_t step, const LeatRunShape& shape) {
        const Value& used = program.values[size_t(value)];
        if (used.place == Place::kTransient) {
            LeatTransient& row = transients_[size_t(used.index)];
            row.bytes = program.elements(value, shape) * int64_t(sizeof(float));
            row.alignment_bytes = kAlignmentBytes;
            steps_of_[size_t(used.index)].push_back(step);
        }
    }

    std::vector<std::vector<int32_t>> steps_of_;  // by transient
    std::vector<LeatTransient> transients_;
    std::vector<const LeatTransient*> pointers_;
    std::vector<LeatEdge> edges_;
    std::vector<int64_t> bytes_;
    std::vector<int32_t> are_bounded_;
};

bool has_known_size(const LeatValueView& value) {
    return value.rank >= 0 && std::all_of(value.dims, value.dims + value.rank, [](LeatDim dim) {
               return dim.extent >= 0 || dim.symbol >= 0;
           });
}

}  // namespace

std::string refusal(const LeatGraphView& graph, const LeatNodeView& node) {
    if (find_kernel(node.domain, node.op_type) == nullptr) {
        return std::string("no kernel for ").append(node.op_type);
    }
    for (const int32_t id : {node.inputs[0], node.outputs[0]}) {
        const LeatValueView& value = *graph.values[id];
        if (value.dtype != kFloat32) {
            return "only f32";
        }
        if (value.constant != nullptr || !has_known_size(value)) {
            return "neither constants nor unknown extents";
        }
    }
    return {};
}

Program::Program(const LeatGraphView& graph) {
    for (int32_t i = 0; i < graph.symbol_count; ++i) {
        symbols.push_back({graph.symbols[i]->min_extent, graph.symbols[i]->max_extent});
    }
    for (const LeatValueView* view : leat::plugin::values_of(graph)) {
        Value& value = values.emplace_back();
        value.dims.assign(view->dims, view->dims + std::max(view->rank, 0));
    }
    inputs.assign(graph.inputs, graph.inputs + graph.input_count);
    outputs.assign(graph.outputs, graph.outputs + graph.output_count);
    for (size_t i = 0; i < inputs.size(); ++i) {
        values[size_t(inputs[i])].place = Place::kInput;
        values[size_t(inputs[i])].index = int32_t(i);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        Value& value = values[size_t(outputs[i])];
        if (value.place != Place::kNone) {
            throw leat::plugin::Error(kLeatUnsupported, "an output that is an input, or is twice");
        }
        value.place = Place::kOutput;
        value.index = int32_t(i);
    }
    if (graph.state_count != 0) {
        throw leat::plugin::Error(kLeatUnsupported, "no state");
    }
    for (const LeatNodeView* node : leat::plugin::nodes_of(graph)) {
        if (std::string reason = refusal(graph, *node); !reason.empty()) {
            throw leat::plugin::Error(kLeatUnsupported, std::move(reason));
        }
        steps.push_back(
            {find_kernel(node->domain, node->op_type), node->inputs[0], node->outputs[0]});
        Value& result = values[size_t(node->outputs[0])];
        if (result.place == Place::kNone) {
            result.place = Place::kTransient;
            result.index = transient_count++;
        }
    }
}

void Program::check(const LeatRunShape& shape) const {
    if (size_t(shape.symbol_count) != symbols.size()) {
        invalid_argument("not as many extents as there are symbols");
    }
    for (size_t i = 0; i < symbols.size(); ++i) {
        const int64_t extent = shape.symbols[i];
        if (extent < symbols[i].min_extent ||
            (symbols[i].max_extent >= 0 && extent > symbols[i].max_extent)) {
            invalid_argument("an extent outside its symbol's bounds");
        }
    }
}

int64_t Program::elements(int32_t value, const LeatRunShape& shape) const {
    int64_t count = 1;
    for (const LeatDim& dim : values[size_t(value)].dims) {
        count *= dim.extent >= 0 ? dim.extent : shape.symbols[dim.symbol];
    }
    return count;
}

Executable::Executable(const LeatGraphView& graph)
    : program_(graph), info_(made<LeatExecutableInfo>()) {
    info_.input_count = int32_t(program_.inputs.size());
    info_.output_count = int32_t(program_.outputs.size());
    info_.symbol_count = int32_t(program_.symbols.size());
}

std::unique_ptr<leat::plugin::Requirements> Executable::requirements(const LeatRunShape& shape) {
    program_.check(shape);
    return std::make_unique<Requirements>(program_, shape);
}

std::unique_ptr<leat::plugin::Instance> Executable::link(const LeatRunShape& shape,
                                                         const LeatLinkage& linkage) {
    program_.check(shape);
    return std::make_unique<Instance>(program_, shape, linkage);
}

Instance::Instance(const Program& program, const LeatRunShape& shape, const LeatLinkage& linkage)
    : program_(program) {
    if (linkage.transient_count != program.transient_count) {
        invalid_argument("not as many places as there are transients");
    }
    for (size_t i = 0; i < program.values.size(); ++i) {
        elements_.push_back(program.elements(int32_t(i), shape));
    }
    transients_.assign(linkage.transients, linkage.transients + linkage.transient_count);
}

std::vector<float*> Instance::addresses(const LeatBinding* inputs,
                                        const LeatBinding* outputs) const {
    std::vector<float*> addresses(program_.values.size(), nullptr);
    for (size_t i = 0; i < addresses.size(); ++i) {
        const Value& value = program_.values[i];
        const int64_t bytes = elements_[i] * int64_t(sizeof(float));
        LeatPlacement place{};
        if (value.place == Place::kNone) {
            continue;
        }
        if (value.place == Place::kTransient) {
            place = transients_[size_t(value.index)];
        } else {
            const LeatBinding& bound =
                value.place == Place::kInput ? inputs[value.index] : outputs[value.index];
            if (bound.bytes < bytes) {
                invalid_argument("a binding that is too small");
            }
            place = {bound.slab, bound.offset_bytes};
        }
        addresses[i] = reinterpret_cast<float*>(address_of(place, bytes));
    }
    return addresses;
}

void Instance::run(const std::vector<float*>& addresses) const {
    for (const Step& step : program_.steps) {
        step.kernel->run(addresses[size_t(step.from)], addresses[size_t(step.to)],
                         elements_[size_t(step.to)]);
    }
}

}  // namespace my
