// SkylineSearch: one problem and capacity of interval_packing.h, searched in runs.
//
// Not thread-safe. Memory: the states that failed in the current run, 16 bytes a node.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

#include "memory/offsets/interval_problem.h"

namespace leat {

class SkylineSearch {
  public:
    enum class BufferKey : uint8_t { kSize, kDuration, kArea };               // largest first
    enum class SectionRule : uint8_t { kFewestChoices, kLeastSlack, kBoth };  // where to go on
    struct Strategy {
        BufferKey key = BufferKey::kSize;
        SectionRule rule = SectionRule::kFewestChoices;
        // A failed part is blamed on the choices inside it alone, others are not tried again: finds
        // more, but may miss a packing.
        bool jumps = false;
        int64_t noise_permille = 0;  // of keys: up to so much more or less
        uint64_t seed = 0;
    };
    enum class Answer : uint8_t { kFound, kImpossible, kGaveUp };

    SkylineSearch(const IntervalProblem& problem, int64_t capacity_bytes);

    // kImpossible only without jumps.
    Answer run(const Strategy& strategy, int64_t max_nodes);
    int64_t nodes() const { return nodes_; }  // of the last run
    // After kFound, by index of the buffer as given.
    void write_offsets(std::span<int64_t> offsets) const;

  private:
    struct StateKey {
        uint64_t low = 0;
        uint64_t high = 0;
        bool operator==(const StateKey& other) const {
            return low == other.low && high == other.high;
        }
    };
    struct StateHash {
        size_t operator()(const StateKey& key) const { return key.low; }
    };
    // Where something is decided: what lies at `floor` in `section`.
    struct Niche {
        int32_t section = -1;
        int64_t floor = 0;
        bool is_tight = false;  // no room to waste: something begins at the floor
    };
    struct OldFloor {
        int32_t section;
        int64_t floor;
    };
    struct Mark {
        size_t floors;
        size_t placed;
    };

    void reset(const Strategy& strategy);
    bool fill(SectionRange range);
    std::vector<SectionRange> parts_of(SectionRange range) const;
    SectionRange part_from(int32_t section) const;
    bool solve(SectionRange range);
    bool branch(SectionRange range, const Niche& niche);
    bool raise_floors(SectionRange range);
    void find_lowest_places(SectionRange range);
    Niche choose_niche(SectionRange range) const;
    double rank(int32_t section, bool is_tight) const;
    std::vector<int32_t> candidates(const Niche& niche) const;
    int64_t next_level(SectionRange range, const Niche& niche) const;
    StateKey key_of(SectionRange range) const;

    bool has_given_up() const { return nodes_ > max_nodes_; }
    const PackedBuffer& buffer(int32_t number) const { return problem_.buffers()[size_t(number)]; }
    bool is_waiting(int32_t number) const { return offsets_[size_t(number)] < 0; }
    int64_t slack(int32_t section) const {
        return capacity_ - floors_[size_t(section)] - waiting_bytes_[size_t(section)];
    }
    void set_floor(int32_t section, int64_t floor);
    void place(int32_t number, int64_t offset);
    Mark mark() const { return {old_floors_.size(), placed_.size()}; }
    void undo(const Mark& mark);

    const IntervalProblem& problem_;
    const int64_t capacity_;
    Strategy strategy_;
    int64_t max_nodes_ = 0;
    int64_t nodes_ = 0;
    std::vector<double> keys_;            // by buffer
    std::vector<int64_t> offsets_;        // by buffer; -1: waits
    std::vector<int64_t> lowest_;         // by waiting buffer: where the skyline lets it begin
    std::vector<int64_t> floors_;         // by section: no waiting buffer begins below
    std::vector<int64_t> waiting_bytes_;  // by section
    std::vector<int64_t> least_;          // by section, of raise_floors()
    std::vector<OldFloor> old_floors_;    // to be undone
    std::vector<int32_t> placed_;
    SectionRange failed_;  // where the last part failed
    std::unordered_set<StateKey, StateHash> failures_;
};

}  // namespace leat
