// Symbolic extents as products.
#pragma once

#include <string_view>
#include <vector>

#include "leat/graph.h"

namespace leat {

// Factors of a name that is a product ("12", "batch" of "12*batch"); the name itself if it is none.
std::vector<std::string_view> dim_factors(const DimSpec& dim);

}  // namespace leat
