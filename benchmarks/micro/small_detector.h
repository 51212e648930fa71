// A detector of which every run finds another number of objects: a backbone of convolutions, then
// NonMaxSuppression, NonZero, Gather and If, whose sizes only a run tells.
#pragma once

#include "leat/graph.h"

namespace leat::micro {

// image f32[1, 3, 320, 320] -> boxes f32[found, 4], scores f32[found], strong f32[strong],
// best f32[1]. Weights are random, and the same in every call.
Graph small_detector();

}  // namespace leat::micro
