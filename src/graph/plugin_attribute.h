// Attributes of nodes in the C ABI (leat/plugin.h).
#pragma once

#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "leat/plugin.h"

namespace leat {

// The row of an attribute. Name and elements are borrowed; `texts` holds the pointers of strings as
// long as the row is used, and is left alone for other kinds. The tensor of one is left null.
LeatAttributeView plugin_attribute(const std::string& name,
                                   const AttributeValue& value,
                                   std::vector<const char*>& texts);

}  // namespace leat
