// Everything of leat's public tensor API.
#pragma once

#include "leat/conformance.h"      // IWYU pragma: export
#include "leat/custom_operator.h"  // IWYU pragma: export
#include "leat/dtype.h"            // IWYU pragma: export
#include "leat/graph.h"            // IWYU pragma: export
#include "leat/onnx.h"             // IWYU pragma: export
#include "leat/request_queue.h"    // IWYU pragma: export
#include "leat/runtime.h"          // IWYU pragma: export
#include "leat/shape.h"            // IWYU pragma: export
#include "leat/status.h"           // IWYU pragma: export
#include "leat/tensor.h"           // IWYU pragma: export
