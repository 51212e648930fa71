#include "plan/plan_cache.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/split_mix.h"
#include "memory/content_hash.h"

namespace leat {
namespace {

void cover(const Plan& plan, RequestRoom& room) {
    room.arena_bytes = std::max(room.arena_bytes, plan.arena_bytes());
    room.scratch_bytes = std::max(room.scratch_bytes, plan.work.scratch_bytes);
}

}  // namespace

// Of the extents alone: a Shape has bytes that say nothing.
uint64_t hash_of(const PlanKey& key) {
    uint64_t hash = mixed(uint64_t(key.group) + content_hash(key.values));
    for (const Shape& shape : key.shapes) {
        hash = mixed(hash + content_hash(std::as_bytes(shape.extents())));
    }
    return hash;
}

PlanCache::PlanPtr PlanCache::use(const PlanKey& key) {
    const auto at = by_key_.find(&key);
    if (at == by_key_.end()) {
        return nullptr;
    }
    plans_.splice(plans_.begin(), plans_, at->second);
    const PlanPtr& plan = plans_.front().plan;
    groups_.find(key.group)->second.newest = plan;
    return plan;
}

PlanCache::PlanPtr PlanCache::find_newest(int group) const {
    const auto at = groups_.find(group);
    return at == groups_.end() ? nullptr : at->second.newest;
}

PlanCache::Plans PlanCache::keep(const PlanPtr& plan) {
    Plans evicted;
    Plans added;
    added.push_back({plan, plan->own_bytes()});
    Group& group = groups_[plan->key.group];
    by_key_.emplace(&plan->key, added.begin());  // the last that needs memory
    held_bytes_ += added.front().own_bytes;
    plans_.splice(plans_.begin(), added);
    group.newest = plan;
    if (!bounds_.empty() && plan->key.shapes == bounds_) {
        cover(*plan, group.room_at_bounds);
    }
    while (held_bytes_ > most_bytes_ && plans_.size() > 1) {
        const Held& oldest = plans_.back();
        by_key_.erase(&oldest.plan->key);
        held_bytes_ -= oldest.own_bytes;
        // Where that was the newest of its group, all others of the group went before it.
        PlanPtr& newest = groups_.find(oldest.plan->key.group)->second.newest;
        if (newest == oldest.plan) {
            newest = nullptr;
        }
        evicted.splice(evicted.end(), plans_, std::prev(plans_.end()));
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
    if (use(plan->key) == nullptr) {
        evicted = keep(plan);
    }
}

std::vector<PlanCache::PlanPtr> PlanCache::plans() const {
    const std::lock_guard lock(flights_.mutex());
    std::vector<PlanPtr> plans;
    plans.reserve(plans_.size());
    for (const Held& held : plans_) {
        plans.push_back(held.plan);
    }
    return plans;
}

PlanCache::PlanPtr PlanCache::newest(int group) const {
    const std::lock_guard lock(flights_.mutex());
    return find_newest(group);
}

RequestRoom PlanCache::request_room(int group) const {
    const std::lock_guard lock(flights_.mutex());
    const auto known = groups_.find(group);
    RequestRoom room = known == groups_.end() ? RequestRoom() : known->second.room_at_bounds;
    for (const Held& held : plans_) {
        if (held.plan->key.group == group) {
            cover(*held.plan, room);
        }
    }
    return room;
}

}  // namespace leat
