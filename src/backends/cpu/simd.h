// Which instruction sets Highway compiles for leat's kernels. Include it before
// hwy/foreach_target.h and hwy/highway.h, in every file that uses them:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "ops/relu/relu_cpu.cpp"
//   #include "backends/cpu/simd.h"
//   #include "hwy/foreach_target.h"  // IWYU pragma: keep
//   #include "hwy/highway.h"
#pragma once

#if defined(HIGHWAY_HWY_DETECT_TARGETS_H_)
#error "backends/cpu/simd.h must come before any header of Highway"
#endif

// Few x86 targets instead of all: SSE2 (plain scalar code before Highway 1.1: HWY_TARGET is then
// HWY_SCALAR, with one lane and no shuffles), AVX2 and AVX3 (AVX-512). The others gain nothing for
// floating-point kernels and each compiles every kernel once more. HWY_AVX3 - 1 is the bits of all
// better targets, whichever this version of Highway knows. (The names expand where Highway uses the
// macro.)
#if defined(__x86_64__) || defined(__i386__)
#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | (HWY_AVX3 - 1))
#endif
