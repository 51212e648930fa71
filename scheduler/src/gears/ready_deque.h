// ReadyDeque: the nodes that one worker offers to the others.
//
// The owner fills it only when it is empty, and works from its PrivateStack meanwhile; so a node
// that nobody steals costs its share of one atomic operation for up to kCapacity nodes.
// Thread safety: fill() by the owner; clear() while nobody else uses it; the rest by anybody.
// Memory ordering: what the owner wrote before fill() is visible to who takes a node afterwards;
// fill() and offers() are sequentially consistent, so that of a worker who fills and then looks for
// sleepers, and a sleeper who says that it sleeps and then looks here, one sees the other.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace leat::scheduler {

class ReadyDeque {
  public:
    // One sequentially consistent store, 6 ns and a cache line on its way, for up to so many nodes.
    static constexpr uint32_t kCapacity = 32;

    // Owner. A relaxed load: others only ever take.
    bool is_empty() const { return size_of(word_.load(std::memory_order_relaxed)) == 0; }
    bool offers() const { return size_of(word_.load(std::memory_order_seq_cst)) != 0; }

    // Owner, while empty: offers `count` <= kCapacity entries, node(0) to be taken first.
    template <class NodeAt>
    void fill(uint32_t count, NodeAt node) {
        const uint64_t word = word_.load(std::memory_order_relaxed);
        const uint32_t begin = end_of(word);
        for (uint32_t i = 0; i < count; ++i) {
            slots_[(begin + i) % kCapacity].store(node(i), std::memory_order_relaxed);
        }
        word_.store(word_of(begin, begin + count), std::memory_order_seq_cst);
    }

    // Takes half of what is there, at most `most`, rounded up, and returns how many.
    uint32_t take(uint32_t* nodes, uint32_t most) {
        uint64_t word = word_.load(std::memory_order_acquire);
        for (;;) {
            const uint32_t available = size_of(word);
            if (available == 0) {
                return 0;
            }
            const uint32_t half = (available + 1) / 2;
            const uint32_t count = half < most ? half : most;
            const uint32_t begin = begin_of(word);
            // A slot is overwritten only after the word has changed: then the exchange fails.
            for (uint32_t i = 0; i < count; ++i) {
                nodes[i] = slots_[(begin + i) % kCapacity].load(std::memory_order_relaxed);
            }
            if (word_.compare_exchange_weak(word, word_of(begin + count, end_of(word)),
                                            std::memory_order_acq_rel, std::memory_order_acquire)) {
                return count;
            }
        }
    }
    // Only while nobody else uses it.
    void clear() { word_.store(0, std::memory_order_relaxed); }

  private:
    // Positions only grow (and wrap), so that a word never comes back with other slots.
    static uint64_t word_of(uint32_t begin, uint32_t end) {
        return (uint64_t(begin) << 32) | uint64_t(end);
    }
    static uint32_t begin_of(uint64_t word) { return uint32_t(word >> 32); }
    static uint32_t end_of(uint64_t word) { return uint32_t(word); }
    static uint32_t size_of(uint64_t word) { return end_of(word) - begin_of(word); }

    alignas(128) std::atomic<uint64_t> word_{0};
    std::array<std::atomic<uint32_t>, kCapacity> slots_{};
};

}  // namespace leat::scheduler
