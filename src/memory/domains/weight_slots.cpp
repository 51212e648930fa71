#include "memory/domains/weight_slots.h"

#include <algorithm>
#include <set>

#include "memory/content_hash.h"

namespace leat {

std::shared_ptr<WeightSlot> WeightSlots::find(const WeightKey& key) {
    const std::lock_guard lock(mutex_);
    const auto found = by_source_.find(key);
    return found == by_source_.end() ? nullptr : found->second;
}

// Under the mutex; `key` is new. All or nothing, also where an allocation fails.
void WeightSlots::name(const WeightKey& key, const std::shared_ptr<WeightSlot>& slot) {
    slot->names.reserve(slot->names.size() + 1);
    slot->names.push_back(by_source_.emplace(key, slot).first);
}

void WeightSlots::add(const WeightKey& key, const std::shared_ptr<WeightSlot>& slot) {
    slot->names.reserve(1);
    const auto content = by_content_.emplace(slot->content, slot);
    try {
        name(key, slot);
    } catch (...) {
        by_content_.erase(content);
        throw;
    }
}

// Elements are compared without the mutex: they may have to come from a file.
std::shared_ptr<WeightSlot> WeightSlots::find_or_add(const Tensor& tensor,
                                                     const WeightKey& key,
                                                     std::optional<uint64_t> hash) {
    if (std::shared_ptr<WeightSlot> found = find(key)) {
        return found;
    }
    if (!hash) {
        hash = content_hash({tensor.bytes(), size_t(tensor.byte_count())});
    }
    const WeightContent content{*hash, key.second};
    std::set<const WeightSlot*> others;  // with the same hash and other elements
    for (;;) {
        std::shared_ptr<WeightSlot> candidate;
        {
            const std::lock_guard lock(mutex_);
            if (const auto found = by_source_.find(key); found != by_source_.end()) {
                return found->second;
            }
            const auto [begin, end] = by_content_.equal_range(content);
            const auto next = std::find_if(
                begin, end, [&](const auto& held) { return others.count(held.second.get()) == 0; });
            if (next == end) {
                auto slot = std::make_shared<WeightSlot>(key.first, content);
                add(key, slot);
                return slot;
            }
            candidate = next->second;
        }
        if (candidate->source.has_same_elements(tensor)) {
            const std::lock_guard lock(mutex_);
            if (const auto found = by_source_.find(key); found != by_source_.end()) {
                return found->second;
            }
            if (!candidate->names.empty()) {  // nobody has forgotten it meanwhile
                name(key, candidate);
                return candidate;
            }
        }
        others.insert(candidate.get());
    }
}

void WeightSlots::forget(const std::shared_ptr<WeightSlot>& slot) {
    const std::lock_guard lock(mutex_);
    // The table's two, the names', and the caller's.
    const auto held_by_tables = int64_t(slot->names.size()) + 1;
    if (slot->names.empty() || slot.use_count() > held_by_tables + 1 || !slot->is_empty()) {
        return;
    }
    for (const SlotBySource::iterator name : slot->names) {
        by_source_.erase(name);
    }
    slot->names.clear();
    const auto [begin, end] = by_content_.equal_range(slot->content);
    const auto held =
        std::find_if(begin, end, [&](const auto& candidate) { return candidate.second == slot; });
    if (held != end) {
        by_content_.erase(held);
    }
}

std::vector<WeightSlots::Entry> WeightSlots::entries_of(const Tensor& tensor) {
    std::vector<Entry> entries;  // outlives the lock: it may be the last holder of one
    const WeightSource wanted(tensor);
    const std::lock_guard lock(mutex_);
    for (auto at = by_source_.lower_bound({wanted, PlacedForm{}});
         at != by_source_.end() && !(wanted < at->first.first); ++at) {
        if (std::shared_ptr<const std::byte> memory = at->second->entry()) {
            entries.push_back({at->first.second, std::move(memory)});
        }
    }
    return entries;
}

}  // namespace leat
