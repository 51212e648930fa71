#include "graph/attribute_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"

namespace leat {
namespace {

constexpr std::string_view kKindNames[] = {"int",
                                           "float",
                                           "string",
                                           "tensor",
                                           "ints",
                                           "floats",
                                           "strings",
                                           "graph",
                                           "sparse tensor",
                                           "type",
                                           "list of tensors, graphs or types"};
static_assert(std::size(kKindNames) == size_t(AttributeKind::kListOfObjects) + 1);

std::string version_of(std::string_view op, int32_t opset) {
    return opset >= kCanonicalOpset ? std::string(op) : fmt::format("{} of opset {}", op, opset);
}

// "axis (int), keepdims (int)"
std::string describe_known(std::span<const AttributeSchema> schemas, int32_t opset) {
    std::vector<std::string> known;
    for (const AttributeSchema& row : schemas) {
        if (row.is_in(opset)) {
            known.push_back(fmt::format("{} ({})", row.name, name_of(row.kind)));
        }
    }
    return known.empty() ? "none" : fmt::format("one of: {}", fmt::join(known, ", "));
}

// In which opsets of files there is an attribute of that name; empty if in none.
std::string describe_versions(std::span<const AttributeSchema> schemas, std::string_view name) {
    for (const AttributeSchema& row : schemas) {
        if (row.name != name || row.since >= kCanonicalOpset) {
            continue;
        }
        if (row.before >= kCanonicalOpset) {
            return fmt::format("'{}' is an attribute since opset {}", name, row.since);
        }
        return row.since == 1
                   ? fmt::format("'{}' is an attribute before opset {}", name, row.before)
                   : fmt::format("'{}' is an attribute since opset {} and before opset {}", name,
                                 row.since, row.before);
    }
    return {};
}

const AttributeSchema* find_row(std::span<const AttributeSchema> schemas,
                                int32_t opset,
                                std::string_view name) {
    const auto row = std::find_if(schemas.begin(), schemas.end(), [&](const AttributeSchema& each) {
        return each.name == name && each.is_in(opset);
    });
    return row == schemas.end() ? nullptr : &*row;
}

// All of them: an old form often has several.
Status check_names(std::string_view op,
                   std::span<const AttributeSchema> schemas,
                   int32_t opset,
                   std::span<const GivenAttribute> given) {
    std::vector<std::string> unknown;
    std::vector<std::string> hints;
    for (const GivenAttribute& attribute : given) {
        if (find_row(schemas, opset, attribute.name) != nullptr) {
            continue;
        }
        unknown.push_back(fmt::format("'{}'", attribute.name));
        if (std::string hint = describe_versions(schemas, attribute.name); !hint.empty()) {
            hints.push_back(std::move(hint));
        }
    }
    if (unknown.empty()) {
        return {};
    }
    return invalid_argument("{} has no attribute {}", version_of(op, opset),
                            fmt::join(unknown, ", "))
        .with_needed(describe_known(schemas, opset))
        .with_hint(fmt::format("{}", fmt::join(hints, "; ")));
}

}  // namespace

std::string_view name_of(AttributeKind kind) {
    return kKindNames[size_t(kind)];
}

std::vector<GivenAttribute> given_attributes(const Attributes& attributes) {
    std::vector<GivenAttribute> given;
    given.reserve(attributes.size());
    for (const auto& [name, value] : attributes) {
        given.push_back({name, AttributeKind(value.index())});
    }
    return given;
}

Status check_attributes(std::string_view op,
                        std::span<const AttributeSchema> schemas,
                        int32_t opset,
                        std::span<const GivenAttribute> given) {
    LEAT_RETURN_IF_ERROR(check_names(op, schemas, opset, given));
    for (const GivenAttribute& attribute : given) {
        const AttributeSchema& row = *find_row(schemas, opset, attribute.name);
        if (attribute.kind && *attribute.kind != row.kind) {
            return invalid_argument("attribute '{}' has the wrong type for {}", attribute.name,
                                    version_of(op, opset))
                .with_found(std::string(name_of(*attribute.kind)))
                .with_needed(std::string(name_of(row.kind)));
        }
    }
    for (const AttributeSchema& row : schemas) {
        const bool is_missing =
            row.is_required && row.is_in(opset) &&
            std::none_of(given.begin(), given.end(), [&](const GivenAttribute& attribute) {
                return attribute.name == row.name;
            });
        if (is_missing) {
            return invalid_argument("attribute '{}' is missing from {}", row.name,
                                    version_of(op, opset))
                .with_needed(fmt::format("a value ({})", name_of(row.kind)));
        }
    }
    return {};
}

}  // namespace leat
