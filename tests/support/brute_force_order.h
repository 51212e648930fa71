// The smallest peak of an order of steps by trying every order, for tests of
// memory/order/order_search.h. Shares no code with it.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/order/order_search.h"

namespace leat {

// By lifetimes: buffers that a step joins in place become one.
int64_t peak_by_lifetimes(const OrderProblem& problem, const std::vector<int32_t>& order);

// For about ten steps.
int64_t smallest_peak_by_trying(const OrderProblem& problem);

}  // namespace leat
