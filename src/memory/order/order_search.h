// The order of steps that needs the fewest bytes at once.
//
// Steps run one after the other; a buffer is alive from the step that writes it to the last that
// reads it, both included. A step that is the last reader of a buffer may write over it.
//
// Steps that all others come before or after cut the problem into segments, which are solved one by
// one: depth first within a peak, between levels that are known to be too low and those with an
// order, remembering sets of steps that lead nowhere. Where alive bytes can be brought down to what
// they were without exceeding the peak, doing so first loses nothing, because alive bytes are a
// submodular function of the set of steps done; the same holds from the end. This makes chains and
// most trees cheap. Compare Liu, "An application of generalized tree pebbling to sparse matrix
// factorization" (1987), and Kayaaslan et al., "Scheduling series-parallel task graphs to minimize
// peak memory" (2018).
//
// Pure functions: bounded by work, never by the clock; the same result on every machine. The sum of
// all sizes must fit in int64_t.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace leat {

// One allocation, perhaps of several values that share it.
struct OrderedBuffer {
    int64_t size_bytes = 0;
    int32_t writer = 0;            // step; the first, if several write parts of it
    std::vector<int32_t> readers;  // steps, each once; further writers count as readers
    bool is_kept = false;          // alive after the last step, as an output of the graph
};

// The step writes `output_buffer` over `input_buffer` if it is the last reader of the latter, which
// is not kept. Both have the same size.
struct InPlaceChoice {
    int32_t step = 0;
    int32_t input_buffer = 0;
    int32_t output_buffer = 0;
};

// Steps [0, step_count) in an order that is possible, the file's: every reader comes after its
// buffer's writer (one that is the writer counts for nothing), every edge leads to a later step.
struct OrderProblem {
    int32_t step_count = 0;
    std::vector<OrderedBuffer> buffers;
    std::vector<std::pair<int32_t, int32_t>> extra_edges;  // first before second
    std::vector<InPlaceChoice> in_place;  // a step takes the first that is possible
};

struct StepSequence {
    std::vector<int32_t> steps;
    int64_t peak_bytes = 0;
    int64_t lower_bound_bytes = 0;  // no order has a smaller peak (up to collisions of hashes)
    bool is_optimal = false;        // peak_bytes == lower_bound_bytes
    int64_t work = 0;               // spent in searches
};

// About 4 ms, on the slowest of the generated networks of 500 steps.
constexpr int64_t kOrderWork = 300'000;

// Never worse than the file's order, and that in each segment where nothing is gained. `max_work`
// bounds the searches, in units of about 10 ns: each stops soon after; 0: no search. Beside that a
// segment costs a few passes over its steps, and their number / 64 for each of its edges and
// buffers; one of more than 8,192 steps is ordered greedily, in n log n, and never searched.
StepSequence order_for_smallest_peak(const OrderProblem& problem, int64_t max_work = kOrderWork);

}  // namespace leat
