// AttributeSchema: which attributes the nodes of an operator may have, in which opsets.
//
// The rows stand beside the operator's OpDef, and hold every version of it, also those whose form
// an upgrade rule rewrites. Files are checked in the version that they import (src/onnx), graphs in
// the canonical form (verify_graph). tests/conformance/onnx_schemas_test.py compares them with
// ONNX.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "leat/graph.h"

namespace leat {

// The first seven are the alternatives of AttributeValue, in their order. Others are in files, or
// are no values (bodies).
enum class AttributeKind : uint8_t {
    kInt,
    kFloat,
    kString,
    kTensor,
    kInts,
    kFloats,
    kStrings,
    kGraph,
    kSparseTensor,
    kType,
    kListOfObjects,  // tensors, graphs or types: no operator has any
};
std::string_view name_of(AttributeKind kind);

// Stands behind all opsets of files: leat's own form of a graph. It is the newest one of ONNX, but
// for attributes that only files have (`before` is this) or only passes set (`since` is this).
inline constexpr int32_t kCanonicalOpset = std::numeric_limits<int32_t>::max() - 1;

struct AttributeSchema {
    std::string_view name;
    AttributeKind kind = AttributeKind::kInt;
    // Opsets of the operator's domain that have it: [since, before). The row of an operator that is
    // younger than 1 may say 1.
    int32_t since = 1;
    int32_t before = kCanonicalOpset + 1;
    bool is_required = false;

    constexpr bool is_in(int32_t opset) const { return since <= opset && opset < before; }
};

// An attribute of a node.
struct GivenAttribute {
    std::string_view name;
    // nullopt: a file names it without a value.
    std::optional<AttributeKind> kind;
};
std::vector<GivenAttribute> given_attributes(const Attributes& attributes);

// The given attributes of a node against the rows of operator `op` in that opset. invalid_argument
// for all that the operator does not have, else for the first one that it has with another kind, or
// requires and does not find. It names operator, opset and attributes, and what is known.
Status check_attributes(std::string_view op,
                        std::span<const AttributeSchema> schemas,
                        int32_t opset,
                        std::span<const GivenAttribute> given);

}  // namespace leat
