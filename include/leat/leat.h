// Everything of leat's public tensor API. For graphs of C++ tasks: leat/scheduler/task_graph.h.
//
// All public headers but plugin_backend.h and plugin_entry.h also work without exceptions and
// without run-time type information (-fno-exceptions, -fno-rtti).
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
