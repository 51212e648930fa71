// Arena: one block of anonymous memory, mapped once and given back as a whole.
//
// Movable, not copyable. Distinct ranges may be used by different threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/status.h"

namespace leat {

class Arena {
  public:
    static constexpr int64_t kHugePageBytes = int64_t{2} << 20;

    Arena() = default;
    // Zeroed memory. From kHugePageBytes on it starts at a multiple of that and asks the kernel for
    // huge pages; below it starts at a page. out_of_memory instead of an abort; bytes == 0 maps
    // nothing.
    static Result<Arena> make(int64_t bytes);
    ~Arena();
    Arena(Arena&& other) noexcept;
    Arena& operator=(Arena&& other) noexcept;

    std::byte* data() const { return data_; }
    int64_t size_bytes() const { return size_bytes_; }

    // Touches every page of [begin_bytes, end_bytes) from the calling thread, so that the kernel
    // places it now and not during a run. Keeps the contents; must not run beside a user of the
    // range.
    void pretouch(int64_t begin_bytes, int64_t end_bytes);

  private:
    void release() noexcept;

    std::byte* data_ = nullptr;
    int64_t size_bytes_ = 0;
    int64_t mapped_bytes_ = 0;
};

}  // namespace leat
