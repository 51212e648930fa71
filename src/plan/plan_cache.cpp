#include "plan/plan_cache.h"

#include <algorithm>

namespace leat {
namespace {

void cover(const Plan& plan, RequestRoom& room) {
    room.arena_bytes = std::max(room.arena_bytes, plan.arena_bytes());
    room.scratch_bytes = std::max(room.scratch_bytes, plan.work.scratch_bytes);
}

}  // namespace

PlanCache::PlanPtr PlanCache::use(const PlanKey& key) {
    const auto at = std::find_if(plans_.begin(), plans_.end(),
                                 [&key](const PlanPtr& plan) { return plan->key == key; });
    if (at == plans_.end()) {
        return nullptr;
    }
    plans_.splice(plans_.begin(), plans_, at);
    return plans_.front();
}

PlanCache::PlanPtr PlanCache::find_newest(int group) const {
    const auto at = std::find_if(plans_.begin(), plans_.end(),
                                 [group](const PlanPtr& plan) { return plan->key.group == group; });
    return at == plans_.end() ? nullptr : *at;
}

PlanCache::Plans PlanCache::keep(const PlanPtr& plan) {
    if (!bounds_.empty() && plan->key.shapes == bounds_) {
        cover(*plan, room_at_bounds_[plan->key.group]);
    }
    plans_.push_front(plan);
    Plans evicted;
    int64_t bytes = plan->own_bytes();
    for (auto at = std::next(plans_.begin()); at != plans_.end();) {
        bytes += (*at)->own_bytes();
        const auto next = std::next(at);
        if (bytes > most_bytes_) {
            evicted.splice(evicted.end(), plans_, at);
        }
        at = next;
    }
    return evicted;
}

Result<PlanCache::PlanPtr> PlanCache::find_or_make(const PlanKey& key,
                                                   const WaitLimit& limit,
                                                   const Make& make) {
    PlanPtr former;
    Plans evicted;  // destroyed without the lock
    return flights_.get(
        key, limit,
        [&] {
            PlanPtr found = use(key);
            former = found == nullptr ? find_newest(key.group) : nullptr;
            return found;
        },
        [&] { return make(former); },
        [&](const PlanPtr& plan) {
            if (PlanPtr other = use(key); other != nullptr) {
                return other;
            }
            evicted = keep(plan);
            return plan;
        });
}

void PlanCache::add(const PlanPtr& plan) {
    Plans evicted;
    const std::lock_guard lock(flights_.mutex());
    evicted = keep(plan);
}

std::vector<PlanCache::PlanPtr> PlanCache::plans() const {
    const std::lock_guard lock(flights_.mutex());
    return {plans_.begin(), plans_.end()};
}

PlanCache::PlanPtr PlanCache::newest(int group) const {
    const std::lock_guard lock(flights_.mutex());
    return find_newest(group);
}

RequestRoom PlanCache::request_room(int group) const {
    const std::lock_guard lock(flights_.mutex());
    const auto bounded = room_at_bounds_.find(group);
    RequestRoom room = bounded == room_at_bounds_.end() ? RequestRoom() : bounded->second;
    for (const PlanPtr& plan : plans_) {
        if (plan->key.group == group) {
            cover(*plan, room);
        }
    }
    return room;
}

}  // namespace leat
