// A bound of the peak of every order of some steps.
#pragma once

#include <cstdint>

#include "memory/order_graph.h"

namespace leat {

// Of steps [begin, end), between which and the others there is a fixed order: each step needs what
// it reads and writes, and all that is written before it and read after it in every order.
// Memory and time: (end - begin)^2 / 64 words, and as much for each edge or buffer.
int64_t peak_bound_bytes(const OrderGraph& graph, int32_t begin, int32_t end);

}  // namespace leat
