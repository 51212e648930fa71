#include "base/shared_object.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

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
    SharedObject object(::dlopen(path.c_str(), RTLD_LOCAL | RTLD_NOW));
    if (object == nullptr) {
        return not_found("no shared object that can be loaded: {}", ::dlerror()).with_file(file);
    }
    return object;
}

}  // namespace leat
