// Operators that draw random numbers.
//
//   RandomNormal(), RandomNormalLike(x)    mean + scale * z, z of the standard normal distribution
//   RandomUniform(), RandomUniformLike(x)  in [low, high)
//     f16, bf16, f32, f64 (attribute dtype); shape: the attribute, or that of x, of any type, whose
//     element type is the default, too. scale >= 0, low <= high, all finite.
//   Bernoulli(p)     1 with probability p, else 0; p: floating-point in [0, 1]. Any number type or
//                    bool (attribute dtype, default that of p).
//   Multinomial(x)   y [batch, sample_size], i32 or i64: classes drawn with probabilities
//                    proportional to exp(x[batch, class]); x: floating-point, -inf is probability
//                    0.
// The numbers are functions of the attribute seed and the element's index (Philox4x32-10): the same
// in each run, on any number of threads. Without a seed each run takes a new one. Drawn in f64 and
// rounded once; a uniform number that would round to high becomes low. Other implementations draw
// other numbers, as ONNX allows. ONNX RandomNormal-22, RandomNormalLike-22, RandomUniform-22,
// RandomUniformLike-22, Bernoulli-22, Multinomial-22.
#pragma once

#include <cstdint>

#include "graph/op_def.h"

namespace leat {

Status random_normal_reference(const ReferenceArgs& args);
Status random_uniform_reference(const ReferenceArgs& args);
Status bernoulli_reference(const ReferenceArgs& args);
Status multinomial_reference(const ReferenceArgs& args);

// One that no other call has given, in all likelihood in no other process either. Thread-safe.
uint64_t fresh_seed();

}  // namespace leat
