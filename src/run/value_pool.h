// ValuePool: memory of values that live longer than one segment, or whose size only a run knows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "leat/tensor.h"

namespace leat {

// Memory goes back to the pool when the last tensor in it ends, whoever has that, and serves other
// values. Sizes are rounded up by at most a quarter, so that values whose sizes vary a little find
// room. Thread-safe.
class ValuePool {
  public:
    // limit_bytes: of all memory that the pool has, used or not; 0: none.
    explicit ValuePool(int64_t limit_bytes);

    // A tensor with elements that nobody has written. out_of_memory names the value.
    Result<Tensor> allocate(DType dtype, const Shape& shape, std::string_view value);
    // Gives memory that no value has back to the system.
    void trim();

    int64_t held_bytes() const;  // now
    int64_t peak_bytes() const;  // the most that values had at a time

  private:
    using Blocks = std::multimap<int64_t, Tensor>;  // by size
    // Outlives the pool as long as some value has memory of it.
    struct Store {
        std::mutex mutex;
        Blocks free;
        int64_t held_bytes = 0;
        int64_t used_bytes = 0;
        int64_t peak_bytes = 0;
    };
    struct Lease;
    Result<Blocks::node_type> take_block(int64_t bytes);
    void add_used(int64_t bytes);

    int64_t limit_bytes_;
    std::shared_ptr<Store> store_;
};

}  // namespace leat
