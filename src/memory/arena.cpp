#include "memory/arena.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/error.h"

namespace leat {
namespace {

int64_t page_bytes() {
    return int64_t(::sysconf(_SC_PAGESIZE));
}

int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

Status refused(int64_t bytes) {
    return out_of_memory("cannot map {} bytes: {}", bytes, std::strerror(errno))
        .with_hint("free memory, or compile with smaller shapes or a memory limit");
}

}  // namespace

Result<Arena> Arena::make(int64_t bytes) {
    LEAT_CHECK(bytes >= 0, "an arena of {} bytes", bytes);
    Arena arena;
    if (bytes == 0) {
        return arena;
    }
    if (bytes > std::numeric_limits<int64_t>::max() / 2) {
        errno = ENOMEM;
        return refused(bytes);
    }
    const bool huge = bytes >= kHugePageBytes;
    const int64_t mapped = round_up(bytes, page_bytes());
    // Reserves one huge page more and cuts off both ends, because mmap aligns to small pages only.
    const int64_t reserved = mapped + (huge ? kHugePageBytes : 0);
    void* base = ::mmap(nullptr, size_t(reserved), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return refused(bytes);
    }
    auto* begin = static_cast<std::byte*>(base);
    if (huge) {
        const auto misaligned =
            int64_t(reinterpret_cast<uintptr_t>(base) % uintptr_t(kHugePageBytes));
        const int64_t head = misaligned == 0 ? 0 : kHugePageBytes - misaligned;
        const int64_t tail = reserved - head - mapped;
        if (head > 0) {
            ::munmap(begin, size_t(head));
        }
        begin += head;
        if (tail > 0) {
            ::munmap(begin + mapped, size_t(tail));
        }
        (void)::madvise(begin, size_t(mapped), MADV_HUGEPAGE);  // advice: small pages work too
    }
    arena.data_ = begin;
    arena.size_bytes_ = bytes;
    arena.mapped_bytes_ = mapped;
    return arena;
}

Arena::~Arena() {
    release();
}

Arena::Arena(Arena&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_bytes_(std::exchange(other.size_bytes_, 0)),
      mapped_bytes_(std::exchange(other.mapped_bytes_, 0)) {}

Arena& Arena::operator=(Arena&& other) noexcept {
    if (this != &other) {
        release();
        data_ = std::exchange(other.data_, nullptr);
        size_bytes_ = std::exchange(other.size_bytes_, 0);
        mapped_bytes_ = std::exchange(other.mapped_bytes_, 0);
    }
    return *this;
}

void Arena::release() noexcept {
    if (data_ != nullptr) {
        ::munmap(data_, size_t(mapped_bytes_));
        data_ = nullptr;
    }
}

void Arena::pretouch(int64_t begin_bytes, int64_t end_bytes) {
    LEAT_CHECK(begin_bytes >= 0 && begin_bytes <= end_bytes && end_bytes <= size_bytes_,
               "range [{}, {}) of an arena of {} bytes", begin_bytes, end_bytes, size_bytes_);
    const int64_t step = page_bytes();
    for (int64_t offset = begin_bytes; offset < end_bytes; offset = (offset / step + 1) * step) {
        volatile std::byte* byte = data_ + offset;
        *byte = *byte;  // a write: a read alone would map the shared zero page
    }
}

}  // namespace leat
