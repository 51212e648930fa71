#include "memory/domains/slab.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/round_up.h"
#include "leat/scheduler/thread_binding.h"

namespace leat {
namespace {

Status refused(int64_t bytes, int error) {
    return out_of_memory("cannot map {} bytes: {}", bytes, std::strerror(error))
        .with_hint("free memory, or compile with smaller shapes or a memory limit");
}

int64_t physical_bytes() {
    const int64_t pages = ::sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? pages * page_bytes() : std::numeric_limits<int64_t>::max();
}

}  // namespace

Result<Slab> Slab::make(int64_t bytes) {
    LEAT_CHECK(bytes >= 0, "a slab of {} bytes", bytes);
    Slab slab;
    if (bytes == 0) {
        return slab;
    }
    // The kernel would map more than there is, and end the process when it touches that.
    if (bytes > std::min(physical_bytes(), std::numeric_limits<int64_t>::max() / 2)) {
        return refused(bytes, ENOMEM);
    }
    const bool huge = bytes >= kHugePageBytes;
    const int64_t alignment = huge ? kHugePageBytes : page_bytes();
    const int64_t mapped = round_up(bytes, page_bytes());
    // A guard before and after, and room to align, because mmap aligns to small pages only. All of
    // it is forbidden but the slab itself.
    const int64_t reserved = mapped + alignment + page_bytes();
    void* base = ::mmap(nullptr, size_t(reserved), PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return refused(bytes, errno);
    }
    slab.reserved_ = static_cast<std::byte*>(base);
    slab.reserved_bytes_ = reserved;
    const auto address = int64_t(reinterpret_cast<uintptr_t>(base));
    std::byte* begin = slab.reserved_ + (round_up(address + 1, alignment) - address);
    if (::mprotect(begin, size_t(mapped), PROT_READ | PROT_WRITE) != 0) {
        return refused(bytes, errno);
    }
    if (huge) {
        (void)::madvise(begin, size_t(mapped), MADV_HUGEPAGE);  // advice: small pages work too
    }
    slab.data_ = begin;
    slab.size_bytes_ = bytes;
    slab.mapped_bytes_ = mapped;
    return slab;
}

Result<Slab> Slab::make(int64_t bytes,
                        std::shared_ptr<MemoryDomains> domains,
                        SlabPlacement placement) {
    return make(bytes, std::move(domains), std::move(placement), Unfit::kIsPreferred);
}

Result<Slab> Slab::make_if_it_fits(int64_t bytes,
                                   std::shared_ptr<MemoryDomains> domains,
                                   SlabPlacement placement) {
    return make(bytes, std::move(domains), std::move(placement), Unfit::kIsRefused);
}

Result<Slab> Slab::make(int64_t bytes,
                        std::shared_ptr<MemoryDomains> domains,
                        SlabPlacement placement,
                        Unfit unfit) {
    LEAT_ASSIGN_OR_RETURN(Slab slab, make(bytes));
    if (bytes > 0 && domains != nullptr && !placement.domains.empty()) {
        LEAT_RETURN_IF_ERROR(slab.put(std::move(domains), std::move(placement), unfit));
    }
    return slab;
}

Result<std::vector<Slab>> Slab::make_adjacent(std::span<const SlabPart> parts,
                                              const std::shared_ptr<MemoryDomains>& domains) {
    int64_t bytes = 0;
    for (const SlabPart& part : parts) {
        bytes += part.bytes;
    }
    LEAT_ASSIGN_OR_RETURN(Slab rest, make(bytes));
    std::vector<Slab> slabs;
    slabs.reserve(parts.size());
    for (const SlabPart& part : parts) {
        Slab next = &part == &parts.back() ? Slab() : rest.cut(part.bytes);
        LEAT_RETURN_IF_ERROR(
            rest.put(domains, {MemoryPolicy::kBind, {part.domain}}, Unfit::kIsPreferred));
        slabs.push_back(std::move(rest));
        rest = std::move(next);
    }
    return slabs;
}

// Keeps the first `bytes`, of whole pages, and makes the rest a slab of its own. Of one that is in
// no domain yet.
Slab Slab::cut(int64_t bytes) {
    LEAT_CHECK(
        bytes > 0 && bytes < mapped_bytes_ && bytes % page_bytes() == 0 && domains_ == nullptr,
        "{} bytes cut off a slab of {}", bytes, mapped_bytes_);
    Slab rest;
    rest.data_ = data_ + bytes;
    rest.size_bytes_ = size_bytes_ - bytes;
    rest.mapped_bytes_ = mapped_bytes_ - bytes;
    rest.reserved_ = rest.data_;
    rest.reserved_bytes_ = reserved_ + reserved_bytes_ - rest.data_;
    reserved_bytes_ -= rest.reserved_bytes_;
    size_bytes_ = bytes;
    mapped_bytes_ = bytes;
    return rest;
}

Status Slab::put(std::shared_ptr<MemoryDomains> domains, SlabPlacement placement, Unfit unfit) {
    domains_ = std::move(domains);
    placement_ = std::move(placement);
    taken_bytes_ = share_of(mapped_bytes_);
    for (const MemoryDomainId id : placement_.domains) {
        domains_->take(id, taken_bytes_);
    }
    if (!domains_->places()) {
        placement_.policy = MemoryPolicy::kNone;
    }
    LEAT_RETURN_IF_ERROR(check_budget(unfit));
    place();
    return {};
}

namespace {

// A slab's own share is not counted as long as this lives.
class Uncounted {
  public:
    Uncounted(MemoryDomains& domains, MemoryDomainId id, int64_t bytes)
        : domains_(domains), id_(id), bytes_(bytes) {
        domains_.give_back(id_, bytes_);
    }
    ~Uncounted() { domains_.take(id_, bytes_); }
    Uncounted(const Uncounted&) = delete;
    Uncounted& operator=(const Uncounted&) = delete;

