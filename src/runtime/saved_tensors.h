// The elements of constants in a file of a compiled graph: blobs, each once, which tensors refer to
// by number. Strings are written where the tensor is.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/tensor.h"

namespace leat {

// Where a blob is, from the first one on.
struct BlobPlace {
    int64_t offset_bytes = 0;
    int64_t size_bytes = 0;
    uint64_t hash = 0;  // content_hash
};

// Gives blobs their places. Not thread-safe.
class BlobWriter {
  public:
    static constexpr int64_t kAlignmentBytes = 64;

    struct Blob {
        std::span<const std::byte> bytes;
        std::shared_ptr<const void> owner;
    };
    // The blob's number; the same for the same memory.
    int32_t add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

    const std::vector<Blob>& blobs() const { return blobs_; }
    const std::vector<BlobPlace>& places() const { return places_; }
    // The tensors that were written, by blob: one of them.
    std::map<int32_t, Tensor> tensors;

  private:
    std::vector<Blob> blobs_;
    std::vector<BlobPlace> places_;
    std::map<std::pair<const std::byte*, size_t>, int32_t> numbers_;
    int64_t end_bytes_ = 0;
};

// Blobs of a mapped file.
class BlobReader {
  public:
    // Precondition: the places are inside `bytes`.
    BlobReader(std::vector<BlobPlace> places,
               std::span<const std::byte> bytes,
               std::shared_ptr<const void> file)
        : places_(std::move(places)), bytes_(bytes), file_(std::move(file)) {}

    std::span<const BlobPlace> places() const { return places_; }
    // Null: there is no such blob.
    const std::byte* find(int32_t blob) const {
        return blob < 0 || size_t(blob) >= places_.size()
                   ? nullptr
                   : bytes_.data() + places_[size_t(blob)].offset_bytes;
    }
    const std::shared_ptr<const void>& file() const { return file_; }
    // The tensors that were read, by blob: one of them.
    std::map<int32_t, Tensor> tensors;

  private:
    std::vector<BlobPlace> places_;
    std::span<const std::byte> bytes_;
    std::shared_ptr<const void> file_;
};

// What a tensor is besides its elements; false: the file's bytes are none.
struct TensorRecord {
    uint8_t dtype = 0;
    std::vector<int64_t> extents;
    int32_t blob = -1;
    std::vector<std::string> strings;
};
TensorRecord record_of(const Tensor& tensor, BlobWriter& blobs);
std::optional<Tensor> tensor_of(const TensorRecord& record, BlobReader& blobs);

template <class Archive>
void fields(Archive& archive, Tensor& tensor) {
    TensorRecord record;
    if constexpr (!Archive::kReads) {
        record = record_of(tensor, archive.context);
    }
    archive(record.dtype, record.extents, record.blob, record.strings);
    if constexpr (Archive::kReads) {
        std::optional<Tensor> made =
            archive.ok() ? tensor_of(record, archive.context) : std::nullopt;
        if (!made) {
            archive.fail();
        }
        tensor = made ? *std::move(made) : Tensor();
    }
}

}  // namespace leat
