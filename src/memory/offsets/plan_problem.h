// PlanProblem: the buffers of a plan that take a place, and which of them may be alive together.
//
// Before is a strict partial order of buffers: a before b if a is not kept and every step that uses
// a precedes every step that uses b. Two buffers conflict if neither is before the other. Items are
// numbered by first step, so that a before b implies a < b. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "memory/offsets/plan.h"

namespace leat {

struct PlanItem {
    int64_t size_bytes = 0;
    int64_t alignment_bytes = 1;
    // [begin, end) in the order of step numbers, which is one that the steps may run in: items that
    // meet there conflict. Where lifetimes are intervals, and only there, no others do.
    int32_t begin_step = 0;
    int32_t end_step = 0;
    int32_t index = 0;  // of the buffer as given

    bool has_bytes() const { return size_bytes > 0; }  // if not, it lies nowhere
};

class PlanProblem {
  public:
    // What plan_offsets accepts.
    explicit PlanProblem(std::span<const PlannedBuffer> buffers);
    // An order that is not whole makes intervals: an item ends where all behind is known to come
    // after it.
    // Buffers without a byte take a place where they did in `former`, of as many buffers: so other
    // sizes, some of them zero, soon make no other problem. These items lie nowhere.
    PlanProblem(std::span<const UsedBuffer> buffers,
                const StepOrder& order,
                const PlanProblem* former = nullptr)
        : PlanProblem(buffers, order, WithoutConflicts(), former) {
        add_conflicts();
    }
    // A bound of the height needs no list of conflicts, which may be long; the rest does.
    struct WithoutConflicts {};
    PlanProblem(std::span<const UsedBuffer> buffers,
                const StepOrder& order,
                WithoutConflicts /*unused*/,
                const PlanProblem* former = nullptr);
    void add_conflicts();

    // The same with the sizes of these buffers: nothing else depends on sizes. Null if others of
    // them take a place, or steps use them otherwise or in another order.
    std::shared_ptr<const PlanProblem> with_sizes(std::span<const UsedBuffer> buffers,
                                                  const StepOrder& order) const;

    // Those of the other problem, whose items have the same numbers: one is the other with_sizes().
    bool has_conflicts_of(const PlanProblem& other) const { return relations_ == other.relations_; }
    // Of so many items so many conflict that they are not listed: all but conflicts() and its
    // counts is there.
    bool is_crowded() const { return relations_->is_crowded; }
    bool has_mixed_alignments() const;
    // With the largest alignment for all: what fits there fits here.
    PlanProblem with_one_alignment() const;

    int32_t size() const { return int32_t(items_.size()); }
    const PlanItem& item(int32_t number) const { return items_[size_t(number)]; }
    std::span<const int32_t> conflicts(int32_t number) const {
        return std::span(relations_->conflicts)
            .subspan(size_t(relations_->first_conflict[size_t(number)]),
                     size_t(conflict_count(number)));
    }
    // Items by rising end_step.
    std::span<const int32_t> by_end() const { return relations_->by_end; }
    int32_t conflict_count(int32_t number) const {
        const std::vector<int64_t>& first = relations_->first_conflict;
        return int32_t(first[size_t(number) + 1] - first[size_t(number)]);
    }
    int64_t conflict_count() const { return int64_t(relations_->conflicts.size()); }  // of all
    // Items conflict just where their [begin, end) meet.
    bool is_interval() const { return relations_->after.empty(); }
    // Where is_interval() is not: bit j % 64 of word j / 64 for each item j that `number` is
    // before.
    std::span<const uint64_t> after(int32_t number) const {
        const size_t words = relations_->words;
        return std::span(relations_->after).subspan(size_t(number) * words, words);
    }

  private:
    void sort_items();
    bool end_where_settled(std::span<const UsedBuffer> buffers, const StepOrder& order);
    bool has_too_many_meeting() const;
    void find_meeting();
    void find_after(std::span<const UsedBuffer> buffers, const StepOrder& order);
    int32_t items_from(int32_t step) const;
    void set_from(int32_t begin, uint64_t* row) const;
    void find_conflicts();
    void make_intervals();
    void begin_where_left_out(std::span<const uint64_t> larger,
                              std::span<const uint64_t> smaller,
                              int32_t step);
    template <class ForEachPair>
    void set_conflicts(const ForEachPair& for_each_pair);
    void sort_ends();

    // Who uses a buffer, which is kept; nothing where it takes no place.
    struct Use {
        InlineVector<int32_t, 6> users;
        int64_t alignment_bytes = 0;
        bool is_kept = false;
    };

    struct Origin {
        std::vector<Use> uses;  // by buffer
        StepOrder order;
    };

    // What sizes have no part in: shared with problems of other sizes, and filled once.
    struct Relations {
        std::vector<int64_t> first_conflict;  // one more than items
        std::vector<int32_t> conflicts;
        std::vector<int32_t> by_end;
        bool is_crowded = false;
        size_t words = 0;  // of a row
        std::vector<uint64_t> after;
    };

    std::shared_ptr<const Origin> origin_;  // null: PlannedBuffers
    std::vector<PlanItem> items_;
    std::shared_ptr<Relations> relations_ = std::make_shared<Relations>();
};

}  // namespace leat
