#include "backends/plugin/plugin_constants.h"

#include <cstring>

#include "base/error.h"
#include "memory/content_hash.h"

namespace leat {
namespace {

constexpr uintptr_t kAlignmentBytes = 64;

Result<Tensor> aligned(const Tensor& tensor) {
    if (reinterpret_cast<uintptr_t>(tensor.bytes()) % kAlignmentBytes == 0 ||
        tensor.byte_count() == 0) {
        return tensor;
    }
    LEAT_ASSIGN_OR_RETURN(Tensor copy, Tensor::allocate(tensor.dtype(), tensor.shape()));
    std::memcpy(copy.mutable_bytes(), tensor.bytes(), size_t(tensor.byte_count()));
    return copy;
}

}  // namespace

Result<const PluginConstants::Entry*> PluginConstants::of(const Tensor& tensor) {
    const Key key{tensor.bytes(), tensor.byte_count()};
    auto found = entries_.find(key);
    if (found == entries_.end()) {
        LEAT_ASSIGN_OR_RETURN(Tensor memory, aligned(tensor));
        uint64_t hash = 0;
        if (const auto known = hashes_ == nullptr ? decltype(hashes_->end())() : hashes_->find(key);
            hashes_ != nullptr && known != hashes_->end()) {
            hash = known->second;
        } else {
            hash = content_hash({tensor.bytes(), size_t(tensor.byte_count())});
        }
        found = entries_.emplace(key, Entry{std::move(memory), hash}).first;
    }
    return &found->second;
}

}  // namespace leat
