#include "onnx/function_call.h"

#include "base/error.h"
#include "onnx/node_order.h"

namespace leat::onnx {
namespace {

BoundAttributes with_defaults(BoundAttributes arguments,
                              const FunctionProto& function,
                              Scope& caller) {
    for (const AttributeProto& attribute : function.attribute_proto) {
        arguments.emplace(attribute.name, BoundAttribute{&attribute, &caller});
    }
    return arguments;
}

}  // namespace

FunctionCall::FunctionCall(Scope& caller,
                           const NodeProto& call,
                           const FunctionProto& function,
                           BoundAttributes arguments)
    : caller_(caller),
      call_(call),
      function_(function),
      arguments_(with_defaults(std::move(arguments), function, caller)),
      opsets_(read_opsets(function.opset_import)),
      body_{.builder = caller.builder,
            .opsets = &opsets_,
            .arguments = &arguments_,
            .prefix = caller.name_inside(name_of(call))} {}

Status FunctionCall::bind_operands() {
    if (call_.input.size() > function_.input.size() ||
        call_.output.size() > function_.output.size()) {
        return invalid_argument("the call of function '{}' has too many operands", function_.name)
            .with_found(
                fmt::format("{} inputs, {} outputs", call_.input.size(), call_.output.size()))
            .with_needed(
                fmt::format("at most {} and {}", function_.input.size(), function_.output.size()));
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueId> inputs, caller_.resolve_inputs(call_));
    for (size_t i = 0; i < function_.input.size(); ++i) {
        body_.values.set(function_.input[i], i < inputs.size() ? inputs[i] : ValueId{});
    }
    // A result that is an input of the function needs a node of its own.
    for (size_t i = 0; i < call_.output.size(); ++i) {
        if (call_.output[i].empty()) {
            continue;
        }
        const ValueId result = *caller_.values.find(call_.output[i]);
        if (body_.values.insert(function_.output[i], result)) {
            body_.promised.insert(function_.output[i]);
        } else {
            copies_.emplace_back(*body_.values.find(function_.output[i]), result);
        }
    }
    return {};
}

Status FunctionCall::finish() {
    for (const std::string_view name : body_.promised) {
        const ValueData& value = caller_.builder.graph().value(*body_.values.find(name));
        if (!value.producer.valid() && !value.constant) {
            return invalid_argument("function '{}' does not produce its output '{}'",
                                    function_.name, name);
        }
    }
    return add_copies();
}

Status FunctionCall::add_copies() {
    for (const auto& [from, to] : copies_) {
        if (!from.valid()) {
            return invalid_argument(
                "an output of the function is an input that the call leaves out");
        }
        NodeData identity;
        identity.name = body_.prefix + "/Identity";
        identity.op_type = "Identity";
        identity.inputs = {from};
        identity.outputs = {to};
        caller_.builder.add_node(std::move(identity));
    }
    return {};
}

}  // namespace leat::onnx
