#include "memory/step_order.h"

#include "base/check.h"

namespace leat {

StepOrder::StepOrder(std::span<const std::vector<int32_t>> predecessors)
    : steps_(int32_t(predecessors.size())),
      words_((predecessors.size() + 63) / 64),
      bits_(predecessors.size() * words_) {
    for (int32_t step = steps_; step-- > 0;) {
        for (const int32_t before : predecessors[size_t(step)]) {
            add(before, step);
        }
    }
    if (is_line()) {
        bits_ = {};
        words_ = 0;
    }
}

// The successors of `after` are complete: all of them are larger.
void StepOrder::add(int32_t before, int32_t after) {
    LEAT_CHECK(before >= 0 && before < after, "step {} waits for step {}", after, before);
    uint64_t* row = &bits_[size_t(before) * words_];
    const uint64_t* more = &bits_[size_t(after) * words_];
    row[size_t(after) / 64] |= uint64_t{1} << (size_t(after) % 64);
    for (size_t word = size_t(after) / 64; word < words_; ++word) {
        row[word] |= more[word];
    }
}

// Each step precedes the next one.
bool StepOrder::is_line() const {
    for (int32_t step = 0; step + 1 < steps_; ++step) {
        if (!precedes(step, step + 1)) {
            return false;
        }
    }
    return true;
}

}  // namespace leat
