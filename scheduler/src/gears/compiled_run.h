// CompiledRun: one run of a program in the compiled gear.
//
// Every worker goes through the list of its own number. It waits where the list says so; while it
// waits for a list that nobody is in, it goes through that list itself: so a run ends with any
// number of helpers. A helper that comes late asks for its list, and gets it at the next boundary.
// Lists and tiles of a domain are for its own threads while one of them is here.
#pragma once

#include "gears/active_run.h"
#include "gears/list_counters.h"
#include "gears/point_counters.h"
#include "gears/run_record.h"
#include "gears/task_call.h"
#include "threads/pacer.h"
#include "threads/spin.h"

namespace leat::scheduler {

class CompiledRun final : public ActiveRun {
  public:
    // `counters` must be fresh from begin_run().
    CompiledRun(Crew& crew,
                const CompiledProgram& program,
                CompiledCounters& counters,
                PointCounters& points,
                RunRecord& record,
                TaskFunction function,
                const RunControl& control)
        : ActiveRun(crew, function, control),
          program_(program),
          counters_(counters),
          points_(points),
          record_(record) {}

    void work(int worker) noexcept override;
    void joins(int worker, int helper) noexcept override;

  private:
    enum class Stop : uint8_t { kNone, kFinished, kBlocked, kAsked, kRest, kCancelled };
    enum class WaitFor : uint8_t { kList, kTiles, kPoint };
    struct Wait {
        WaitFor kind = WaitFor::kList;
        uint32_t index = 0;  // of the list, tile task or point wait
        uint32_t times = 0;  // that the list must have published
    };
    struct Instruction {
        enum Kind : uint8_t { kTiles, kPublish, kBoundary, kWait, kEnd } kind = kEnd;
        int length = 1;  // in words
        Wait wait;       // kTiles: `index` is the tile item
    };
    // One thread's passage through one list.
    struct Passage {
        int list = 0;
        int worker = 0;
        const Wait* until = nullptr;  // for which the list was adopted; null: as far as it gets
        Pacer* pacer = nullptr;       // null: stays, whoever wants the core
        bool is_far = false;          // the list is of another domain than the worker's thread
        bool has_moved = false;
    };

    static Instruction decode(const uint32_t* word);
    int pass_quickly(const Passage& passage, ListState& own, const uint32_t* word) const;
    bool has_published(ListState& own, uint32_t list, uint32_t times) const;
    bool is_over(int list, const Wait& wait);
    bool is_over(const Wait& wait) const;
    bool go_through_own_list(int worker);
    void finish_other_lists(int worker);
    bool advance_lists(int worker, const Wait* until, bool* is_early = nullptr);
    template <bool keeps_domains>
    bool advance_some_lists(int worker, const Wait* until, bool is_far, bool* is_early = nullptr);
    bool may_adopt(int worker, int list);
    bool has_own_thread(int list) const;
    bool awaits_other_domains() const;
    bool is_needed_in_domain(int worker) const;
    Stop go_through(Passage& passage);
    template <bool is_traced>
    Stop run_words(const Passage& passage, const uint32_t*& next);
    template <bool is_traced>
    bool run_tiles(TaskCaller<is_traced>& caller, const TileItem& item, int list);
    Stop at_boundary(const Passage& passage);
    Stop wait_for(const Passage& passage, const Wait& wait);
    bool stay(int worker, uint32_t seen, const Backoff& backoff);
    bool is_anyone_else_in_a_list(int worker) const;
    bool is_finished() const;
    void recruit_first_helper();

    const CompiledProgram& program_;
    CompiledCounters& counters_;
    PointCounters& points_;
    RunRecord& record_;
    bool has_recruited_ = false;  // the caller's
};

}  // namespace leat::scheduler
