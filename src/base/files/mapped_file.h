// MappedFile: a file as read-only memory. Pages come in when somebody reads them, not before; or
// all are read at once, for files that others may write in place.
//
// The memory lives as long as any copy of owner(); Tensors that view it hold one. Thread safety: a
// value; reads of the memory are safe from any thread. A file that another process truncates while
// it is mapped makes reads fail with SIGBUS, as with every mapping: check_mapping() notices it
// before, FileAccess::kCopy makes it impossible.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/files/descriptor.h"
#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

enum class FileAccess : uint8_t {
    kMap,
    kCopy,  // into memory of the process; what happens to the file afterwards does not matter
};

// Marks an owner as a file's memory: WeightStore may drop the pages of one that is mapped. It is
// the deleter of the memory's shared_ptr, which is how drop_source_pages recognises it, and who
// asks which file the elements of a tensor are in.
struct MappedFileDeleter {
    void* address = nullptr;
    size_t length_bytes = 0;
    std::string path = {};    // absolute, as it was when it was mapped or copied
    int64_t modified_ns = 0;  // the file's time of modification then
    uint64_t device = 0;      // which file it was, whatever its name is now
    uint64_t inode = 0;
    FileAccess access = FileAccess::kMap;
    void operator()(const void*) const noexcept;  // munmap
};

class MappedFile {
  public:
    // Errors: not_found (no such file, not readable), invalid_argument (not a regular file), and,
    // of a copy, parse (it was changed while it was read).
    static Result<MappedFile> open(const std::filesystem::path& file,
                                   FileAccess access = FileAccess::kMap);
    // The same for an open descriptor, which stays the caller's. `name` is for messages.
    static Result<MappedFile> map(int descriptor,
                                  const std::string& name,
                                  FileAccess access = FileAccess::kMap);

    // Empty for an empty file.
    std::span<const std::byte> bytes() const { return {data_, size_bytes_}; }
    const std::shared_ptr<const void>& owner() const { return owner_; }
    // Of the file when it was mapped, in nanoseconds of the system's clock; 0 for an empty file.
    int64_t modified_ns() const;

  private:
    const std::byte* data_ = nullptr;
    size_t size_bytes_ = 0;
    std::shared_ptr<const void> owner_;
};

// For reading by MappedFile::map. not_found: it cannot be opened.
Result<Descriptor> open_to_read(const std::filesystem::path& file);

// An error if the owner is a mapped file that became shorter: who reads it may be ended by SIGBUS.
// Costs a system call.
Status check_mapping(const std::shared_ptr<const void>& owner);

// Gives back the pages that lie wholly inside the tensor's bytes, if its owner is a mapped file.
// Reading them later brings them in again.
void drop_source_pages(const Tensor& source);

}  // namespace leat
