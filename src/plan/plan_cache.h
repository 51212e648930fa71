// PlanCache: the plans of one graph that were used last, and those that are being made.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/single_flight.h"
#include "plan/plan.h"

namespace leat {

// What a request needs on the host for any of some plans.
struct RequestRoom {
    int64_t arena_bytes = 0;
    int64_t scratch_bytes = 0;
};

// The bytes of plans of several caches together, those of the segments of a graph.
struct PlanBudget {
    explicit PlanBudget(int64_t most) : most_bytes(most) {}
    const int64_t most_bytes;
    std::atomic<int64_t> held_bytes{0};
};

// A number that equal keys share, and others hardly ever do.
uint64_t hash_of(const PlanKey& key);

// Thread-safe. What a plan costs does not grow with the number of plans. Plans are made without its
// lock: while a thread plans, others find plans, plan for other shapes, and ask what there is. Who
// asks for a plan that is being made waits for it, and can block nothing that makes it, also as a
// worker of the executor: a plan is made by the thread that asked first, and loops that this thread
// runs on an executor end without any helper. A thread that makes another plan waits for nobody.
class PlanCache {
  public:
    // Holds the plans used last that fit into `most_bytes`, and always the last one. Of those that
    // were used again, which have three quarters of the room, none goes for one that may be used
    // once, as that of a value which grows in each run. `bounds`: shapes_at_bounds() of the graph.
    PlanCache(int64_t most_bytes, std::vector<Shape> bounds)
        : budget_(std::make_shared<PlanBudget>(most_bytes)), bounds_(std::move(bounds)) {}
    ~PlanCache() { budget_->held_bytes -= held_bytes_; }
    PlanCache(const PlanCache&) = delete;
    PlanCache& operator=(const PlanCache&) = delete;
    // While nobody else uses the cache.
    void share(std::shared_ptr<PlanBudget> budget);

    using PlanPtr = std::shared_ptr<const Plan>;
    // `former`: the plan of the same group that was used last; null: the group has none.
    using Make = std::function<Result<PlanPtr>(const PlanPtr& former)>;

    // The plan of that key, which is made where there is none. An error goes to all who wait for
    // the plan; nothing is kept of it. `limit` ends the wait for another thread, never the making.
    Result<PlanPtr> find_or_make(const PlanKey& key, const WaitLimit& limit, const Make& make);
    // As the one used last; a plan of that key that is there stays.
    void add(const PlanPtr& plan);
    // The plan is held no more, if it was: there is no memory to run it.
    void drop(const PlanPtr& plan);

    // The one used last first.
    std::vector<PlanPtr> plans() const;
    // The one of the group that was used last; null: there is none.
    PlanPtr newest(int group) const;
    // Without the plans that add() got.
    PlanningReport planning() const;
    // For the plans of the group that are held, and for those at the bounds, held or not.
    RequestRoom request_room(int group) const;

  private:
    struct Held {
        PlanPtr plan;
        int64_t own_bytes = 0;
        uint64_t last_use = 0;
        bool is_used_again = false;
    };
    using Plans = std::list<Held>;
    struct Group {
        PlanPtr newest;  // of those that are held
        RequestRoom room_at_bounds;
    };
    struct HashOfKey {
        size_t operator()(const PlanKey* key) const { return hash_of(*key); }
    };
    struct SameKey {
        bool operator()(const PlanKey* a, const PlanKey* b) const { return *a == *b; }
    };

    // All under the mutex.
    Plans& list_of(const Held& held) { return held.is_used_again ? used_again_ : used_once_; }
    PlanPtr use(const PlanKey& key);
    PlanPtr find_newest(int group) const;
    // A plan that is not held. Gives back those that no longer have room. Without memory nothing is
    // changed.
    Plans keep(const PlanPtr& plan);
    // The list that has the next plan to go at its end; null: all that is left is the last one.
    Plans* next_to_go();
    void remove(Plans::iterator held, Plans& removed);
    template <class OnPlan>
    void for_each(const OnPlan& on_plan) const {
        for (const Plans* list : {&used_once_, &used_again_}) {
            std::for_each(list->begin(), list->end(), on_plan);
        }
    }

    std::shared_ptr<PlanBudget> budget_;
    const std::vector<Shape> bounds_;  // empty: there are none
    SingleFlight<PlanKey, PlanPtr> flights_{"the plan for these shapes"};
    // Guarded by the mutex of `flights_`.
    Plans used_once_;  // each list: the one used last first
    Plans used_again_;
    uint64_t uses_ = 0;
    int64_t again_bytes_ = 0;
    std::unordered_map<const PlanKey*, Plans::iterator, HashOfKey, SameKey> by_key_;
    int64_t held_bytes_ = 0;
    std::map<int, Group> groups_;
    PlanningReport planning_;
};

}  // namespace leat
