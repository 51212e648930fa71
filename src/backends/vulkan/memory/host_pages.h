// HostPages: anonymous memory of this process that a device imports.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "leat/status.h"

namespace leat::vulkan {

// Advice for pages of this process that a CPU device computes in: the first touch of huge ones
// costs a fraction (docs/measurements/vulkan.md). Where it is refused, small pages do.
void advise_huge_pages(std::span<std::byte> memory);

// Zeroed, huge pages advised. Movable, not copyable.
class HostPages {
  public:
    HostPages() = default;
    // `bytes` from an address that is a multiple of `alignment`, a power of two. out_of_memory
    // where the process may not have so many.
    static Result<HostPages> make(int64_t bytes, int64_t alignment);
    HostPages(HostPages&& other) noexcept;
    HostPages& operator=(HostPages&& other) noexcept;
    ~HostPages();

    std::span<std::byte> bytes() const { return bytes_; }

  private:
    std::span<std::byte> mapped_;
    std::span<std::byte> bytes_;  // the aligned part of it
};

}  // namespace leat::vulkan
