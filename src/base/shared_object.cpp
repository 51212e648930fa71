#include "base/shared_object.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"

namespace leat {
namespace {

// What dlopen() takes as a path, and not as a name to look for.
std::string path_of(const std::string& file) {
    return file.find('/') == std::string::npos ? "./" + file : file;
}

Status check_kind(const std::string& path) {
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) {
        return not_found("cannot open the file: {}", std::strerror(errno));
    }
    if (!S_ISREG(info.st_mode)) {
        return invalid_argument("not a regular file")
            .with_found(S_ISDIR(info.st_mode) ? "a folder" : "a device, pipe or socket")
            .with_needed("a shared object");
    }
    return {};
}

// The dynamic linker maps what the program headers say, and the process would be ended by SIGBUS
// where the file does not have it. What is no ELF file, the linker tells.
Status check_length(const std::string& path) {
    LEAT_ASSIGN_OR_RETURN(const Descriptor file, open_to_read(path));
    ElfW(Ehdr) header = {};
    const bool is_elf = ::pread(file.value(), &header, sizeof(header), 0) == sizeof(header) &&
                        std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
                        header.e_phentsize == sizeof(ElfW(Phdr));
    struct stat info = {};
    if (!is_elf || ::fstat(file.value(), &info) != 0) {
        return {};
    }
    std::vector<ElfW(Phdr)> segments(header.e_phnum);
    const size_t wanted = segments.size() * sizeof(ElfW(Phdr));
    const ssize_t got = ::pread(file.value(), segments.data(), wanted, off_t(header.e_phoff));
    const auto file_bytes = uint64_t(info.st_size);
    uint64_t needed = header.e_phoff + wanted;
    for (size_t i = 0; got == ssize_t(wanted) && i < segments.size(); ++i) {
        const ElfW(Phdr)& segment = segments[i];
        if (segment.p_type == PT_LOAD && segment.p_filesz <= UINT64_MAX - segment.p_offset) {
            needed = std::max(needed, uint64_t(segment.p_offset + segment.p_filesz));
        }
    }
    if (file_bytes < needed) {
        return parse_error("the shared object is cut short")
            .with_found(fmt::format("{} bytes", file_bytes))
            .with_needed(fmt::format("{} or more", needed));
    }
    return {};
}

}  // namespace

void SharedObjectCloser::operator()(void* handle) const noexcept {
    ::dlclose(handle);
}

Result<SharedObject> open_shared_object(const std::string& file) {
    if (file.empty()) {
        return invalid_argument("the name of a shared object is empty")
            .with_needed("the path of a file");
    }
    const std::string path = path_of(file);
    if (Status status = check_kind(path); !status.ok()) {
        return std::move(status).with_file(file);
    }
    if (Status status = check_length(path); !status.ok()) {
        return std::move(status).with_file(file);
    }
    SharedObject object(::dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW));
    if (object == nullptr) {
        return not_found("no shared object that can be loaded: {}", ::dlerror()).with_file(file);
    }
    return object;
}

}  // namespace leat
