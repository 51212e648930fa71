#include "onnx/attribute_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "onnx/upgrade.h"

namespace leat::onnx {
namespace {

constexpr int64_t kFirstOpsetWithoutHints = 6;

AttributeKind kind_of(AttributeProto::Type type) {
    using Type = AttributeProto::Type;
    switch (type) {
        case Type::kFloat:
            return AttributeKind::kFloat;
        case Type::kInt:
            return AttributeKind::kInt;
        case Type::kString:
            return AttributeKind::kString;
        case Type::kTensor:
            return AttributeKind::kTensor;
        case Type::kGraph:
            return AttributeKind::kGraph;
        case Type::kFloats:
            return AttributeKind::kFloats;
        case Type::kInts:
            return AttributeKind::kInts;
        case Type::kStrings:
            return AttributeKind::kStrings;
        case Type::kSparseTensor:
            return AttributeKind::kSparseTensor;
        case Type::kTypeProto:
            return AttributeKind::kType;
        default:
            return AttributeKind::kListOfObjects;
    }
}

// So that of several errors always the same one is reported.
void sort_by_name(std::vector<GivenAttribute>& given) {
    std::sort(given.begin(), given.end(),
              [](const GivenAttribute& a, const GivenAttribute& b) { return a.name < b.name; });
}

void collect_references(const std::vector<NodeProto>& nodes, std::set<std::string_view>& names) {
    for (const NodeProto& node : nodes) {
        for (const AttributeProto& attribute : node.attribute) {
            if (!attribute.ref_attr_name.empty()) {
                names.insert(attribute.ref_attr_name);
            }
            if (attribute.g != nullptr) {
                collect_references(attribute.g->node, names);
            }
        }
    }
}

}  // namespace

bool is_ignored(std::string_view attribute, std::string_view domain, int64_t opset) {
    const bool is_hint = attribute == "consumed_inputs" && opset < kFirstOpsetWithoutHints;
    return domain.empty() && (is_hint || attribute.starts_with("__"));
}

Status check_value_field(const AttributeProto& attribute) {
    using Type = AttributeProto::Type;
    const uint32_t own_field = 1U << uint32_t(attribute.type);
    if (attribute.type == Type::kUndefined || attribute.set_fields == 0 ||
        (attribute.set_fields & own_field) != 0) {
        return {};
    }
    return invalid_argument("the value of attribute '{}' is not of the type that it says",
                            attribute.name)
        .with_found(std::string(name_of(kind_of(attribute.set_field_type))))
        .with_needed(std::string(name_of(kind_of(attribute.type))));
}

GivenAttribute given_attribute(std::string_view name, const AttributeProto& attribute) {
    if (attribute.type == AttributeProto::Type::kUndefined) {
        return {name, std::nullopt};
    }
    return {name, kind_of(attribute.type)};
}

Status check_operator(std::string_view domain,
                      std::string_view op_type,
                      int64_t opset,
                      std::vector<GivenAttribute> given) {
    std::optional<std::span<const AttributeSchema>> schemas;
    std::string name(op_type);
    if (domain.empty()) {
        schemas = find_attribute_schemas(op_type);
    } else if (const OpDef* def = find_op(domain, op_type);
               def != nullptr && !def->attributes.empty()) {
        schemas = def->attributes;
        name = fmt::format("{}.{}", domain, op_type);
    }
    if (!schemas) {
        return {};
    }
    sort_by_name(given);
    const auto version = int32_t(std::min<int64_t>(opset, kCanonicalOpset - 1));
    return check_attributes(name, *schemas, version, given);
}

Status check_call(const FunctionProto& function, std::vector<GivenAttribute> given) {
    sort_by_name(given);
    std::set<std::string_view> known(function.attribute.begin(), function.attribute.end());
    for (const AttributeProto& attribute : function.attribute_proto) {
        known.insert(attribute.name);
    }
    collect_references(function.node, known);
    for (const GivenAttribute& attribute : given) {
        if (known.count(attribute.name) == 0 && !is_ignored(attribute.name, {}, kCanonicalOpset)) {
            return invalid_argument("function '{}' has no attribute '{}'", function.name,
                                    attribute.name)
                .with_needed(known.empty() ? "none"
                                           : fmt::format("one of: {}", fmt::join(known, ", ")));
        }
    }
    return {};
}

}  // namespace leat::onnx
