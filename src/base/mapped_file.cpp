#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace leat {

void MappedFileDeleter::operator()(const void* /*unused*/) const noexcept {
    if (address != nullptr) {
        munmap(address, length_bytes);
    }
}

Result<MappedFile> MappedFile::open(const std::filesystem::path& file) {
    // O_NONBLOCK: opening a FIFO that nobody writes must not hang.
    const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) {
        return not_found("cannot open the file: {}", std::strerror(errno)).with_file(file.string());
    }
    struct Closer {
        int descriptor;
        ~Closer() { ::close(descriptor); }
    };
    const Closer closer{descriptor};
    return map(descriptor, file.string());
}

Result<MappedFile> MappedFile::map(int descriptor, const std::string& name) {
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
    // Before there is a mapping, which memory that is missing here would leave behind.
    std::error_code error;  // then the name stays as it is
    const std::filesystem::path path = std::filesystem::absolute(name, error);
    MappedFileDeleter deleter{nullptr, length, error ? name : path.lexically_normal().string(), 0};
    void* address = mmap(nullptr, length, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (address == MAP_FAILED) {
        return out_of_memory("cannot map the file: {}", std::strerror(errno))
            .with_file(name)
            .with_needed(fmt::format("{} bytes of address space", length));
    }
    file.data_ = static_cast<const std::byte*>(address);
    file.size_bytes_ = length;
    constexpr int64_t kNsPerS = 1'000'000'000;
    deleter.address = address;
    deleter.modified_ns = int64_t(info.st_mtim.tv_sec) * kNsPerS + info.st_mtim.tv_nsec;
    file.owner_ = std::shared_ptr<const void>(address, std::move(deleter));
    return file;
}

int64_t MappedFile::modified_ns() const {
    const auto* mapping = std::get_deleter<MappedFileDeleter>(owner_);
    return mapping == nullptr ? 0 : mapping->modified_ns;
}

void drop_source_pages(const Tensor& source) {
    if (std::get_deleter<MappedFileDeleter>(source.owner()) == nullptr) {
        return;
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
