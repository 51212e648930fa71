// Scope: the names of one graph of a model file, or of one call of a function, and what they mean.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/hash_index.h"
#include "onnx/attribute_check.h"
#include "onnx/attribute_reader.h"
#include "onnx/graph_builder.h"
#include "onnx/proto.h"

namespace leat::onnx {

// Versions by domain. The default domain is "".
using Opsets = std::map<std::string, int64_t, std::less<>>;

struct Scope;

// An attribute of a function call, with the scope in which its subgraph sees names.
struct BoundAttribute {
    const AttributeProto* proto = nullptr;
    Scope* scope = nullptr;
};
using BoundAttributes = std::unordered_map<std::string_view, BoundAttribute>;

struct Scope {
    GraphBuilder& builder;
    Scope* outer = nullptr;  // null: no graph around, where unknown names would be looked up
    const Opsets* opsets = nullptr;
    const BoundAttributes* arguments = nullptr;  // null: no function call around
    std::string prefix = {};                     // of new names
    NameTable<ValueId> values = {};
    NameTable<const TypeProto*> declared = {};
    // The outputs of a function: `values` has them before a node of the body produces them.
    std::unordered_set<std::string_view> promised = {};

    // The name with the prefix.
    std::string name_inside(std::string_view name) const;
    // Adds a value of the declared type. An error names a type that leat does not have.
    Result<ValueId> add_value(std::string_view name);
    // Looks in the scopes around, too; a value found there gets a stand-in of the same name here.
    std::optional<ValueId> find(std::string_view name);
    // Absent inputs at the end are dropped. An error names the input that nothing produces.
    Result<std::vector<ValueId>> resolve_inputs(const NodeProto& proto);
};

// "" for "ai.onnx".
std::string normalized(std::string_view domain);
Opsets read_opsets(const std::vector<OperatorSetId>& imports);
std::vector<GivenAttribute> given_attributes(const BoundAttributes& attributes);

}  // namespace leat::onnx
