// PluginConstants: constants as backends of the C ABI see them, hashed and aligned once for all
// views of a graph and of its parts.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

// Not thread-safe. Outlives the views made with it; the tensors outlive it.
class PluginConstants {
  public:
    struct Entry {
        Tensor tensor;  // the bytes, aligned to 64 bytes: those given, or a copy
        uint64_t content_hash = 0;
    };
    // For a tensor that is no string. out_of_memory where a copy fails.
    Result<const Entry*> of(const Tensor& tensor);

  private:
    using Key = std::pair<const std::byte*, int64_t>;  // address, bytes
    std::map<Key, Entry> entries_;
};

}  // namespace leat
