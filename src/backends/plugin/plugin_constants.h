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
    using Key = std::pair<const std::byte*, int64_t>;  // address, bytes

    PluginConstants() = default;
    // With hashes that are known already; outlive it.
    explicit PluginConstants(const std::map<Key, uint64_t>* hashes) : hashes_(hashes) {}

    struct Entry {
        Tensor tensor;  // the bytes, aligned to 64 bytes: those given, or a copy
        uint64_t content_hash = 0;
    };
    // For a tensor that is no string. out_of_memory where a copy fails.
    Result<const Entry*> of(const Tensor& tensor);

  private:
    const std::map<Key, uint64_t>* hashes_ = nullptr;  // null: none are known
    std::map<Key, Entry> entries_;
};

}  // namespace leat
