// StructureBytes: the parts of a large model file that are not weights, in memory of our own.
//
// Reading names and lengths through a mapping brings in what lies around them, and the kernel may
// map whole huge pages of the page cache: 2 MiB for each weight's header (Linux 6.18, ext4). So a
// large file's structure is read with pread, block by block on demand, to the same offsets of a
// sparse anonymous mapping. Payloads of weights are never read; views of them point into the file's
// mapping.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "leat/status.h"

namespace leat::onnx {

using Bytes = std::span<const std::byte>;

class StructureBytes {
  public:
    // mapping: of the open file, which stays the caller's and is open as long as this lives: under
    // its name there may be another one by now. The mapping is used itself if there is no address
    // space for a second one.
    StructureBytes(int descriptor, Bytes mapping);
    ~StructureBytes();
    StructureBytes(const StructureBytes&) = delete;
    StructureBytes& operator=(const StructureBytes&) = delete;

    // As long as the file; only what ensure() was called for may be read.
    Bytes memory() const { return memory_; }
    // Makes a part of memory() readable.
    Status ensure(Bytes part);
    // The same bytes in the file's mapping.
    Bytes in_file(Bytes part) const {
        return file_.subspan(size_t(part.data() - memory_.data()), part.size());
    }

  private:
    static constexpr size_t kBlockBytes = 4096;

    Status read_blocks(size_t begin, size_t end);

    int descriptor_ = -1;
    Bytes file_;
    Bytes memory_;
    std::vector<bool> loaded_;  // by block; empty if memory_ is the mapping
};

}  // namespace leat::onnx
