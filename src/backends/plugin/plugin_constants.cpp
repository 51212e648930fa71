#include "backends/plugin/plugin_constants.h"

#include "base/error.h"
#include "graph/op_def.h"
#include "memory/content_hash.h"

namespace leat {
namespace {

constexpr int64_t kAlignmentBytes = 64;

}  // namespace

Result<const PluginConstants::Entry*> PluginConstants::of(const Tensor& tensor) {
    const Key key{tensor.bytes(), tensor.byte_count()};
    auto found = entries_.find(key);
    if (found == entries_.end()) {
        LEAT_ASSIGN_OR_RETURN(Tensor memory, aligned(tensor, kAlignmentBytes));
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
