// DomainStacks: ready nodes that wish to run in a compute domain. Workers of the domain look here
// first, others when they find nothing else. One stack for each domain and priority level.
//
// Any number of threads at once, except clear(). No allocation after the constructor. Each stack is
// Treiber's (1986), with a count in its head so that a head never comes back with other links.
// Memory ordering: what a worker wrote before push() is visible to who pops the node; push() and
// has_any() are sequentially consistent, so that of a worker who pushes and then looks for
// sleepers, and a sleeper who says that it sleeps and then looks here, one sees the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace leat::scheduler {

class DomainStacks {
  public:
    static constexpr uint32_t kNone = UINT32_MAX;

    // Nodes are in [0, nodes).
    DomainStacks(int domains, int levels, int64_t nodes)
        : domains_(domains),
          levels_(levels),
          heads_(std::make_unique<Head[]>(size_t(domains) * size_t(levels))),
          links_(std::make_unique<std::atomic<uint32_t>[]>(size_t(nodes))) {}

    int domains() const { return domains_; }

    // A node is in one stack at most.
    void push(int domain, int level, uint32_t node) {
        std::atomic<uint64_t>& head = head_of(domain, level);
        uint64_t word = head.load(std::memory_order_relaxed);
        do {
            links_[node].store(node_of(word), std::memory_order_relaxed);
        } while (!head.compare_exchange_weak(word, successor(word, node), std::memory_order_seq_cst,
                                             std::memory_order_relaxed));
    }
    // The newest node; kNone if there is none.
    uint32_t pop(int domain, int level) {
        std::atomic<uint64_t>& head = head_of(domain, level);
        uint64_t word = head.load(std::memory_order_seq_cst);
        for (;;) {
            const uint32_t node = node_of(word);
            if (node == kNone) {
                return kNone;
            }
            // Another link if somebody else has popped the node: then the exchange fails.
            const uint32_t next = links_[node].load(std::memory_order_relaxed);
            if (head.compare_exchange_weak(word, successor(word, next), std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
                return node;
            }
        }
    }
    bool has_any() const {
        for (int i = 0; i < domains_ * levels_; ++i) {
            if (node_of(heads_[size_t(i)].word.load(std::memory_order_seq_cst)) != kNone) {
                return true;
            }
        }
        return false;
    }
    // Only while nobody else uses it.
    void clear() {
        for (int i = 0; i < domains_ * levels_; ++i) {
            heads_[size_t(i)].word.store(kEmpty, std::memory_order_relaxed);
        }
    }

  private:
    static constexpr uint64_t kEmpty = kNone;
    // On lines of their own: workers of different domains write them.
    struct alignas(128) Head {
        std::atomic<uint64_t> word{kEmpty};  // upper half: changes so far; lower half: newest node
    };

    static uint32_t node_of(uint64_t word) { return uint32_t(word); }
    static uint64_t successor(uint64_t word, uint32_t node) {
        return ((word >> 32) + 1) << 32 | node;
    }
    std::atomic<uint64_t>& head_of(int domain, int level) {
        return heads_[size_t(domain) * size_t(levels_) + size_t(level)].word;
    }

    int domains_;
    int levels_;
    std::unique_ptr<Head[]> heads_;                   // by domain, then level
    std::unique_ptr<std::atomic<uint32_t>[]> links_;  // by node: the next older one of its stack
};

}  // namespace leat::scheduler