  private:
    MemoryDomains& domains_;
    MemoryDomainId id_;
    int64_t bytes_;
};

MemoryBudget budget_without(MemoryDomains& domains, MemoryDomainId id, int64_t own_bytes) {
    const Uncounted own(domains, id, own_bytes);
    return domains.budget(id);
}

}  // namespace

// Strict, or refused: what is asked for must be free. Else the slab is only preferred there.
Status Slab::check_budget(Unfit unfit) {
    effective_ = placement_.policy;
    if (placement_.policy == MemoryPolicy::kNone && !domains_->is_strict()) {
        return {};  // no choice depends on it: no file is read
    }
    const int64_t wanted = taken_bytes_;
    for (const MemoryDomainId id : placement_.domains) {
        const MemoryBudget budget = budget_without(*domains_, id, wanted);
        if (wanted <= budget.bytes) {
            continue;
        }
        const int node = domains_->at(id).os_node;
        if (domains_->is_strict() || unfit == Unfit::kIsRefused) {
            return out_of_memory("a slab of {} bytes does not fit memory domain {} (node {})",
                                 wanted, int(id), node)
                .with_found(fmt::format("{} bytes: {}", budget.bytes, budget.reason))
                .with_hint("give the domain a greater limit, or allow memory of other domains");
        }
        if (placement_.policy == MemoryPolicy::kBind) {
            effective_ = MemoryPolicy::kPrefer;
            domains_->tell(
                fmt::format("node {} has less than the {} bytes that are wanted there: "
                            "what does not fit goes elsewhere ({})",
                            node, wanted, budget.reason));
        }
    }
    return {};
}

// From the strongest policy down to none.
void Slab::place() {
    if (placement_.policy == MemoryPolicy::kNone) {
        return;
    }
    // Now, and not when the domain was probed: another thread may have been told otherwise.
    const ThreadPolicy own = thread_memory_policy();
    if (own.is_known && !own.is_default) {
        effective_ = MemoryPolicy::kUser;
        domains_->tell(fmt::format("the process's own memory policy ({}) is kept", own.text));
        return;
    }
    const MemoryDomainId first = placement_.domains.front();
    const MemoryPolicy strongest = domains_->strongest(first);
    const bool has_policies = strongest >= MemoryPolicy::kPrefer;
    if (effective_ == MemoryPolicy::kBind || !has_policies) {
        effective_ = strongest;
    }
    if (has_policies) {
        const int error = set_memory_policy(data_, mapped_bytes_, effective_,
                                            domains_->os_nodes(placement_.domains));
        if (error != 0) {
            effective_ = MemoryPolicy::kFirstTouch;
            domains_->tell(fmt::format("memory is placed by 'first touch' instead of '{}': {}",
                                       name_of(placement_.policy), std::strerror(error)));
        }
    }
}

int64_t Slab::share_of(int64_t bytes) const {
    const auto parts = int64_t(placement_.domains.size());
    return (bytes + parts - 1) / parts;
}

Slab::~Slab() {
    release();
}

Slab::Slab(Slab&& other) noexcept {
    *this = std::move(other);
}

Slab& Slab::operator=(Slab&& other) noexcept {
    if (this != &other) {
        release();
        data_ = std::exchange(other.data_, nullptr);
        size_bytes_ = std::exchange(other.size_bytes_, 0);
        mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
        taken_bytes_ = std::exchange(other.taken_bytes_, 0);
        reserved_ = std::exchange(other.reserved_, nullptr);
        reserved_bytes_ = std::exchange(other.reserved_bytes_, 0);
        domains_ = std::move(other.domains_);
        placement_ = std::exchange(other.placement_, {});
        effective_ = std::exchange(other.effective_, MemoryPolicy::kNone);
    }
    return *this;
}

void Slab::release() noexcept {
    if (domains_ != nullptr) {
        for (const MemoryDomainId id : placement_.domains) {
            domains_->give_back(id, taken_bytes_);
        }
        domains_.reset();
    }
    if (reserved_ != nullptr) {
        ::munmap(reserved_, size_t(reserved_bytes_));
        reserved_ = nullptr;
        data_ = nullptr;
    }
}

void Slab::touch(int64_t offset, int64_t bytes) {
    LEAT_CHECK(offset >= 0 && bytes >= 0 && offset + bytes <= size_bytes_,
               "{} bytes at {} of a slab of {}", bytes, offset, size_bytes_);
    if (bytes == 0) {
        return;
    }
    std::optional<scheduler::ThreadBinding> binding;
    if (domains_ != nullptr && domains_->places() && placement_.domains.size() == 1 &&
        effective_ != MemoryPolicy::kUser) {
        binding.emplace(domains_->at(placement_.domains.front()).cpus);
        (void)binding->bind();  // where nobody may, the pages' policy still holds
    }
    // A slab begins with a page.
    for (int64_t at = offset; at < offset + bytes; at = round_up(at + 1, page_bytes())) {
        // Never a read before: that maps the shared zero page, a huge one where it fits, which
        // kernels before 6.10 divide into small pages at the write.
        volatile std::byte* byte = data_ + at;
        *byte = std::byte{0};
    }
}

void Slab::trim() {
    if (data_ != nullptr) {
        (void)::madvise(data_, size_t(mapped_bytes_), MADV_DONTNEED);
    }
}

void Slab::discard(int64_t offset, int64_t bytes) {
    LEAT_CHECK(offset >= 0 && bytes >= 0 && offset + bytes <= mapped_bytes_,
               "{} bytes at {} of a slab of {}", bytes, offset, mapped_bytes_);
    const int64_t begin = round_up(offset, page_bytes());
    const int64_t end = (offset + bytes) / page_bytes() * page_bytes();
    if (begin >= end) {
        return;
    }
    (void)::madvise(data_ + begin, size_t(end - begin), MADV_DONTNEED);
    if (domains_ != nullptr) {
        const int64_t share = std::min(share_of(end - begin), taken_bytes_);
        taken_bytes_ -= share;
        for (const MemoryDomainId id : placement_.domains) {
            domains_->give_back(id, share);
        }
    }
}

}  // namespace leat
