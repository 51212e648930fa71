// Operators beyond leat's own table: where nodes that the table does not know get their definition.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/op_def.h"

namespace leat {

// Thread-safe. Definitions live as long as the source.
class OperatorSource {
  public:
    OperatorSource() = default;
    OperatorSource(const OperatorSource&) = delete;
    OperatorSource& operator=(const OperatorSource&) = delete;
    virtual ~OperatorSource() = default;
    // The newest version for that opset of the domain; 0: of all. Null: there is no operator of
    // that name. An error: there is, but only since later opsets.
    virtual Result<const OpDef*> find(std::string_view domain,
                                      std::string_view name,
                                      int32_t opset) const = 0;
};

}  // namespace leat
