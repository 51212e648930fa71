// A time longer than any: of what cannot run, and before a first one is known.
#pragma once

#include <limits>

namespace leat::scheduler {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace leat::scheduler
