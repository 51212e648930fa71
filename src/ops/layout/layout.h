// Layout (domain "leat"): the same logical tensor with other strides; converts between row-major
// and channels-last. Inserted by the layout pass only.
//   x, y : any type but packed ones, one shape; strides come from the layouts of the two values.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status layout_reference(const ReferenceArgs& args);

}  // namespace leat
