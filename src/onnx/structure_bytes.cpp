#include "onnx/structure_bytes.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace leat::onnx {

StructureBytes::StructureBytes(int descriptor, Bytes mapping)
    : descriptor_(descriptor), file_(mapping), memory_(mapping) {
    // First: without memory for it nothing is mapped that the destructor would have to end.
    std::vector<bool> loaded((mapping.size() + kBlockBytes - 1) / kBlockBytes);
    void* address = mmap(nullptr, mapping.size(), PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) {
        return;
    }
    (void)madvise(address, mapping.size(), MADV_NOHUGEPAGE);  // only a few of its pages are used
    memory_ = {static_cast<const std::byte*>(address), mapping.size()};
    loaded_ = std::move(loaded);
}

StructureBytes::~StructureBytes() {
    if (!loaded_.empty()) {
        munmap(const_cast<std::byte*>(memory_.data()), memory_.size());
    }
}

Status StructureBytes::ensure(Bytes part) {
    if (loaded_.empty() || part.empty()) {
        return {};
    }
    const auto offset = size_t(part.data() - memory_.data());
    const size_t end = (offset + part.size() - 1) / kBlockBytes + 1;
    for (size_t block = offset / kBlockBytes; block < end; ++block) {
        size_t last = block;
        while (last < end && !loaded_[last]) {
            ++last;
        }
        if (last > block) {
            LEAT_RETURN_IF_ERROR(read_blocks(block, last));
            block = last - 1;
        }
    }
    return {};
}

Status StructureBytes::read_blocks(size_t begin, size_t end) {
    size_t offset = begin * kBlockBytes;
    const size_t stop = std::min(end * kBlockBytes, memory_.size());
    while (offset < stop) {
        auto* target = const_cast<std::byte*>(memory_.data()) + offset;
        const ssize_t count = ::pread(descriptor_, target, stop - offset, off_t(offset));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return parse_error("cannot read the file at byte {}: {}", offset,
                               count < 0 ? std::strerror(errno) : "it became shorter");
        }
        offset += size_t(count);
    }
    for (size_t block = begin; block < end; ++block) {
        loaded_[block] = true;
    }
    return {};
}

}  // namespace leat::onnx
