// What the attributes of a file's nodes must be, before upgrade rules rewrite them.
#pragma once

#include <string_view>
#include <vector>

#include "graph/attribute_schema.h"
#include "onnx/proto.h"

namespace leat::onnx {

// True for what operators of ONNX's default domain ignore: names that begin with two underscores
// (details of an implementation), and before opset 6 `consumed_inputs`, a hint for work in place.
bool is_ignored(std::string_view attribute, std::string_view domain, int64_t opset);

// An error if the attribute says another type than that of the value field which it has.
Status check_value_field(const AttributeProto& attribute);

// The attribute's name is that which the node knows it by. `name` is borrowed.
GivenAttribute given_attribute(std::string_view name, const AttributeProto& attribute);

// Attributes of a node, by the version of its operator in that opset. Nothing is known of operators
// that leat does not have; those of other domains are checked if they list attributes.
Status check_operator(std::string_view domain,
                      std::string_view op_type,
                      int64_t opset,
                      std::vector<GivenAttribute> given);

// A call gives attributes that the function declares or refers to, and no others.
Status check_call(const FunctionProto& function, std::vector<GivenAttribute> given);

}  // namespace leat::onnx
