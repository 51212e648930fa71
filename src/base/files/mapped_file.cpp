#include "base/files/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

int64_t modified_ns_of(const struct stat& info) {
    constexpr int64_t kNsPerS = 1'000'000'000;
    return int64_t(info.st_mtim.tv_sec) * kNsPerS + info.st_mtim.tv_nsec;
}

// `before`: of the file when its size was asked. What it is after the last byte tells whether
// somebody wrote to it meanwhile, as far as the clock of files does.
Status read_all(int descriptor, std::span<std::byte> memory, const struct stat& before) {
    constexpr const char* kHint = "load it again when whoever writes it is done";
    size_t offset = 0;
    while (offset < memory.size()) {
        const ssize_t count =
            ::pread(descriptor, memory.data() + offset, memory.size() - offset, off_t(offset));
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count < 0) {
            return not_found("cannot read the file: {}", std::strerror(errno));
        }
        if (count == 0) {
            return parse_error("the file became shorter while it was read")
                .with_found(fmt::format("{} bytes", offset))
                .with_needed(fmt::format("{} bytes", memory.size()))
                .with_hint(kHint);
        }
        offset += size_t(count);
    }
    struct stat after = {};
    if (fstat(descriptor, &after) != 0 || after.st_size != before.st_size ||
        modified_ns_of(after) != modified_ns_of(before)) {
        return parse_error("the file was changed while it was read").with_hint(kHint);
    }
    return {};
}

}  // namespace

void MappedFileDeleter::operator()(const void* /*unused*/) const noexcept {
    if (address != nullptr) {
        munmap(address, length_bytes);
    }
}

Result<Descriptor> open_to_read(const std::filesystem::path& file) {
    // O_NONBLOCK: opening a FIFO that nobody writes must not hang.
    Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!descriptor.is_open()) {
        return not_found("cannot open the file: {}", std::strerror(errno)).with_file(file.string());
    }
    return descriptor;
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& file, FileAccess access) {
    LEAT_ASSIGN_OR_RETURN(const Descriptor descriptor, open_to_read(file));
    return map(descriptor.value(), file.string(), access);
}

Result<MappedFile> MappedFile::map(int descriptor, const std::string& name, FileAccess access) {
    struct stat info = {};
    if (fstat(descriptor, &info) != 0) {
        return not_found("cannot read the file's size: {}", std::strerror(errno)).with_file(name);
    }
    if (!S_ISREG(info.st_mode)) {
        return invalid_argument("not a regular file")
            .with_file(name)
            .with_found(S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket");
    }
    MappedFile file;
    if (info.st_size == 0) {
        return file;
    }
    const auto length = size_t(info.st_size);
    const bool copies = access == FileAccess::kCopy;
    // Before there is a mapping, which memory that is missing here would leave behind.
    std::error_code error;  // then the name stays as it is
    const std::filesystem::path path = std::filesystem::absolute(name, error);
    MappedFileDeleter deleter{nullptr,
                              length,
                              error ? name : path.lexically_normal().string(),
                              modified_ns_of(info),
                              info.st_dev,
                              info.st_ino,
                              access};
    void* address =
        copies ? mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
               : mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
        return out_of_memory("cannot {} the file: {}", copies ? "copy" : "map",
                             std::strerror(errno))
            .with_file(name)
            .with_needed(
                fmt::format("{} bytes of {}", length, copies ? "memory" : "address space"));
    }
    file.data_ = static_cast<const std::byte*>(address);
    file.size_bytes_ = length;
    deleter.address = address;
    file.owner_ = std::shared_ptr<const void>(address, std::move(deleter));
    if (copies) {
        const Status read = read_all(descriptor, {static_cast<std::byte*>(address), length}, info);
        if (!read.ok()) {
            return Status(read).with_file(name);
        }
        (void)mprotect(address, length, PROT_READ);  // as a mapping would be
    }
    return file;
}

int64_t MappedFile::modified_ns() const {
    const auto* mapping = std::get_deleter<MappedFileDeleter>(owner_);
    return mapping == nullptr ? 0 : mapping->modified_ns;
}

Status check_mapping(const std::shared_ptr<const void>& owner) {
    const auto* mapping = std::get_deleter<MappedFileDeleter>(owner);
    struct stat now = {};
    if (mapping == nullptr || mapping->access != FileAccess::kMap ||
        ::stat(mapping->path.c_str(), &now) != 0 || now.st_dev != mapping->device ||
        now.st_ino != mapping->inode || uint64_t(now.st_size) >= mapping->length_bytes) {
        return {};
    }
    return parse_error("the file became shorter while it was mapped")
        .with_file(mapping->path)
        .with_found(fmt::format("{} bytes", now.st_size))
        .with_needed(fmt::format("{} bytes", mapping->length_bytes))
        .with_hint("replace files by renaming, or load them with the option `copies`");
}

void drop_source_pages(const Tensor& source) {
    const auto* mapping = std::get_deleter<MappedFileDeleter>(source.owner());
    if (mapping == nullptr || mapping->access != FileAccess::kMap) {
        return;  // what is not mapped is nowhere else
    }
    const auto page = uintptr_t(sysconf(_SC_PAGESIZE));
    const auto begin = reinterpret_cast<uintptr_t>(source.bytes());
    const uintptr_t first = (begin + page - 1) / page * page;
    const uintptr_t last = (begin + uintptr_t(source.byte_count())) / page * page;
    if (first < last) {
        std::byte* inside = const_cast<std::byte*>(source.bytes()) + (first - begin);
        (void)madvise(inside, last - first, MADV_DONTNEED);
    }
}

}  // namespace leat
