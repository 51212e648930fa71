// PrivateStack: the ready nodes that a worker keeps to itself. Last in, first out for the worker;
// what it offers to others are the oldest, which lead to most work.
//
// Not thread-safe: one worker. Holds any number of nodes without allocation: what exceeds the ring
// is linked through the nodes' own cells.
#pragma once

#include <array>
#include <cstdint>

namespace leat::scheduler {

class PrivateStack {
  public:
    // Four full fans; deeper only where many chains wait side by side.
    static constexpr uint32_t kCapacity = 256;
    static constexpr uint32_t kNone = UINT32_MAX;
    // Marks an entry that may be forgotten: it stands for help that is welcome, not for a node.
    static constexpr uint32_t kTicket = uint32_t{1} << 31;

    // Entries in the ring: those that can be offered.
    uint32_t offerable() const { return top_ - bottom_; }

    // `cells`: of each node, with a member `link` that belongs to the list it is in.
    template <class Cells>
    void push(uint32_t entry, Cells cells) {
        if (top_ - bottom_ == kCapacity) {
            spill(cells);
        }
        ring_[top_++ % kCapacity] = entry;
    }
    // kNone: empty.
    template <class Cells>
    uint32_t pop(Cells cells) {
        if (top_ == bottom_) {
            return pop_spilled(cells);
        }
        return ring_[--top_ % kCapacity];
    }
    // The oldest entries of the ring, oldest first; then they are to be removed.
    uint32_t oldest(uint32_t index) const { return ring_[(bottom_ + index) % kCapacity]; }
    void remove_oldest(uint32_t count) { bottom_ += count; }

    void clear() {
        top_ = bottom_ = 0;
        spilled_ = kNone;
    }

  private:
    template <class Cells>
    void spill(Cells cells) {
        for (uint32_t i = 0; i < kCapacity / 2; ++i) {
            const uint32_t entry = ring_[bottom_++ % kCapacity];
            if ((entry & kTicket) == 0) {
                cells[entry].link = spilled_;
                spilled_ = entry;
            }
        }
    }
    template <class Cells>
    uint32_t pop_spilled(Cells cells) {
        if (spilled_ == kNone) {
            return kNone;
        }
        // Back into the ring, so that others may get some; the oldest lowest.
        uint32_t count = 0;
        for (; spilled_ != kNone && count < kCapacity / 2; ++count) {
            ring_[--bottom_ % kCapacity] = spilled_;
            spilled_ = cells[spilled_].link;
        }
        return ring_[--top_ % kCapacity];
    }

    uint32_t top_ = 0;
    uint32_t bottom_ = 0;
    uint32_t spilled_ = kNone;
    std::array<uint32_t, kCapacity> ring_{};
};

}  // namespace leat::scheduler
