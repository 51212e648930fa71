// The elements of constants in a file of a compiled graph: blobs, each once, which tensors refer to
// by number. They are in the file, or stay where the model has them. Strings are written where the
// tensor is.
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
#include "saved/source_file.h"

namespace leat {

// Where a blob is: in the compiled graph's file from the first one on, else from the begin of its
// file.
struct BlobPlace {
    int64_t offset_bytes = 0;
    int64_t size_bytes = 0;
    uint64_t hash = 0;          // content_hash
    int64_t source = kOwnFile;  // else the number of a SourceFile

    static constexpr int64_t kOwnFile = -1;
};

// Gives blobs their places. Not thread-safe.
class BlobWriter {
  public:
    static constexpr int64_t kAlignmentBytes = 64;
    // Smaller ones are always written: a page of another file for each would cost more to read.
    static constexpr int64_t kLeastReferencedBytes = 4096;

    // True: blobs that lie in mapped files, unless these are compiled graphs or were replaced, are
    // not written; their places name these files.
    explicit BlobWriter(bool refers_to_files = false) : refers_to_files_(refers_to_files) {}

    struct Blob {
        std::span<const std::byte> bytes;
        std::shared_ptr<const void> owner;
    };
    // The blob's number; the same for the same memory.
    int32_t add(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
    // The same also for equal bytes anywhere: devices often pack constants as they are.
    int32_t add_once(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);

    const std::vector<Blob>& blobs() const { return blobs_; }
    const std::vector<BlobPlace>& places() const { return places_; }
    const std::vector<SourceFile>& sources() const { return sources_; }
    // The tensors that were written, by blob: one of them.
    std::map<int32_t, Tensor> tensors;

  private:
    using Memory = std::pair<const std::byte*, size_t>;
    static Memory memory_of(std::span<const std::byte> bytes) {
        return {bytes.data(), bytes.size()};
    }
    int32_t append(Blob blob, uint64_t hash);
    BlobPlace place_of(const Blob& blob, uint64_t hash);
    int64_t source_of(const MappedFileDeleter& mapping);

    const bool refers_to_files_;
    std::vector<SourceFile> sources_;                   // absolute paths
    std::map<const void*, int64_t> source_of_mapping_;  // by address; kOwnFile: is not referred to
    std::vector<Blob> blobs_;
    std::vector<BlobPlace> places_;
    std::map<Memory, int32_t> numbers_;
    int64_t end_bytes_ = 0;
};

// Blobs of mapped files.
class BlobReader {
  public:
    struct File {
        std::span<const std::byte> bytes;  // that offsets are of
        std::shared_ptr<const void> owner;
    };
    // Precondition: the places are inside of the bytes of `own` and of `sources`.
    BlobReader(std::vector<BlobPlace> places, File own, std::vector<File> sources)
        : places_(std::move(places)), own_(std::move(own)), sources_(std::move(sources)) {}

    std::span<const BlobPlace> places() const { return places_; }
    // Null: there is no such blob.
    const std::byte* find(int32_t blob) const {
        return is_blob(blob) ? file_of(blob).bytes.data() + places_[size_t(blob)].offset_bytes
                             : nullptr;
    }
    // Of the compiled graph's own file; null: it has no such blob.
    const std::byte* find_own(int32_t blob) const {
        const bool is_own = is_blob(blob) && places_[size_t(blob)].source == BlobPlace::kOwnFile;
        return is_own ? find(blob) : nullptr;
    }
    // Precondition: there is such a blob.
    const std::shared_ptr<const void>& owner_of(int32_t blob) const { return file_of(blob).owner; }
    const std::shared_ptr<const void>& file() const { return own_.owner; }
    // The tensors that were read, by blob: one of them.
    std::map<int32_t, Tensor> tensors;

  private:
    bool is_blob(int32_t blob) const { return blob >= 0 && size_t(blob) < places_.size(); }
    const File& file_of(int32_t blob) const {
        const int64_t source = places_[size_t(blob)].source;
        return source == BlobPlace::kOwnFile ? own_ : sources_[size_t(source)];
    }

    std::vector<BlobPlace> places_;
    File own_;
    std::vector<File> sources_;
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

}  // namespace leat
