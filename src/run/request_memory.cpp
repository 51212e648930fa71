#include "run/request_memory.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "memory/domains/page_placement.h"

namespace leat {

RequestMemory::RequestMemory(std::shared_ptr<MemoryDomains> domains,
                             MemoryDomainId home,
                             std::vector<MemoryDomainId> workers)
    : domains_(std::move(domains)), home_(home), workers_(std::move(workers)) {
    if (!workers_.empty()) {
        workers_[0] = home_;
    }
}

bool RequestMemory::has_room(int64_t arena_bytes, int64_t scratch_bytes) const {
    return has_memory_ && arena_bytes <= arena_bytes_ && scratch_bytes <= scratch_bytes_;
}

// The home domain first.
std::vector<MemoryDomainId> RequestMemory::domains_in_use() const {
    std::vector<MemoryDomainId> domains{home_};
    for (const MemoryDomainId id : workers_) {
        if (std::find(domains.begin(), domains.end(), id) == domains.end()) {
            domains.push_back(id);
        }
    }
    return domains;
}

Status RequestMemory::grow(int64_t arena_bytes, int64_t scratch_bytes) {
    arena_bytes = std::max(arena_bytes, arena_bytes_);
    scratch_bytes = std::max(scratch_bytes, scratch_bytes_);
    std::vector<std::shared_ptr<Slab>> slabs;
    std::vector<std::byte*> scratch(workers_.size(), nullptr);
    for (const MemoryDomainId id : domains_in_use()) {
        const auto workers = int64_t(std::count(workers_.begin(), workers_.end(), id));
        int64_t offset = slabs.empty() ? arena_bytes : 0;
        SlabPlacement placement;
        if (!domains_->list().empty()) {
            placement = {MemoryPolicy::kBind, {id}};
        }
        LEAT_ASSIGN_OR_RETURN(Slab slab, Slab::make(offset + workers * scratch_bytes, domains_,
                                                    std::move(placement)));
        for (size_t worker = 0; worker < workers_.size(); ++worker) {
            if (workers_[worker] == id && slab.data() != nullptr) {
                scratch[worker] = slab.data() + offset;
                offset += scratch_bytes;
            }
        }
        slabs.push_back(std::make_shared<Slab>(std::move(slab)));
    }
    for (const std::shared_ptr<Slab>& slab : slabs) {
        slab->touch();
    }
    slabs_ = std::move(slabs);
    scratch_ = std::move(scratch);
    arena_ = slabs_.front();
    imports_.clear();
    arena_bytes_ = arena_bytes;
    scratch_bytes_ = scratch_bytes;
    has_memory_ = true;
    is_trimmed_ = false;
    return {};
}

Result<std::shared_ptr<DeviceSlab>> RequestMemory::arena_of(const DevicePart& part) {
    const std::shared_ptr<DeviceBackend>& backend = part.place().backend;
    std::shared_ptr<DeviceSlab>& import = imports_[{backend.get(), part.domain().domain}];
    if (import == nullptr && arena_ != nullptr && arena_->data() != nullptr) {
        LEAT_ASSIGN_OR_RETURN(import, DeviceSlab::import(backend, part.domain(), arena_));
    }
    return import;
}

void RequestMemory::trim() {
    for (const std::shared_ptr<Slab>& slab : slabs_) {
        slab->trim();
    }
    is_trimmed_ = true;
}

void RequestMemory::touch_if_trimmed() {
    if (std::exchange(is_trimmed_, false)) {
        for (const std::shared_ptr<Slab>& slab : slabs_) {
            slab->touch();
        }
    }
}

namespace {

// The report's part for memory of this name and placement; a new one at the end if there is none.
PagePlacement& part_for(const PagePlacement& like, PlacementReport& report) {
    for (PagePlacement& part : report.memory) {
        if (part.memory == like.memory && part.numa_nodes == like.numa_nodes &&
            part.policy_asked == like.policy_asked &&
            part.policy_effective == like.policy_effective && part.source == like.source) {
            return part;
        }
    }
    return report.memory.emplace_back(like);
}

}  // namespace

void add_placement(const Slab& slab,
                   const MemoryDomains& domains,
                   const char* memory,
                   PlacementReport& report,
                   NumaMaps& maps) {
    const PageCounts counts = count_pages(slab, domains, maps);
    PagePlacement like;
    like.memory = memory;
    like.numa_nodes = domains.os_nodes(slab.placement().domains);
    like.policy_asked = name_of(slab.placement().policy);
    like.policy_effective = name_of(slab.effective_policy());
    like.source = name_of(counts.source);
    PagePlacement& part = part_for(like, report);
    part.wanted_pages += counts.wanted;
    part.there_pages += counts.there;
    part.elsewhere_pages += counts.elsewhere;
    part.absent_pages += counts.absent;
    part.huge_pages += counts.huge;
    part.is_confirmed = part.is_confirmed && counts.is_confirmed;
}

void RequestMemory::add_to(PlacementReport& report, NumaMaps& maps) const {
    for (size_t i = 0; i < slabs_.size(); ++i) {
        if (slabs_[i]->size_bytes() > 0) {
            add_placement(*slabs_[i], *domains_, i == 0 ? "activations" : "scratch", report, maps);
        }
    }
}

}  // namespace leat
