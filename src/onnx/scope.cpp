#include "onnx/scope.h"

#include "base/error.h"
#include "onnx/node_order.h"

namespace leat::onnx {

std::string Scope::name_inside(std::string_view name) const {
    return prefix.empty() ? std::string(name) : fmt::format("{}/{}", prefix, name);
}

Result<ValueId> Scope::add_value(std::string_view name) {
    TypeInfo type;
    if (const TypeProto* const* proto = declared.find(name); proto != nullptr) {
        Result<TypeInfo> read = read_type(**proto);
        if (!read.ok()) {
            return std::move(read).error().with_node(fmt::format("value '{}'", name));
        }
        type = std::move(read).value();
    }
    const ValueId id = builder.add_value(name_inside(name), std::move(type));
    values.set(name, id);
    return id;
}

std::optional<ValueId> Scope::find(std::string_view name) {
    if (const ValueId* const id = values.find(name); id != nullptr) {
        return *id;
    }
    if (outer == nullptr) {
        return std::nullopt;
    }
    const std::optional<ValueId> outside = outer->find(name);
    if (!outside || !outside->valid()) {
        return outside;
    }
    const ValueId id = builder.capture(outer->builder, *outside);
    values.set(name, id);
    return id;
}

Result<std::vector<ValueId>> Scope::resolve_inputs(const NodeProto& proto) {
    std::vector<ValueId> inputs;
    for (const std::string_view name : proto.input) {
        if (name.empty()) {
            inputs.emplace_back();
            continue;
        }
        const std::optional<ValueId> id = find(name);
        if (!id) {
            return invalid_argument("input {} does not exist", inputs.size())
                .with_found(fmt::format("'{}'", name))
                .with_needed("a graph input, an initializer or the output of a node")
                .with_node(label_of(proto));
        }
        inputs.push_back(*id);
    }
    while (!inputs.empty() && !inputs.back().valid()) {
        inputs.pop_back();
    }
    return inputs;
}

std::string normalized(std::string_view domain) {
    return domain == "ai.onnx" ? std::string() : std::string(domain);
}

Opsets read_opsets(const std::vector<OperatorSetId>& imports) {
    Opsets opsets;
    for (const OperatorSetId& import : imports) {
        opsets[normalized(import.domain)] = import.version;
    }
    return opsets;
}

std::vector<GivenAttribute> given_attributes(const BoundAttributes& attributes) {
    std::vector<GivenAttribute> given;
    for (const auto& [name, bound] : attributes) {
        given.push_back(given_attribute(name, *bound.proto));
    }
    return given;
}

}  // namespace leat::onnx
