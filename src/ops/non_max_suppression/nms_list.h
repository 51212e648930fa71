// One batch and class of a NonMaxSuppression, as the CPU kernel sees it.
#pragma once

#include <cstdint>

#include "ops/non_max_suppression/non_max_suppression.h"
#include "ops/radix_sort.h"

namespace leat {

// Selected boxes, number by number. Behind the last one, to the end of a block, are boxes that
// overlap nothing.
struct NmsKept {
    float* y_begin = nullptr;
    float* x_begin = nullptr;
    float* y_end = nullptr;
    float* x_end = nullptr;
    float* area = nullptr;
};

// One batch and class, and memory for it.
struct NmsList {
    const float* boxes = nullptr;
    const float* scores = nullptr;
    int64_t spatial = 0;
    bool is_center = false;
    NmsLimits limits;
    RankedIndex<uint32_t>* entries = nullptr;  // spatial, and as many again
    RankedIndex<uint32_t>* room = nullptr;
    NmsKept kept;
    int32_t* selected = nullptr;  // indices of boxes, the result
};

// Floats of a block of kept boxes: a multiple of two vectors of any target.
inline constexpr int64_t kNmsBlock = 128;

}  // namespace leat
