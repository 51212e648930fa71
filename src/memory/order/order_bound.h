// Bounds of the peak of every order of some steps.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/order/order_graph.h"

namespace leat {

// Of more steps no sets are made: 8 MiB each, and as many steps looked at for each.
constexpr int32_t kMostStepsInSets = 8'192;

// Of segments of steps, between which and the others there is a fixed order. Refers to the graph.
class PeakBounds {
  public:
    explicit PeakBounds(const OrderGraph& graph);

    // Of steps [begin, end): each step needs what it reads and writes, and all that is written
    // before it and read after it in every order. Memory and time: (end - begin)^2 / 64 words, and
    // as much for each edge or buffer of the segment. Of more than kMostStepsInSets only what a
    // step reads and writes, and what lives all the segment long.
    int64_t of_segment(int32_t begin, int32_t end) const;

  private:
    struct Inside {
        int64_t lasting_bytes = 0;  // of buffers alive before the segment and behind it
        // Others that its steps read or write.
        std::vector<int32_t> buffers;
    };
    Inside inside(int32_t begin, int32_t end) const;
    int64_t of_operands(int32_t begin, int32_t end, int64_t lasting_bytes) const;

    const OrderGraph& graph_;
    std::vector<int32_t> last_reader_;   // by buffer; -1: none; the number of steps: it is kept
    std::vector<int64_t> alive_before_;  // by step, in the file's order
};

}  // namespace leat
