// MappedWeights: packed copies of constants that are in a mapped file, where kernels may read them.
//
// Immutable once filled, so safe to use concurrently.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "leat/tensor.h"

namespace leat {

class MappedWeights {
  public:
    // By address and bytes of elements: their content_hash, as the file has it.
    using Hashes = std::map<std::pair<const std::byte*, int64_t>, uint64_t>;

    explicit MappedWeights(std::shared_ptr<const void> file) : file_(std::move(file)) {}

    void add_hash(const Tensor& source, uint64_t hash) {
        hashes_[{source.bytes(), source.byte_count()}] = hash;
    }
    // `packed`: in the file, of so many bytes, 64-byte aligned.
    void add(const Tensor& source, std::string layout_key, int64_t bytes, const std::byte* packed) {
        const Key key{source.bytes(), source.byte_count(), bytes, std::move(layout_key)};
        if (packed_.emplace(key, packed).second) {
            packed_bytes_ += bytes;
        }
    }

    // Keeps the file mapped; null: it is not in the file.
    std::shared_ptr<const std::byte> find(const Tensor& source,
                                          std::string_view layout_key,
                                          int64_t bytes) const {
        const auto found =
            packed_.find(Key{source.bytes(), source.byte_count(), bytes, std::string(layout_key)});
        return found == packed_.end() ? nullptr
                                      : std::shared_ptr<const std::byte>(file_, found->second);
    }
    std::optional<uint64_t> hash_of(const Tensor& source) const {
        const auto found = hashes_.find({source.bytes(), source.byte_count()});
        return found == hashes_.end() ? std::nullopt : std::optional(found->second);
    }
    const Hashes& hashes() const { return hashes_; }
    int64_t packed_bytes() const { return packed_bytes_; }

  private:
    struct Key {
        const std::byte* source = nullptr;
        int64_t source_bytes = 0;
        int64_t packed_bytes = 0;
        std::string layout_key;
        // NOLINTNEXTLINE(modernize-use-nullptr): version 14 sees a 0 in what is made here
        friend auto operator<=>(const Key&, const Key&) = default;
    };

    std::shared_ptr<const void> file_;
    std::map<Key, const std::byte*> packed_;
    Hashes hashes_;
    int64_t packed_bytes_ = 0;
};

}  // namespace leat
