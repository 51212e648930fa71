// Inputs of compiled graphs whose extents are fixed.
#pragma once

#include <gtest/gtest.h>

#include "leat/runtime.h"
#include "support/random_tensor.h"

namespace leat::testing_support {

// The same elements for each shape.
inline void bind_random_inputs(const CompiledGraph& compiled, Request& request) {
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.extent());
        }
        EXPECT_TRUE(request.bind(input.name, random_tensor(shape, 1)).ok());
    }
}

}  // namespace leat::testing_support
