#include "run/request_memory.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"
#include "memory/domains/page_placement.h"

namespace leat {

namespace {

// Parts of what there is that slabs grow by at least: one after the other, until it fits.
constexpr int64_t kSpareParts[] = {4, 8, 16};

int64_t with_spare(int64_t needed_bytes, int64_t former_bytes, int64_t part) {
    return needed_bytes <= former_bytes
               ? former_bytes
               : std::max(needed_bytes, round_up(former_bytes + former_bytes / part, page_bytes()));
}

}  // namespace

RequestMemory::RequestMemory(std::shared_ptr<MemoryDomains> domains,
                             MemoryDomainId home,
                             std::vector<MemoryDomainId> workers,
                             SpareRoom spare)
    : domains_(std::move(domains)), home_(home), workers_(std::move(workers)), spare_(spare) {
    if (!workers_.empty()) {
        workers_[0] = home_;
    }
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

Result<bool> RequestMemory::reserve(const RequestRoom& room) {
    const RequestRoom needed = {std::max(room.arena_bytes, needed_.arena_bytes),
                                std::max(room.scratch_bytes, needed_.scratch_bytes)};
    const bool has_room = !slabs_.empty() && needed.arena_bytes <= room_.arena_bytes &&
                          needed.scratch_bytes <= room_.scratch_bytes;
    if (!has_room) {
        LEAT_RETURN_IF_ERROR(grow(needed));
    } else if (!is_trimmed_) {
        touch(needed_, needed);
    }
    needed_ = needed;
    return !has_room;
}

// One for each of domains_in_use(). `must_fit`: or none.
Result<RequestMemory::Slabs> RequestMemory::make_slabs(const RequestRoom& room,
                                                       bool must_fit) const {
    Slabs slabs;
    for (const MemoryDomainId id : domains_in_use()) {
        const auto workers = int64_t(std::count(workers_.begin(), workers_.end(), id));
        const int64_t bytes = (slabs.empty() ? room.arena_bytes : 0) + workers * room.scratch_bytes;
        SlabPlacement placement;
        if (!domains_->list().empty()) {
            placement = {MemoryPolicy::kBind, {id}};
        }
        LEAT_ASSIGN_OR_RETURN(
            Slab slab, must_fit ? Slab::make_if_it_fits(bytes, domains_, std::move(placement))
                                : Slab::make(bytes, domains_, std::move(placement)));
        slabs.push_back(std::make_shared<Slab>(std::move(slab)));
    }
    return slabs;
}

// `room`: what they have.
Result<RequestMemory::Slabs> RequestMemory::make_larger_slabs(const RequestRoom& needed,
                                                              RequestRoom& room) const {
    if (spare_ == SpareRoom::kQuarter && !slabs_.empty()) {
        for (const int64_t part : kSpareParts) {
            room = {with_spare(needed.arena_bytes, room_.arena_bytes, part),
                    with_spare(needed.scratch_bytes, room_.scratch_bytes, part)};
            if (Result<Slabs> slabs = make_slabs(room, /*must_fit=*/true); slabs.ok()) {
                return slabs;
            }
        }
    }
    room = needed;
    return make_slabs(room, /*must_fit=*/false);
}

Status RequestMemory::grow(const RequestRoom& needed) {
    RequestRoom room;
    LEAT_ASSIGN_OR_RETURN(Slabs slabs, make_larger_slabs(needed, room));
    const std::vector<MemoryDomainId> domains = domains_in_use();
    std::vector<std::byte*> scratch(workers_.size(), nullptr);
    for (size_t i = 0; i < slabs.size(); ++i) {
        int64_t offset = i == 0 ? room.arena_bytes : 0;
        for (size_t worker = 0; worker < workers_.size(); ++worker) {
            if (workers_[worker] == domains[i] && slabs[i]->data() != nullptr) {
                scratch[worker] = slabs[i]->data() + offset;
                offset += room.scratch_bytes;
            }
        }
    }
    slabs_ = std::move(slabs);
    scratch_ = std::move(scratch);
    arena_ = slabs_.front();
    imports_.clear();
    room_ = room;
    is_trimmed_ = false;
    touch({}, needed);
    return {};
}

void RequestMemory::touch(const RequestRoom& before, const RequestRoom& needed) {
    slabs_.front()->touch(before.arena_bytes, needed.arena_bytes - before.arena_bytes);
    const int64_t bytes = needed.scratch_bytes - before.scratch_bytes;
    const std::vector<MemoryDomainId> domains = domains_in_use();
    for (size_t i = 0; i < slabs_.size(); ++i) {
        for (size_t worker = 0; worker < workers_.size(); ++worker) {
            if (workers_[worker] == domains[i]) {
                const int64_t begin = scratch_[worker] - slabs_[i]->data();
                slabs_[i]->touch(begin + before.scratch_bytes, bytes);
            }
        }
    }
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
    for (GrownTensor& tensor : grown_) {
        tensor.release();
    }
    is_trimmed_ = true;
}

void RequestMemory::touch_if_trimmed() {
    if (std::exchange(is_trimmed_, false)) {
        touch({}, needed_);
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
