#include "base/files/shared_object.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/error.h"
#include "base/files/mapped_file.h"

namespace leat {
namespace {

// What dlopen() takes as a path, and not as a name to look for.
std::string path_of(const std::string& file) {
    return file.find('/') == std::string::npos ? "./" + file : file;
}

// The dynamic linker maps what the program headers say, and the process would be ended by SIGBUS
// where the file does not have it. What is no ELF file, the linker tells.
Status check_length(std::span<const std::byte> bytes) {
    ElfW(Ehdr) header = {};
    if (bytes.size() < sizeof(header)) {
        return {};
    }
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_phentsize != sizeof(ElfW(Phdr))) {
        return {};
    }
    const size_t headers_bytes = header.e_phnum * sizeof(ElfW(Phdr));
    uint64_t needed =
        header.e_phoff > UINT64_MAX - headers_bytes ? UINT64_MAX : header.e_phoff + headers_bytes;
    const bool has_headers = needed <= bytes.size();
    for (size_t i = 0; has_headers && i < header.e_phnum; ++i) {
        ElfW(Phdr) segment = {};
        std::memcpy(&segment, bytes.data() + header.e_phoff + i * sizeof(segment), sizeof(segment));
        if (segment.p_type == PT_LOAD && segment.p_filesz <= UINT64_MAX - segment.p_offset) {
            needed = std::max(needed, uint64_t(segment.p_offset + segment.p_filesz));
        }
    }
    if (bytes.size() < needed) {
        return parse_error("the shared object is cut short")
            .with_found(fmt::format("{} bytes", bytes.size()))
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
    // Opens no pipe and no device: that would wait for who writes it.
    Result<MappedFile> mapped = MappedFile::open(path);
    if (!mapped.ok()) {
        return std::move(mapped).error().with_file(file).with_needed("a shared object");
    }
    LEAT_RETURN_IF_ERROR(check_length(mapped->bytes()).with_file(file));
    SharedObject object(::dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW));
    if (object == nullptr) {
        return not_found("no shared object that can be loaded: {}", ::dlerror()).with_file(file);
    }
    return object;
}

}  // namespace leat
