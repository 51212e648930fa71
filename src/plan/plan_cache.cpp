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

void PlanCache::share(std::shared_ptr<PlanBudget> budget) {
    budget->held_bytes += held_bytes_;
    budget_->held_bytes -= held_bytes_;
    budget_ = std::move(budget);
}

PlanCache::PlanPtr PlanCache::use(const PlanKey& key) {
    const auto at = by_key_.find(&key);
    if (at == by_key_.end()) {
        return nullptr;
    }
    Held& held = *at->second;
    used_again_.splice(used_again_.begin(), list_of(held), at->second);
    again_bytes_ += held.is_used_again ? 0 : held.own_bytes;
    held.is_used_again = true;
    held.last_use = ++uses_;
    groups_.find(key.group)->second.newest = held.plan;
    return held.plan;
}

PlanCache::PlanPtr PlanCache::find_newest(int group) const {
    const auto at = groups_.find(group);
    return at == groups_.end() ? nullptr : at->second.newest;
}

PlanCache::Plans PlanCache::keep(const PlanPtr& plan) {
    Plans evicted;
    Plans added;
    added.push_back({plan, plan->own_bytes(), ++uses_});
    Group& group = groups_[plan->key.group];
    by_key_.emplace(&plan->key, added.begin());  // the last that needs memory
    held_bytes_ += added.front().own_bytes;
    budget_->held_bytes += added.front().own_bytes;
    used_once_.splice(used_once_.begin(), added);
    group.newest = plan;
    if (!bounds_.empty() && plan->key.shapes == bounds_) {
        cover(*plan, group.room_at_bounds);
    }
    while (budget_->held_bytes > budget_->most_bytes) {
        Plans* const list = next_to_go();
        if (list == nullptr) {
            break;
        }
        remove(std::prev(list->end()), evicted);
        ++planning_.dropped;
    }
    return evicted;
}

PlanCache::Plans* PlanCache::next_to_go() {
    const bool has_once = used_once_.size() > 1;  // the first one has just come
    const bool has_many_again = again_bytes_ > budget_->most_bytes / 4 * 3;
    if (has_once && !has_many_again) {
        return &used_once_;
    }
    return !used_again_.empty() ? &used_again_ : has_once ? &used_once_ : nullptr;
}

void PlanCache::remove(Plans::iterator held, Plans& removed) {
    by_key_.erase(&held->plan->key);
    held_bytes_ -= held->own_bytes;
    budget_->held_bytes -= held->own_bytes;
    again_bytes_ -= held->is_used_again ? held->own_bytes : 0;
    removed.splice(removed.end(), list_of(*held), held);
    const int group = held->plan->key.group;
    PlanPtr& newest = groups_.find(group)->second.newest;
    if (newest != held->plan) {
        return;
    }
    newest = nullptr;
    uint64_t last_use = 0;
    for_each([&](const Held& other) {
        if (other.plan->key.group == group && other.last_use > last_use) {
            newest = other.plan;
            last_use = other.last_use;
        }
    });
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
            ++planning_.made;
            planning_.time_ns += plan->report.plan_time_ns;
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

void PlanCache::drop(const PlanPtr& plan) {
    Plans dropped;  // destroyed without the lock
    const std::lock_guard lock(flights_.mutex());
    const auto at = by_key_.find(&plan->key);
    if (at == by_key_.end() || at->second->plan != plan) {
        return;
    }
    remove(at->second, dropped);
}

std::vector<PlanCache::PlanPtr> PlanCache::plans() const {
    const std::lock_guard lock(flights_.mutex());
    std::vector<const Held*> by_use;
    by_use.reserve(by_key_.size());
    for_each([&](const Held& held) { by_use.push_back(&held); });
    std::sort(by_use.begin(), by_use.end(),
              [](const Held* a, const Held* b) { return a->last_use > b->last_use; });
    std::vector<PlanPtr> plans(by_use.size());
    std::transform(by_use.begin(), by_use.end(), plans.begin(),
                   [](const Held* held) { return held->plan; });
    return plans;
}

PlanCache::PlanPtr PlanCache::newest(int group) const {
    const std::lock_guard lock(flights_.mutex());
    return find_newest(group);
}

PlanningReport PlanCache::planning() const {
    const std::lock_guard lock(flights_.mutex());
    return planning_;
}

RequestRoom PlanCache::request_room(int group) const {
    const std::lock_guard lock(flights_.mutex());
    const auto known = groups_.find(group);
    RequestRoom room = known == groups_.end() ? RequestRoom() : known->second.room_at_bounds;
    for_each([&](const Held& held) {
        if (held.plan->key.group == group) {
            cover(*held.plan, room);
        }
    });
    return room;
}

}  // namespace leat
