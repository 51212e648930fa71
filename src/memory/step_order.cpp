#include "memory/step_order.h"

#include <utility>

#include "base/check.h"

namespace leat {

namespace {

// The successors of `after` are complete: all of them are larger.
void add(int32_t before, int32_t after, size_t words, std::vector<uint64_t>& bits) {
    LEAT_CHECK(before >= 0 && before < after, "step {} waits for step {}", after, before);
    uint64_t* row = &bits[size_t(before) * words];
    const uint64_t* more = &bits[size_t(after) * words];
    row[size_t(after) / 64] |= uint64_t{1} << (size_t(after) % 64);
    for (size_t word = size_t(after) / 64; word < words; ++word) {
        row[word] |= more[word];
    }
}

}  // namespace

StepOrder::StepOrder(std::span<const std::vector<int32_t>> predecessors)
    : steps_(int32_t(predecessors.size())), words_((predecessors.size() + 63) / 64) {
    std::vector<uint64_t> bits(predecessors.size() * words_);
    for (int32_t step = steps_; step-- > 0;) {
        for (const int32_t before : predecessors[size_t(step)]) {
            add(before, step, words_, bits);
        }
    }
    bits_ = std::make_shared<const std::vector<uint64_t>>(std::move(bits));
    if (is_line()) {
        bits_ = nullptr;
        words_ = 0;
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
