// How many cores the process really gets: virtual machines and neighbours take some away.
#pragma once

namespace leat::micro {

// Work done in a few milliseconds by `threads` threads over that of one; at best `threads`.
double effective_cores(int threads);

// Below this, a series on two threads is not a parallel one.
constexpr double kParallelCores = 1.8;

}  // namespace leat::micro
