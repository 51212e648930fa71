#include "memory/divided_memory.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/parts.h"

namespace leat {
namespace {

// A border between parts costs up to a huge page of small ones, and moves by half of one.
constexpr int64_t kHugePagesOfAPart = 8;

}  // namespace

std::vector<SlabPart> divide_among(int64_t bytes, std::span<const MemoryDomainId> readers) {
    const auto count = int64_t(readers.size());
    const bool is_huge = bytes / count >= kHugePagesOfAPart * Slab::kHugePageBytes;
    const int64_t unit = is_huge ? Slab::kHugePageBytes : page_bytes();
    std::vector<SlabPart> parts;
    parts.reserve(readers.size());
    int64_t begin = 0;
    for (int64_t reader = 0; reader < count; ++reader) {
        const int64_t border = (part_begin(bytes, count, reader + 1) + unit / 2) / unit * unit;
        const int64_t end = reader + 1 == count ? bytes : std::min(border, bytes);
        const MemoryDomainId domain = readers[size_t(reader)];
        if (!parts.empty() && parts.back().domain == domain) {
            parts.back().bytes += end - begin;
        } else if (end > begin) {
            parts.push_back({end - begin, domain});
        }
        begin = end;
    }
    return parts;
}

DividedMemory::DividedMemory(std::shared_ptr<MemoryDomains> domains,
                             std::vector<MemoryDomainId> readers)
    : domains_(std::move(domains)), readers_(std::move(readers)) {}

Result<std::shared_ptr<std::byte>> DividedMemory::allocate(int64_t bytes) {
    LEAT_ASSIGN_OR_RETURN(Block slabs,
                          Slab::make_adjacent(divide_among(bytes, readers_), domains_));
    for (Slab& slab : slabs) {
        slab.touch();
    }
    const auto block = std::make_shared<const Block>(std::move(slabs));
    const std::lock_guard lock(mutex_);
    blocks_.erase(std::remove_if(blocks_.begin(), blocks_.end(),
                                 [](const auto& held) { return held.expired(); }),
                  blocks_.end());
    blocks_.push_back(block);
    return std::shared_ptr<std::byte>(block, block->front().data());
}

std::vector<std::shared_ptr<const Slab>> DividedMemory::slabs() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<const Slab>> all;
    for (const std::weak_ptr<const Block>& held : blocks_) {
        if (const std::shared_ptr<const Block> block = held.lock()) {
            for (const Slab& slab : *block) {
                all.emplace_back(block, &slab);
            }
        }
    }
    return all;
}

}  // namespace leat
