#include "backends/vulkan/memory/host_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"

namespace leat::vulkan {
namespace {

constexpr int64_t kHugePageBytes = int64_t{2} << 20;

}  // namespace

void advise_huge_pages(std::span<std::byte> memory) {
    const auto begin = int64_t(reinterpret_cast<uintptr_t>(memory.data()));
    const int64_t to_first = round_up(begin, kHugePageBytes) - begin;
    const int64_t end = (begin + int64_t(memory.size())) / kHugePageBytes * kHugePageBytes;
    if (begin + to_first < end) {
        (void)::madvise(memory.data() + to_first, size_t(end - begin - to_first), MADV_HUGEPAGE);
    }
}

Result<HostPages> HostPages::make(int64_t bytes, int64_t alignment) {
    const int64_t begins_at = std::max(alignment, kHugePageBytes);
    const int64_t reserved = bytes + begins_at;
    void* base = ::mmap(nullptr, size_t(reserved), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return out_of_memory("cannot map {} bytes: {}", bytes, std::strerror(errno));
    }
    HostPages pages;
    pages.mapped_ = {static_cast<std::byte*>(base), size_t(reserved)};
    const auto address = int64_t(reinterpret_cast<uintptr_t>(base));
    pages.bytes_ =
        pages.mapped_.subspan(size_t(round_up(address, begins_at) - address), size_t(bytes));
    advise_huge_pages(pages.bytes_);
    return pages;
}

HostPages::HostPages(HostPages&& other) noexcept
    : mapped_(std::exchange(other.mapped_, {})), bytes_(std::exchange(other.bytes_, {})) {}

HostPages& HostPages::operator=(HostPages&& other) noexcept {
    std::swap(mapped_, other.mapped_);
    std::swap(bytes_, other.bytes_);
    return *this;
}

HostPages::~HostPages() {
    if (!mapped_.empty()) {
        (void)::munmap(mapped_.data(), mapped_.size());
    }
}

}  // namespace leat::vulkan
