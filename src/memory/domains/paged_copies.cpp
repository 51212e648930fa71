#include "memory/domains/paged_copies.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "memory/domains/slab.h"

namespace leat {
namespace {

uintptr_t begin_of(const Copy& copy) {
    return reinterpret_cast<uintptr_t>(copy.to);
}
uintptr_t end_of(const Copy& copy) {
    return begin_of(copy) + uintptr_t(copy.bytes);
}

}  // namespace

PagedCopies::PagedCopies(std::vector<Copy> copies) : copies_(std::move(copies)) {
    copies_.erase(std::remove_if(copies_.begin(), copies_.end(),
                                 [](const Copy& copy) { return copy.bytes <= 0; }),
                  copies_.end());
    std::sort(copies_.begin(), copies_.end(),
              [](const Copy& a, const Copy& b) { return begin_of(a) < begin_of(b); });
    constexpr auto kPage = uintptr_t(Slab::kHugePageBytes);
    for (const Copy& copy : copies_) {
        uintptr_t page = begin_of(copy) / kPage * kPage;
        if (!pages_.empty() && pages_.back() == page) {
            page += kPage;  // begun by the copy before
        }
        for (; page < end_of(copy); page += kPage) {
            pages_.push_back(page);
        }
    }
}

void PagedCopies::copy(int64_t begin, int64_t end) const {
    LEAT_CHECK(begin >= 0 && end <= page_count(), "pages {} to {} of {}", begin, end, page_count());
    if (begin >= end) {
        return;
    }
    const uintptr_t first = pages_[size_t(begin)];
    const uintptr_t last = pages_[size_t(end - 1)] + uintptr_t(Slab::kHugePageBytes);
    auto at = std::partition_point(copies_.begin(), copies_.end(),
                                   [first](const Copy& copy) { return end_of(copy) <= first; });
    for (; at != copies_.end() && begin_of(*at) < last; ++at) {
        const uintptr_t from = std::max(begin_of(*at), first);
        const uintptr_t to = std::min(end_of(*at), last);
        const uintptr_t skipped = from - begin_of(*at);
        std::memcpy(at->to + skipped, at->from + skipped, to - from);
    }
}

}  // namespace leat
