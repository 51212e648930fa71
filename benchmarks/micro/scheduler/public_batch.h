// PublicBatch: up to 32 ready nodes that a worker offers to the others. Refilled only when empty,
// so that a push or pop in the private stack needs no fence.
#pragma once

#include <atomic>
#include <cstdint>

namespace leat::micro {

// One owner refills; anybody takes.
// Memory ordering: what the owner wrote before refill() is visible to whoever takes a node of it.
class PublicBatch {
  public:
    static constexpr uint32_t kCapacity = 32;

    bool is_empty() const { return count_of(word_.load(std::memory_order_relaxed)) == 0; }

    // Owner only, when empty. node(i) gives the i-th of `count` nodes.
    template <typename Node>
    void refill(uint32_t count, Node node) {
        for (uint32_t i = 0; i < count; ++i) {
            slots_[i].store(node(i), std::memory_order_relaxed);
        }
        // A new generation each time: a thief with an old word cannot succeed.
        const uint64_t generation = (word_.load(std::memory_order_relaxed) >> 32) + 1;
        word_.store((generation << 32) | count, std::memory_order_release);
    }

    // A node, or -1 when there is none or another was faster.
    int32_t take() {
        uint64_t word = word_.load(std::memory_order_acquire);
        const uint32_t count = count_of(word);
        if (count == 0) {
            return -1;
        }
        const int32_t node = slots_[count - 1].load(std::memory_order_relaxed);
        const bool mine = word_.compare_exchange_strong(word, word - 1, std::memory_order_acquire,
                                                        std::memory_order_relaxed);
        return mine ? node : -1;
    }

  private:
    static uint32_t count_of(uint64_t word) { return uint32_t(word); }

    alignas(128) std::atomic<uint64_t> word_{0};  // generation << 32 | nodes left
    std::atomic<int32_t> slots_[kCapacity] = {};
};

}  // namespace leat::micro
